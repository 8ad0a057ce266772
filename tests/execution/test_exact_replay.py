"""A run that is served from a trace is that trace again, whatever happened in it, and the world is left alone."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import default_contracts, parse_contract
from chaosagent.effects.rule import EffectOf
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.governance.action import Action
from chaosagent.governance.mediator import PolicyMediator, Ruling
from chaosagent.limits import RunLimits
from chaosagent.operators import entries
from chaosagent.searchers.random import RandomSearcher
from chaosagent.study.searcher import Problem
from chaosagent.targets.target import Run, Target, target
from chaosagent.trace.diff import first_difference
from chaosagent.trace.step import StepKind
from chaosagent.vocabulary import ActionBlocked, Ending, Mediation, Outcome, StatusError, Task
from tests.lab.targets.programs import Pay, Program, Read, Together, Wait, target_of
from tests.lab.targets.random_programs import random_program

CONTRACTS = (*default_contracts(), parse_contract("objective"))
EVERYTHING = Space(Choices(name, {}) for name in entries())  # other tests register more
TIES = Space(  # whole seconds, so that much falls on the same moment
    [
        Choices("service.delay", {"seconds": (1.0, 2.0, 3.0)}),
        Choices("service.timeout", {"seconds": (1.0, 2.0)}),
        Choices("service.duplicate_delivery", {}),
        Choices("message.reorder", {"seconds": (1.0, 2.0)}),
        Choices("message.drop", {}),
        Choices("service.error_status", {}),
    ]
)


def experiment_of(system: Target, **limits: int) -> Experiment:
    task = next(iter(system.tasks.values()))
    bare = Experiment(system, task, system.config("default"), 0, CONTRACTS, limits=RunLimits(**limits))
    return bare.with_nominal()


def check(experiment: Experiment, schedule: str = "") -> Ending:
    """Serve the trace of a schedule, and compare."""
    execution = execute(experiment, parse(schedule))
    served = serve(experiment, execution.trace, parse(schedule))
    assert served.difference is None
    assert first_difference(execution.trace, served.execution.trace) is None
    assert served.execution.trace.digest == execution.trace.digest
    return execution.trace.ending


@pytest.mark.slow
@settings(
    max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.reuse, Phase.generate)
)
@given(seed=st.integers(0, 2**32), ties=st.booleans())
def test_a_random_program_under_random_schedules_is_served_bit_for_bit(seed: int, ties: bool) -> None:
    experiment = experiment_of(target_of(random_program(seed, statements_max=4)))
    searcher = RandomSearcher(Problem("termination", 0, TIES if ties else EVERYTHING, 6.0, 0, seed))
    for _ in range(8):
        for proposal in searcher.ask(1):
            searcher.tell(execute(experiment, proposal.schedule).evaluation)
            check(experiment, str(proposal.schedule))


@pytest.mark.slow
def test_those_programs_and_schedules_have_every_trait() -> None:
    seen: Counter[str] = Counter()
    for seed in range(60):
        experiment = experiment_of(target_of(random_program(seed, statements_max=4)))
        searcher = RandomSearcher(Problem("termination", 0, TIES, 6.0, 0, seed))
        for _ in range(8):
            for proposal in searcher.ask(1):
                execution = execute(experiment, proposal.schedule)
                searcher.tell(execution.evaluation)
                seen.update(step.kind.value for step in execution.trace.steps)
                seen.update(step.interface.partition(":")[0] for step in execution.trace.steps)
                seen[execution.trace.ending.value] += 1

    for trait in ("call", "cancelled", "late", "service", "memory", "message", "retrieval", "prompt", "deadlock"):
        assert seen[trait] >= 3, trait


def test_what_one_agent_asks_at_one_moment_may_come_in_another_order() -> None:
    first, second = (Read(0, "x", "a"), Read(1, "x", "a")), (Wait(2.0), Read(1, "yy", "b"))
    experiment = experiment_of(target_of(Program((Together((first, second)),), latencies=(1.0, 1.0))))

    # Two waits of a second end behind one of two, which was begun before the second of them.
    check(experiment, "service:s0[1] duplicate_delivery(which=first)")


def test_a_cancelled_call_keeps_its_place_among_what_happens_at_the_same_moment() -> None:
    slow, quick = (Read(1, "yy", "b"), Read(1, "x", "b", 1, 2.0)), (Wait(2.0), Pay("a", "a", 1))
    program = Program((Together((slow, quick), apart=True),), latencies=(2.0, 1.0), timed=True)

    check(
        experiment_of(target_of(program)),
        "service:s1[1] duplicate_delivery(which=first); service:s1[2] delay(seconds=2.0); "
        "service:pay[1] timeout(seconds=2.0)",
    )


@target(tasks=[Task("t")])
def plainly(_: Task, run: Run) -> Outcome:
    """Synchronous, with retries."""
    service = run.service("s", {"get": lambda: {"value": 1}})
    for _attempt in range(3):
        try:
            return Outcome(str(service("get")))
        except (TimeoutError, StatusError):
            run.clock.sleep(1.0)
    return Outcome("none")


def test_a_synchronous_target_is_served() -> None:
    experiment = experiment_of(plainly)

    for schedule in ("", "service:s[1] timeout; service:s[2] error_status", "service:s[*] timeout(when=after)"):
        check(experiment, schedule)


def _no_large_payments(action: Action) -> Ruling | None:
    if action.operation == "pay" and action.arguments["amount"] == 2:
        return Ruling(Mediation.BLOCK, "two is too much")
    if action.operation == "pay" and action.arguments["amount"] == 3:
        return Ruling(Mediation.REWRITE, "three becomes one", {"amount": 1})
    return None


@target(tasks=[Task("t")])
async def mediated(_: Task, run: Run) -> Outcome:
    """Blocked once, rewritten once."""
    run.mediate(PolicyMediator(policies=[_no_large_payments]))
    pay = run.service("pay", {"pay": lambda amount: amount})
    told: list[Plain] = []
    for amount in (1, 2, 3):
        try:
            told.append(await pay("pay", amount=amount))
        except ActionBlocked as blocked:
            told.append(str(blocked))
    return Outcome(str(told))


def test_what_the_mediator_blocked_and_rewrote_is_served() -> None:
    experiment = experiment_of(mediated)

    check(experiment)
    check(experiment, "service:pay[3] delay(seconds=5.0)")


class Declined(Exception):
    """An answer of the world."""


@target(tasks=[Task("t")])
async def declined(_: Task, run: Run) -> Outcome:
    """Catches an exception class of its own."""

    def pay() -> None:
        raise Declined("not today")

    service = run.service("pay", {"pay": pay}, errors=[Declined])
    try:
        await service("pay")
    except Declined as error:
        return Outcome(f"declined: {error}")
    return Outcome("paid")


def test_an_exception_class_that_a_door_declares_is_raised_again() -> None:
    check(experiment_of(declined))


@pytest.mark.parametrize("kind", ["model", "retrieval", "memory", "message"])
def test_every_kind_of_door_may_declare_exception_classes(kind: str) -> None:
    @target(tasks=[Task("t")])
    async def busy(_: Task, run: Run) -> Outcome:
        def fail(**_: Plain) -> Plain:
            raise Declined("not now")

        door = getattr(run, kind)("d", {"get": fail}, errors=[Declined])
        try:
            return Outcome(str(await door("get")))
        except Declined as error:
            return Outcome(str(error))

    assert check(experiment_of(busy)) is Ending.FINISHED


@target(tasks=[Task("t")])
async def unruly(_: Task, run: Run) -> Outcome:
    """Crashes, waits for ever, or goes on for ever, as it is told; leaves a call open behind."""
    service = run.service("s", {"get": _late})
    background = asyncio.create_task(service("get"))
    try:
        mode = await service("get")
    except TimeoutError:
        raise RuntimeError("crash") from None
    except ConnectionError:
        await asyncio.get_running_loop().create_future()
    except StatusError:
        while True:
            await service("get")
    del background
    return Outcome(str(mode))


async def _late() -> str:
    await asyncio.sleep(1.0)
    return "mode"


@pytest.mark.parametrize(
    ("schedule", "ending"),
    [
        ("", Ending.FINISHED),
        ("service:s[1] delay(seconds=60.0)", Ending.FINISHED),
        ("service:s[2] delay(seconds=60.0)", Ending.FINISHED),
        ("service:s[1] timeout", Ending.CRASHED),
        ("service:s[1] lost_response", Ending.DEADLOCK),
        ("service:s[1] error_status; service:s[2] delay", Ending.STEP_LIMIT),
    ],
)
def test_a_run_is_served_however_it_ended(schedule: str, ending: Ending) -> None:
    assert check(experiment_of(unruly, steps_max=9), schedule) is ending


def test_nothing_of_the_world_is_called() -> None:
    called: list[str] = []

    @target(tasks=[Task("t")])
    async def watched(_: Task, run: Run) -> Outcome:
        def answer(operation: str, **_: Plain) -> None:
            called.append(operation)

        def effect(*_: object) -> None:
            called.append("effect")

        service = run.service("s", answer, effects={"get": effect})
        memory, kb = run.memory("m", answer), run.retrieval("kb", answer)
        await service("get")
        await memory("write", key="k", value=1)
        await memory("read", key="k")
        await kb("search", query="q")
        return Outcome("done")

    experiment = experiment_of(watched)
    trace = execute(experiment, EMPTY).trace
    called.clear()

    served = serve(experiment, trace, EMPTY)

    assert served.execution.trace.digest == trace.digest
    assert called == []


def _nesting(*, waits: bool, rounds: int = 3) -> Target:
    """Return a target whose payment asks a ledger behind its door, and which asks the ledger itself, too."""

    @target(tasks=[Task("t")])
    async def nesting(_: Task, run: Run) -> Outcome:
        ledger = run.service("ledger", {"check": lambda n: n}, effects={"check": EffectOf(identity=("n",))})

        async def charge(n: int) -> Any:
            if waits:
                await run.clock.sleep(1.0)
            run.note("charging", n=n)
            return await ledger("check", n=n)

        pay = run.service("pay", {"charge": charge})
        told: list[Plain] = []
        for n in range(rounds):
            try:
                async with asyncio.timeout(4.0):
                    told.append(await pay("charge", n=n))
            except (TimeoutError, StatusError):
                told.append(await ledger("check", n=-1))
                run.note("fallback", n=n)
        slow = asyncio.create_task(pay("charge", n=9))
        await asyncio.sleep(0.0)
        del slow
        return Outcome(str(told))

    return nesting


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize(
    "schedule",
    [
        "",
        "service:pay[1] timeout",
        "service:pay[1] timeout(when=after); service:pay[2] error_status",
        "service:pay[2] duplicate_delivery",
        "service:ledger[1] delay(seconds=60.0)",
        "service:ledger[2] timeout; service:ledger[3] error_status",
        "service:ledger[*] delay(seconds=3.0)",
    ],
)
def test_a_world_that_calls_other_doors_is_served(schedule: str, *, waits: bool) -> None:
    check(experiment_of(_nesting(waits=waits)), schedule)


@pytest.mark.parametrize("steps_max", [1, 2, 3, 4, 5, 6, 7])
def test_a_world_that_calls_other_doors_is_served_up_to_any_limit(steps_max: int) -> None:
    assert check(experiment_of(_nesting(waits=True, rounds=30), steps_max=steps_max)) is Ending.STEP_LIMIT


def test_a_run_that_ends_beyond_its_limit_is_served_beyond_it() -> None:
    assert check(experiment_of(_nesting(waits=True), steps_max=4)) is Ending.FINISHED


@target(tasks=[Task("t")])
def plainly_nesting(_: Task, run: Run) -> Outcome:
    """Synchronous, with a door behind a door, and the inner one also called from without."""
    inner = run.service("inner", {"get": lambda n: n})
    outer = run.service("outer", {"get": lambda n: [inner("get", n=n), inner("get", n=n + 1)]})
    told: list[Plain] = []
    for n in range(12):
        try:
            told.append(outer("get", n=n))
        except (TimeoutError, StatusError):
            told.append(inner("get", n=7))
    return Outcome(str(told))


@pytest.mark.parametrize(
    "schedule", ["", "service:outer[1] timeout", "service:inner[2] timeout", "service:outer[1] timeout(when=after)"]
)
def test_a_door_behind_a_door_of_a_synchronous_target_is_served(schedule: str) -> None:
    check(experiment_of(plainly_nesting), schedule)
    assert check(experiment_of(plainly_nesting, steps_max=3), schedule) is Ending.STEP_LIMIT


def test_a_step_tells_inside_which_crossing_it_happened() -> None:
    steps = execute(experiment_of(plainly_nesting), EMPTY).trace.steps

    assert [(step.hook, step.inside) for step in steps[:3]] == [
        ("service:inner[1]", "service:outer[1]"),
        ("service:inner[2]", "service:outer[1]"),
        ("service:outer[1]", ""),
    ]


@target(tasks=[Task("t")])
async def linking(_: Task, run: Run) -> Outcome:
    """Declares a link between an answer and a call whose world calls a door."""
    inner = run.service("inner", {"get": lambda n: n})

    async def ask(n: int) -> Any:
        return await inner("get", n=n)

    outer = run.service("outer", {"get": ask})
    for n in range(2):
        await outer("get", n=n)
        run.link(run.artifact(), "supports", "outcome")
    return Outcome("done")


def test_a_link_stands_where_it_was_declared_though_the_next_step_is_of_the_world() -> None:
    check(experiment_of(linking))

    steps = execute(experiment_of(linking), EMPTY).trace.steps
    assert [(step.hook, len(step.links)) for step in steps[1:3]] == [("service:outer[1]", 0), ("service:inner[2]", 1)]


@target(tasks=[Task("t")])
async def cancelling(_: Task, run: Run) -> Outcome:
    """Calls a tool that awaits what it has cancelled itself."""

    async def answer() -> None:
        work = asyncio.create_task(asyncio.sleep(10.0))
        work.cancel("no use")
        await work

    service = run.service("s", {"get": answer})
    try:
        await service("get")
    except asyncio.CancelledError as error:
        return Outcome(f"the tool gave up: {error}")
    return Outcome("never")


def test_a_world_that_cancels_itself_has_answered() -> None:
    experiment = experiment_of(cancelling)

    check(experiment)
    step = execute(experiment, EMPTY).trace.steps[0]
    assert (step.kind, step.failure and step.failure.kind) == (StepKind.CALL, "CancelledError")


@target(tasks=[Task("t")])
async def waiting_beside(_: Task, run: Run) -> Outcome:
    """Asks two tools at once: behind the second one a third is asked before the first has answered."""

    async def slowly() -> int:
        for _ in range(10):
            await asyncio.sleep(0.0)
        return 2

    inner = run.service("inner", {"get": lambda: 1})
    outer = run.service("outer", {"get": lambda: inner("get")})
    other = run.service("other", {"get": slowly})
    return Outcome(str(await asyncio.gather(other("get"), outer("get"))))


@pytest.mark.parametrize("schedule", ["", "service:outer[1] delay(seconds=5)", "service:outer[1] timeout(when=after)"])
def test_what_a_world_did_at_once_keeps_its_time_when_its_answer_is_late(schedule: str) -> None:
    check(experiment_of(waiting_beside), schedule)

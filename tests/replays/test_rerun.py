"""A record is reproduced on the same target, and every outcome says what became of it on another."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import parse_contract
from chaosagent.contracts.contract import HOLDS, Contract, End, Nominal, Reading, Setting
from chaosagent.errors import UsageError
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.limits import RunLimits
from chaosagent.replays.declarations import declarations_of
from chaosagent.replays.outcome import Replay, ReplayOutcome
from chaosagent.replays.record import Proof, ReplayRecord, nominal_run_in
from chaosagent.replays.rerun import rerun_exact, rerun_schedule
from chaosagent.study.counterexample import signature_of
from chaosagent.targets.loading import load_target
from chaosagent.targets.target import Run, Target, target
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Outcome, Severity, SystemConfig, Task, Verdict

Behaviour = Callable[[Run, "Services"], Awaitable[object]]
LOST = "service:pay[1] service.lost_response(when=after)"
CONFIGS = [SystemConfig("default"), SystemConfig("other", {"careful": True})]


class Services:
    """A shop: prices, and payments that are counted."""

    def __init__(self, run: Run) -> None:
        self.paid = self.asked = 0
        self.prices = run.service("prices", {"get": self._price}, read_only=True)
        self.pay = run.service("pay", {"pay": self._pay, "find": self._find}, effects={"pay": lambda *_: ()})

    def _price(self, item: str) -> int:
        self.asked += 1
        return len(item)

    def _pay(self, amount: int) -> int:
        self.paid += 1
        return amount

    def _find(self) -> int:
        return self.paid


WORLDS: list[Services] = []


def shop(behaviour: Behaviour) -> Target:
    """Return a target that behaves so; its objective is that it pays once."""

    @target(name="shop", tasks=[Task("buy")], configs=CONFIGS)
    async def buy(_: Task, run: Run) -> Outcome:
        world = Services(run)
        WORLDS.append(world)
        told = await behaviour(run, world)
        return Outcome(str(told), success=world.paid == 1)

    return buy


async def naive(run: Run, world: Services) -> str:
    price = await world.prices("get", item="pen")
    for _ in range(2):
        try:
            await world.pay("pay", amount=price)
        except ConnectionError:
            await run.clock.sleep(1.0)
        else:
            return "paid"
    return "failed"


def record_of(behaviour: Behaviour, schedule: str, contract: str = "objective", **limits: int) -> ReplayRecord:
    """Return the record of a run, as a study would have made it."""
    system, bounds = shop(behaviour), RunLimits(**limits)
    specs = ("objective", "no-crash", "termination")
    contracts = tuple(parse_contract(spec) for spec in specs)
    bare = Experiment(system, system.task("buy"), system.config("default"), 0, contracts, limits=bounds)
    parsed, nominal = parse(schedule), execute(bare, EMPTY)
    experiment = replace(bare, nominal=Nominal(nominal.trace.effects, nominal.trace.outcome))
    trace = execute(experiment, parsed).trace
    return ReplayRecord(
        target_reference="shop",
        target_name="shop",
        task=experiment.task,
        config=experiment.config,
        seed=0,
        contract=contract,
        contract_specs=specs,
        limits=bounds,
        schedule=parsed,
        cost=1.1 * len(parsed),
        signature=signature_of(trace, contract, Severity.HARD, parsed),
        nominal=experiment.nominal or Nominal(),
        trace=trace,
        trace_digest=trace.digest,
        proof=Proof(certified=True, lower_bound=1.1, text="", necessity=()),
        undisturbed=nominal_run_in(nominal.trace),
        declarations=declarations_of(contracts, nominal.doors),
    )


@pytest.fixture
def record() -> ReplayRecord:
    """Pays twice when the first answer is lost."""
    return record_of(naive, LOST)


async def loops(_run: Run, _world: Services) -> str:
    while True:
        pass


async def waits_in_a_thread(_run: Run, _world: Services) -> str:
    await asyncio.to_thread(threading.Event().wait, 3)
    return "never"


@pytest.mark.parametrize("hanging", [loops, waits_in_a_thread])
@pytest.mark.parametrize("rerun", [rerun_exact, rerun_schedule])
def test_a_target_that_has_come_to_hang_is_ended_at_the_limit_of_real_time(
    hanging: Behaviour, rerun: Callable[[ReplayRecord, Target], Replay]
) -> None:
    made = record_of(naive, LOST)
    record = replace(made, limits=replace(made.limits, wall_seconds_max=0.2))

    replay, after = rerun(record, shop(hanging)), rerun(made, shop(naive))

    assert replay.outcome is ReplayOutcome.ERROR
    assert "a run took longer than 0.2 s of real time (run.wall_seconds), and was ended" in replay.detail
    assert after.outcome in (ReplayOutcome.REPRODUCED, ReplayOutcome.VIOLATED)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


# ---------------------------------------------------------------------- exact


def test_the_same_target_reproduces_the_record_and_nothing_of_the_world_is_called(record: ReplayRecord) -> None:
    WORLDS.clear()

    replay = rerun_exact(record, shop(naive))

    assert replay.outcome is ReplayOutcome.REPRODUCED
    assert "the same 3 steps, objective violated at the end" in replay.detail
    assert [(world.paid, world.asked) for world in WORLDS] == [(0, 0)]


async def asks_more(run: Run, world: Services) -> str:
    price = await world.prices("get", item="pen")
    await world.prices("get", item="again")
    await world.pay("pay", amount=price)
    del run
    return "paid"


async def asks_otherwise(run: Run, world: Services) -> str:
    del run
    price = await world.prices("get", item="pencil")
    await world.pay("pay", amount=price)
    return "paid"


async def asks_less(run: Run, world: Services) -> str:
    del run
    await world.prices("get", item="pen")
    return "paid"


async def asks_the_other_way_round(run: Run, world: Services) -> str:
    del run
    await world.pay("pay", amount=3)
    await world.prices("get", item="pen")
    return "paid"


async def says_something_else(run: Run, world: Services) -> str:
    await naive(run, world)
    return "not paid"


@pytest.mark.parametrize(
    ("behaviour", "step", "expected", "got"),
    [
        (asks_more, 1, "no further call there", "service:prices[2] get"),
        (asks_otherwise, 0, "{'item': 'pen'}", "{'item': 'pencil'}"),
        (asks_less, 1, "<step 1: service:pay[1]", "the end"),
        (asks_the_other_way_round, 0, "service:prices[1] get", "service:pay[1] pay"),
        (says_something_else, 3, "'paid'", "'not paid'"),
    ],
)
def test_a_changed_target_diverges_where_it_was_changed(
    record: ReplayRecord, behaviour: Behaviour, step: int, expected: str, got: str
) -> None:
    replay = rerun_exact(record, shop(behaviour))

    assert replay.outcome is ReplayOutcome.DIVERGED
    assert replay.step == step
    before, _, after = replay.detail.partition(", got ")
    assert expected in before
    assert got in after


def test_a_target_that_waits_less_than_before_diverges_there() -> None:
    record = record_of(naive, "service:pay[1] service.delay(seconds=5.0)", "termination")

    async def impatient(run: Run, world: Services) -> str:
        del run
        price = await world.prices("get", item="pen")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await world.pay("pay", amount=price)
        return "paid"

    replay = rerun_exact(record, shop(impatient))

    assert replay.outcome is ReplayOutcome.DIVERGED
    assert replay.detail == "step 1, kind: expected an answer to service:pay[1] pay, got it was given up"


def test_a_record_that_announces_another_digest_diverges(record: ReplayRecord) -> None:
    replay = rerun_exact(replace(record, trace_digest="0" * 32), shop(naive))

    assert replay.outcome is ReplayOutcome.DIVERGED
    assert "it was changed" in replay.detail


def test_what_has_changed_since_is_noted(record: ReplayRecord) -> None:
    changed = replace(
        shop(naive),
        configs={"default": SystemConfig("default", {"new": 1})},
        tasks={"buy": Task("buy", input="something else")},
    )

    notes = rerun_exact(record, changed).notes

    assert len(notes) == 2
    assert "configuration 'default' has changed" in notes[0]
    assert "task 'buy' has changed" in notes[1]
    without = replace(changed, configs={"new": SystemConfig("new")})
    assert "no configuration 'default' any more" in rerun_exact(record, without).notes[0]


async def polls(run: Run, world: Services) -> str:
    while True:
        await world.prices("get", item="pen")
        await run.clock.sleep(1.0)


def test_a_run_that_ended_at_a_limit_of_the_study_is_reproduced() -> None:
    record = record_of(polls, "service:prices[2] service.delay", "termination", steps_max=7)

    assert len(record.trace.steps) == 7
    assert rerun_exact(record, shop(polls)).outcome is ReplayOutcome.REPRODUCED
    assert rerun_schedule(record, shop(polls)).outcome is ReplayOutcome.VIOLATED


def test_a_target_that_breaks_its_protocol_is_an_error(record: ReplayRecord) -> None:
    async def broken(run: Run, world: Services) -> str:
        del world
        run.service("prices", {"get": 1})
        return ""

    for rerun in (rerun_exact, rerun_schedule):
        replay = rerun(record, shop(broken))
        assert replay.outcome is ReplayOutcome.ERROR
        assert "twice, differently" in replay.detail


# ---------------------------------------------------------------------- schedule


def test_the_same_target_is_violated_with_the_same_signature(record: ReplayRecord) -> None:
    replay = rerun_schedule(record, shop(naive))

    assert replay.outcome is ReplayOutcome.VIOLATED
    assert replay.step == 3
    assert "the same signature" in replay.detail


async def breaks(run: Run, world: Services) -> str:
    del run
    await world.prices("get", item="pen")
    raise KeyError("pen")


async def breaks_further_down(run: Run, world: Services) -> str:
    del run
    await world.prices("get", item="pen")

    raise KeyError("pen")


def test_a_crash_is_placed_and_the_place_may_move() -> None:
    made = record_of(breaks, "", "no-crash")
    again = rerun_schedule(made, shop(breaks_further_down))
    line = breaks_further_down.__code__.co_firstlineno + 4

    assert made.trace.crashed_at == f"test_rerun.py:{breaks.__code__.co_firstlineno + 3} in breaks"
    assert rerun_exact(made, shop(breaks_further_down)).outcome is ReplayOutcome.REPRODUCED
    assert "the same 1 step, no-crash violated at the end" in rerun_exact(made, shop(breaks)).detail
    assert again.detail.startswith("no-crash violated at the end, the same signature: KeyError: pen (at test_rerun.py:")
    assert f":{line} in breaks_further_down)" in again.detail


def test_a_violation_elsewhere_has_another_signature(record: ReplayRecord) -> None:
    other = replace(record, signature=replace(record.signature, interface="memory"))

    replay = rerun_schedule(other, shop(naive))

    assert replay.outcome is ReplayOutcome.VIOLATED
    assert "another signature" in replay.detail


async def careful(run: Run, world: Services) -> str:
    price = await world.prices("get", item="pen")
    try:
        await world.pay("pay", amount=price)
    except ConnectionError:
        await run.clock.sleep(1.0)
        if not await world.pay("find"):
            await world.pay("pay", amount=price)
    return "paid"


def test_a_target_that_survives_holds(record: ReplayRecord) -> None:
    replay = rerun_schedule(record, shop(careful))

    assert replay.outcome is ReplayOutcome.HELD
    assert replay.detail == "objective holds, 1 of 1 injections landed"
    assert replay.notes == ()


def test_a_later_hook_that_a_fix_made_unreachable_is_listed() -> None:
    record = record_of(naive, f"{LOST}; service:pay[2] service.lost_response(when=after)")

    async def gives_up(run: Run, world: Services) -> str:
        del run
        price = await world.prices("get", item="pen")
        try:
            await world.pay("pay", amount=price)
        except ConnectionError:
            return "unclear"
        return "paid"

    replay = rerun_schedule(record, shop(gives_up))

    assert replay.outcome is ReplayOutcome.HELD
    assert "1 of 2 injections landed" in replay.detail
    assert replay.notes == ("`pay.pay` is no longer called, as the target handles an earlier fault",)


def test_a_new_call_before_it_moves_no_hook(record: ReplayRecord) -> None:
    async def looks_first(run: Run, world: Services) -> str:
        with contextlib.suppress(ConnectionError):
            await world.pay("find")
        return await careful(run, world)

    async def looks_first_and_pays_twice(run: Run, world: Services) -> str:
        with contextlib.suppress(ConnectionError):
            await world.pay("find")
        return await naive(run, world)

    held, broken = (rerun_schedule(record, shop(one)) for one in (looks_first, looks_first_and_pays_twice))

    assert (held.outcome, broken.outcome) == (ReplayOutcome.HELD, ReplayOutcome.VIOLATED)
    assert held.detail.endswith("so it does in all 2 placements of the faults")
    assert broken.detail.startswith("objective violated at the end, the same signature")


def test_a_record_whose_call_is_not_made_any_more_tests_nothing(record: ReplayRecord) -> None:
    async def pays_nothing(run: Run, world: Services) -> str:
        del run
        world.paid = 1
        with contextlib.suppress(ConnectionError):
            await world.prices("get", item="pen")
        return "paid"

    async def calls_nothing(run: Run, world: Services) -> str:
        del run
        world.paid = 1
        return "paid"

    moved, lost = (rerun_schedule(record, shop(one)) for one in (pays_nothing, calls_nothing))

    assert moved.outcome is ReplayOutcome.MOVED
    assert moved.detail.startswith("`pay.pay` is not called any more; at the calls that may have replaced it nothing")
    assert lost.outcome is ReplayOutcome.NOT_LANDED
    assert "was never reached" in lost.detail


def test_a_crash_at_a_call_that_was_there_before_is_no_violation(record: ReplayRecord) -> None:
    async def pays_nothing(run: Run, world: Services) -> str:
        del run
        world.paid = 1
        return str(await world.prices("get", item="pen"))

    replay = rerun_schedule(record, shop(pays_nothing))

    assert replay.outcome is ReplayOutcome.MOVED
    assert replay.detail.startswith("the same fault at `prices.get`, first call, breaks: objective violated at the end")


def test_what_breaks_before_any_injection_is_not_put_down_to_them() -> None:
    made = record_of(breaks, "service:prices[1] service.delay(seconds=10.0)", "no-crash")

    async def breaks_at_once(run: Run, world: Services) -> str:
        del run, world
        raise KeyError("pencil")

    replay = rerun_schedule(made, shop(breaks_at_once))

    assert replay.outcome is ReplayOutcome.VIOLATED
    assert "without the faults of the record, of which none landed: KeyError: pencil" in replay.detail


def test_an_injection_that_changes_nothing_tests_nothing() -> None:
    record = record_of(naive, "service:prices[1] service.partial_response")
    changed = replace(record, schedule=parse("service:prices[1] service.partial_response"))

    replay = rerun_schedule(changed, shop(naive))

    assert replay.outcome is ReplayOutcome.NOT_LANDED
    assert "changed nothing" in replay.detail


def test_another_configuration_can_be_tried(record: ReplayRecord) -> None:
    async def as_configured(run: Run, world: Services) -> str:
        return await (careful if run.config.settings.get("careful") else naive)(run, world)

    assert rerun_schedule(record, shop(as_configured)).outcome is ReplayOutcome.VIOLATED
    assert rerun_schedule(record, shop(as_configured), config_name="other").outcome is ReplayOutcome.HELD
    with pytest.raises(UsageError, match="unknown configuration"):
        rerun_schedule(record, shop(as_configured), config_name="othr")


def test_a_new_crash_is_a_violation(record: ReplayRecord) -> None:
    async def crashes(run: Run, world: Services) -> str:
        await careful(run, world)
        raise RuntimeError("boom")

    crashed = rerun_schedule(record, shop(crashes))
    alone = rerun_schedule(replace(record, contract_specs=("objective",)), shop(crashes))

    assert crashed.outcome is ReplayOutcome.VIOLATED
    assert "no-crash is violated, which the record's run has kept" in crashed.notes, crashed
    assert alone.outcome is ReplayOutcome.VIOLATED
    assert "the objective was not met: the run ended with crashed" in alone.detail


class _Says:
    """A monitor that says the same of every run."""

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict

    def step(self, step: Step) -> Reading | None:
        del step
        return None

    def end(self, end: End) -> Reading:
        del end
        return Reading(self._verdict) if self._verdict is not Verdict.HOLDS else HOLDS

    def state(self) -> Plain:
        return None


class _Saying:
    """The contract with that monitor."""

    severity = Severity.HARD
    weight = 1.0

    def __init__(self, name: str, verdict: Verdict, requires: Contract | None = None) -> None:
        self.id, self._verdict, self.requires = name, verdict, requires

    def monitor(self, setting: Setting) -> _Says:
        del setting
        return _Says(self._verdict)


@pytest.mark.parametrize(
    ("contract", "detail"),
    [
        (_Saying("objective", Verdict.UNKNOWN), "is neither violated nor does it hold"),
        (_Saying("objective", Verdict.VIOLATED, _Saying("x", Verdict.VIOLATED)), "is violated, but unfairly"),
    ],
)
def test_what_is_unknown_or_unfair_is_no_fix(
    record: ReplayRecord, contract: Contract, detail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaosagent.replays.today.contracts_of", lambda _: (contract,))

    replay = rerun_schedule(record, shop(careful))
    reviewed = rerun_schedule(record, shop(careful), accepted={change.digest for change in replay.changes})

    assert replay.outcome is ReplayOutcome.CHANGED
    assert "today's contract objective finds no violation in the recorded trace" in replay.detail
    assert reviewed.outcome is ReplayOutcome.NOT_LANDED
    assert detail in reviewed.detail


def test_a_contract_that_is_not_named_among_the_contracts_is_an_error(record: ReplayRecord) -> None:
    replay = rerun_schedule(replace(record, contract_specs=("no-crash",)), shop(careful))

    assert replay.outcome is ReplayOutcome.ERROR
    assert replay.detail.startswith("no contract is called objective any more; those that the record names are called")


def test_a_contract_that_is_not_installed_is_an_error(record: ReplayRecord) -> None:
    for rerun in (rerun_exact, rerun_schedule):
        replay = rerun(replace(record, contract_specs=("no-such-contract",)), shop(naive))
        assert replay.outcome is ReplayOutcome.ERROR
        assert "no-such-contract" in replay.detail


def test_the_planted_double_refund_is_reproduced_violated_and_fixed(refund_record: ReplayRecord) -> None:
    refund = load_target("refund")

    assert rerun_exact(refund_record, refund).outcome is ReplayOutcome.REPRODUCED
    assert rerun_schedule(refund_record, refund).outcome is ReplayOutcome.VIOLATED
    assert rerun_schedule(refund_record, refund, config_name="hardened").outcome is ReplayOutcome.HELD

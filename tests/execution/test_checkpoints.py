"""Fingerprints at checkpoints: equal ones mean equal futures, and none is taken when more is pending than it covers."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaosagent.contracts.contract import Nominal
from chaosagent.contracts.templates.at_most_once import AtMostOnce
from chaosagent.effects.rule import effect
from chaosagent.errors import TargetError
from chaosagent.execution.execute import Execution
from chaosagent.faults.evaluation import Fingerprint, Fingerprinting
from chaosagent.governance.mediator import PolicyMediator
from chaosagent.vocabulary import Effect, Outcome, StatusError

Play = Callable[..., Execution]
State = Fingerprinting.STATE


def fingerprints(
    play: Play, target: Any, schedule: str = "", *, kind: Fingerprinting = State, **options: Any
) -> tuple[Fingerprint, ...]:
    return play(target, schedule, fingerprinting=kind, **options).evaluation.fingerprints


def varying(vary: Callable[[Any], Any]) -> Callable[[int], Callable[[Any], Any]]:
    """Return targets that differ in what they do before their only checkpoint."""

    def made(number: int) -> Callable[[Any], Any]:
        async def agent(run: Any) -> None:
            result = vary(run) if number == 0 else None
            if asyncio.iscoroutine(result):
                await result
            run.checkpoint("here", {"cart": [1, 2]})

        return agent

    return made


async def absorbs(run: Any) -> Outcome:
    """Read with retries, then decide; a fault in the reading is forgotten afterwards."""
    crm = run.service("crm", {"get": lambda: {"limit": 5}}, read_only=True)
    pay = run.service("pay", {"pay": lambda amount: amount}, effects={"pay": effect("amount")})
    asking, answer = crm.ask("get"), None
    for _ in range(3):
        try:
            answer = await asking.attempt()
            break
        except (TimeoutError, StatusError):
            continue
    run.checkpoint("read", {"answer": answer})
    limit = answer["limit"] if isinstance(answer, dict) else 0
    told = [await pay("pay", amount=amount) for amount in range(limit)]
    return Outcome(state=told)


def future(found: Execution) -> list[tuple[object, ...]]:
    """Return what happened behind the checkpoint."""
    steps = [step for step in found.trace.steps if step.interface == "service:pay"]
    return [(step.operation, step.request, step.response, step.asked_at, step.effects) for step in steps]


SCHEDULES = st.lists(
    st.sampled_from(
        [
            "service:crm[1] test/fail(when=before)",
            "service:crm[1] test/fail(when=after)",
            "service:crm[1] test/fail(kind=status)",
            "service:crm[1] test/say",
            "service:crm[1] test/same",
            "service:crm[1] test/twice",
            "service:crm[1] test/hold",
            "service:crm[1.1] test/fail",
            "service:crm[1.1] test/hold",
            "service:crm[1.2] test/say",
        ]
    ),
    max_size=3,
    unique_by=lambda text: text.split()[0],
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SCHEDULES, SCHEDULES)
def test_equal_fingerprints_mean_equal_futures(play: Play, one: list[str], other: list[str]) -> None:
    nominal = Nominal(tuple(Effect("pay.pay", {"amount": amount}) for amount in range(5)))
    contracts = {"contracts": (AtMostOnce(),), "nominal": nominal}
    first, second = (
        play(absorbs, "; ".join(schedule), fingerprinting=State, experiment=contracts) for schedule in (one, other)
    )

    for left in first.evaluation.fingerprints:
        for right in second.evaluation.fingerprints:
            if left[1:] == right[1:]:
                assert future(first) == future(second)
                assert first.evaluation.verdicts == second.evaluation.verdicts


def test_an_absorbed_fault_leads_back_to_the_fingerprint_of_the_run_without_it(play: Play) -> None:
    (nominal,) = fingerprints(play, absorbs)
    (absorbed,) = fingerprints(play, absorbs, "service:crm[1] test/fail")

    assert absorbed.common == nominal.common
    assert absorbed.position > nominal.position


def test_the_time_that_a_fault_cost_is_part_of_the_fingerprint_unless_it_does_not_matter(play: Play) -> None:
    def target(clock_matters: bool) -> Any:
        async def agent(run: Any) -> None:
            await run.service("crm", {"get": lambda: 1})("get")
            run.checkpoint("read", None, clock_matters=clock_matters)

        return agent

    held = "service:crm[1] test/hold"

    assert fingerprints(play, target(True))[0].common != fingerprints(play, target(True), held)[0].common
    assert fingerprints(play, target(False))[0].common == fingerprints(play, target(False), held)[0].common


def test_history_is_covered_only_when_operators_read_it(play: Play) -> None:
    async def agent(run: Any) -> None:
        counts = iter("ab")
        crm = run.service("crm", {"get": lambda: next(counts)})
        asking = crm.ask("get")
        try:
            await asking.attempt()
        except TimeoutError:
            await asking.attempt()
        run.checkpoint("read", None)

    kind = Fingerprinting.STATE_AND_HISTORY
    lost = "service:crm[1] test/fail(when=after)"

    assert fingerprints(play, agent)[0].common == fingerprints(play, agent, lost)[0].common
    assert fingerprints(play, agent, kind=kind)[0].common != fingerprints(play, agent, lost, kind=kind)[0].common


async def _remembers(run: Any) -> None:
    await run.memory("notes")("write", key="a", value=1)


async def _remembers_otherwise(run: Any) -> None:
    await run.memory("notes")("write", key="a", value=2)


async def _sends(run: Any) -> None:
    await run.message("team")("send", to="b", body="hello")


async def _sends_otherwise(run: Any) -> None:
    await run.message("team")("send", to="b", body="goodbye")


async def _calls(run: Any) -> None:
    await run.service("crm", {"get": lambda: 1})("get")


@pytest.mark.parametrize(
    "vary",
    [
        _remembers,
        _sends,
        _calls,
        lambda run: run.rng("a").random(),
        lambda run: run.link("a", "supports", "b"),
        lambda run: run.mediate(PolicyMediator()),
        lambda run: run.clock.sleep(1),
    ],
)
def test_everything_that_the_future_depends_on_is_covered(play: Play, vary: Callable[[Any], Any]) -> None:
    with_it, without = varying(vary)(0), varying(vary)(1)

    assert fingerprints(play, with_it)[0].common != fingerprints(play, without)[0].common
    assert fingerprints(play, with_it)[0].common == fingerprints(play, with_it)[0].common


@pytest.mark.parametrize(("vary", "otherwise"), [(_remembers, _remembers_otherwise), (_sends, _sends_otherwise)])
def test_what_memories_and_mailboxes_hold_is_covered_and_not_only_how_often_they_were_used(
    play: Play, vary: Callable[[Any], Any], otherwise: Callable[[Any], Any]
) -> None:
    one, other = varying(vary)(0), varying(otherwise)(0)

    assert fingerprints(play, one)[0].common != fingerprints(play, other)[0].common


@pytest.mark.parametrize("value", [1, 2])
def test_place_state_and_agent_are_covered(play: Play, value: int) -> None:
    def target(place: str, state: int, agent: str) -> Any:
        async def run_it(run: Any) -> None:
            with run.agent(agent):
                run.checkpoint(place, state)

        return run_it

    (found,) = fingerprints(play, target("a", 1, "x"))

    assert (fingerprints(play, target("a", value, "x"))[0].common == found.common) == (value == 1)
    assert fingerprints(play, target("b", 1, "x"))[0].common != found.common
    assert fingerprints(play, target("a", 1, "y"))[0].common != found.common


def test_what_a_monitor_knows_is_covered_for_each_contract(play: Play) -> None:
    async def agent(run: Any) -> None:
        pay = run.service("pay", {"pay": lambda: 1}, effects={"pay": effect()})
        asking = pay.ask("pay")
        try:
            await asking.attempt()
        except TimeoutError:
            await asking.attempt()
        run.checkpoint("paid", None)

    experiment = {"contracts": (AtMostOnce(),), "nominal": Nominal((Effect("pay.pay", {}),))}
    (before,) = fingerprints(play, agent, "service:pay[1] test/fail(when=before)", experiment=experiment)
    (after,) = fingerprints(play, agent, "service:pay[1] test/fail(when=after)", experiment=experiment)

    assert before.common == after.common
    assert before.monitors != after.monitors


@pytest.mark.parametrize("matter", [True, False])
def test_what_was_delivered_last_matters_unless_the_target_says_otherwise(play: Play, matter: bool) -> None:
    async def agent(run: Any) -> None:
        crm = run.service("crm", {"get": lambda: 1}, read_only=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await crm("get")
        run.checkpoint("asked", None, clock_matters=False, artifacts_matter=matter)

    usual = fingerprints(play, agent)[0].common
    given_up = fingerprints(play, agent, "service:crm[1] service.delay(seconds=5.0)")[0].common

    assert (given_up == usual) is not matter


@pytest.mark.parametrize("pending", ["call", "blocked call", "timer", "thread"])
def test_no_fingerprint_is_taken_while_something_else_is_pending(play: Play, pending: str) -> None:
    async def slow() -> None:
        await asyncio.sleep(5)

    async def agent(run: Any) -> None:
        go = asyncio.Event()
        crm: Any = run.service("crm", {"get": slow, "wait": go.wait})
        work: dict[str, Callable[[], Any]] = {
            "call": lambda: crm("get"),
            "blocked call": lambda: crm("wait"),
            "timer": lambda: asyncio.sleep(3),
            "thread": lambda: asyncio.to_thread(sum, []),
        }
        running = asyncio.create_task(work[pending]())
        await asyncio.sleep(0)
        run.checkpoint("pending", None)
        go.set()
        await running
        run.checkpoint("quiet", None)

    assert len(fingerprints(play, agent)) == 1


def test_until_an_injection_acts_a_run_has_the_fingerprints_of_the_run_without_it(play: Play) -> None:
    async def agent(run: Any) -> None:
        crm = run.service("crm", {"get": lambda: 1})
        run.checkpoint("before", None)
        value = await crm("get")
        run.checkpoint("after", value)

    before, after = fingerprints(play, agent)
    assert fingerprints(play, agent, "service:crm[1] test/say")[0] == before
    assert fingerprints(play, agent, "service:crm[1] test/say")[1].common != after.common
    assert fingerprints(play, agent, "service:crm[9] test/say") == (before, after)


def test_behind_the_last_action_a_run_goes_undisturbed(play: Play) -> None:
    async def agent(run: Any) -> None:
        crm = run.service("crm", {"get": lambda: 1})
        for number in range(3):
            await crm("get")
            run.checkpoint("after", number)

    found = play(agent, "service:crm[2] test/say", fingerprinting=State).evaluation

    assert len(found.fingerprints) == 3
    assert found.final_fingerprints == found.fingerprints[1:]
    assert found.fingerprints[0].position < found.acted <= found.fingerprints[1].position


def test_no_fingerprint_is_taken_unless_it_is_wanted(play: Play) -> None:
    async def agent(run: Any) -> None:
        run.checkpoint("here", None)

    assert fingerprints(play, agent, kind=Fingerprinting.OFF) == ()


def test_a_state_that_is_no_plain_data_is_refused_and_that_cannot_be_swallowed(play: Play) -> None:
    async def agent(run: Any) -> None:
        try:
            run.checkpoint("here", object())
        except Exception:
            return

    with pytest.raises(TargetError, match=r"builtins\.object crosses a boundary"):
        play(agent, fingerprinting=State)


def test_taking_fingerprints_does_not_change_a_run(play: Play) -> None:
    schedule = "service:crm[1] test/fail"

    assert play(absorbs, schedule).trace.digest == play(absorbs, schedule, fingerprinting=State).trace.digest

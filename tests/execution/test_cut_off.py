"""What a run did not come to is unknown: beyond a limit, after a crash, where the target can show nothing further."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import default_contracts, parse_contract
from chaosagent.contracts.contract import Contract, End, Nominal
from chaosagent.contracts.custom import contract
from chaosagent.effects.rule import effect
from chaosagent.errors import TargetError
from chaosagent.execution.execute import Execution
from chaosagent.execution.judging import judge
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.limits import RunLimits
from chaosagent.vocabulary import Claim, Effect, Ending, Outcome, Task, Verdict

Play = Callable[..., Execution]
NOMINAL = Nominal((Effect("payments.pay", {"order": "A-1"}),), Outcome("done", success=True))
CONTRACTS = (*default_contracts(), parse_contract("objective"))


def judged(*contracts: Contract, nominal: Nominal = NOMINAL, **limits: Any) -> dict[str, Any]:
    return {"contracts": contracts or CONTRACTS, "nominal": nominal, "limits": RunLimits(**limits)}


def verdicts(execution: Execution) -> dict[str, Verdict]:
    return {one.contract: one.verdict for one in execution.evaluation.verdicts}


def paying(run: Any) -> Any:
    return run.service("payments", {"pay": lambda order: order}, effects={"pay": effect("order")})


def polling(polls: int) -> Callable[[Any], Any]:
    """Return an agent that pays, asks so often whether it was paid, and pays again."""

    async def agent(run: Any) -> Outcome:
        payments, status = paying(run), run.service("status", {"get": lambda: "pending"}, read_only=True)
        await payments("pay", order="A-1")
        for _ in range(polls):
            await status("get")
        await payments("pay", order="A-1")
        return Outcome("done", success=True)

    return agent


def test_what_is_broken_beyond_the_limit_on_steps_is_broken(play: Play) -> None:
    found = play(polling(50), experiment=judged(steps_max=20))

    assert verdicts(found)["at-most-once"] is Verdict.VIOLATED
    assert found.trace.verdict("at-most-once").violation.step == 51  # type: ignore[union-attr]  # there is one
    assert found.trace.exceeded == "20 steps"


def test_a_run_that_ends_beyond_its_limits_has_not_done_its_task_within_them(play: Play) -> None:
    async def agent(run: Any) -> Outcome:
        await paying(run)("pay", order="A-1")
        for _ in range(40):
            await run.clock.sleep(1.0)
            run.note("waiting")
        return Outcome("done", success=True)

    found = play(agent, experiment=judged(steps_max=20))

    broken = {name for name, verdict in verdicts(found).items() if verdict is Verdict.VIOLATED}
    assert found.trace.ending is Ending.FINISHED
    assert broken == {"termination", "objective"}
    assert set(verdicts(found).values()) == {Verdict.VIOLATED, Verdict.HOLDS}
    assert found.evaluation.success is False


async def spins(_: Any) -> None:
    while True:
        await asyncio.sleep(0)


async def sleeps(run: Any) -> None:
    while True:
        await run.clock.sleep(3600.0)


@pytest.mark.parametrize(
    ("agent", "limits", "ending"),
    [
        (polling(10_000), {"steps_max": 20}, Ending.STEP_LIMIT),
        (spins, {"turns_max": 200}, Ending.LIVELOCK),
        (sleeps, {"virtual_seconds_max": 7 * 86_400.0}, Ending.TIME_LIMIT),
    ],
)
def test_what_a_run_that_a_limit_has_ended_does_not_break_is_unknown(
    play: Play, agent: Any, limits: dict[str, Any], ending: Ending
) -> None:
    found = play(agent, experiment=judged(**limits))

    told = verdicts(found)
    assert found.trace.ending is ending
    assert {name for name, verdict in told.items() if verdict is Verdict.VIOLATED} == {"termination", "objective"}
    assert Verdict.HOLDS not in told.values()
    assert found.evaluation.success is False


def test_a_stored_trace_of_such_a_run_is_judged_in_the_same_way(play: Play) -> None:
    for agent in (polling(50), polling(10_000)):
        trace = play(agent, experiment=judged(steps_max=20)).trace

        assert judge(trace, CONTRACTS, Task("default"), NOMINAL) == trace.verdicts


def test_what_a_run_without_end_has_broken_already_is_broken(play: Play) -> None:
    async def agent(run: Any) -> None:
        payments = paying(run)
        for _ in range(2):
            await payments("pay", order="A-1")
        await asyncio.Event().wait() if not run.seed else await spins(run)

    assert verdicts(play(agent, experiment=judged(turns_max=200), seed=1))["at-most-once"] is Verdict.VIOLATED


def test_a_deadlock_is_an_end_that_the_target_has_come_to(play: Play) -> None:
    async def agent(run: Any) -> None:
        await paying(run)("pay", order="A-1")
        await asyncio.Event().wait()

    told = verdicts(play(agent, experiment=judged()))

    assert told["termination"] is told["objective"] is Verdict.VIOLATED
    assert told["at-most-once"] is told["all-or-nothing"] is told["promises-kept"] is Verdict.HOLDS


# ---------------------------------------------------------------- a crash


@contract("refunded-once", at_end=True)
def refunded_once(end: End) -> bool:
    """Look at the state of the world."""
    return len(end.outcome.state["refunds"]) <= 1  # type: ignore[call-overload,index,arg-type]  # plain data


@contract("says-something", at_end=True)
def says_something(end: End) -> bool:
    """Look at the final message."""
    return bool(end.outcome.message)


@contract("not-refused", at_end=True)
def not_refused(end: End) -> bool:
    """Compare the outcome with another."""
    return end.outcome != Outcome("refused", success=False)


@contract("refunds-known", at_end=True)
def refunds_known(end: End) -> bool:
    """Look at what the state of the world does not have yet."""
    return end.outcome.state["later"] is not None  # type: ignore[call-overload,index]  # plain data


def crashing(*, declares: bool) -> Callable[[Any], Any]:
    async def agent(run: Any) -> None:
        refunds: list[str] = []
        payments = run.service("payments", {"pay": lambda order: refunds.append(order)})
        if declares:
            run.state(lambda: {"refunds": refunds})
        await payments("pay", order="A-1")
        await payments("pay", order="A-1")
        raise KeyError("id")

    return agent


def test_a_contract_that_needs_the_outcome_of_a_crashed_run_is_unknown(play: Play) -> None:
    found = play(crashing(declares=False), experiment=judged(refunded_once, says_something))

    assert verdicts(found) == {"refunded-once": Verdict.UNKNOWN, "says-something": Verdict.UNKNOWN}


def test_an_outcome_that_is_not_there_is_not_unequal_to_another_either(play: Play) -> None:
    found = play(crashing(declares=True), experiment=judged(not_refused))

    assert verdicts(found) == {"not-refused": Verdict.UNKNOWN}


def test_a_contract_that_raises_on_a_crashed_run_is_unknown_and_keeps_no_other_from_its_verdict(play: Play) -> None:
    found = play(crashing(declares=True), experiment=judged(refunds_known, refunded_once))

    assert verdicts(found) == {"refunds-known": Verdict.UNKNOWN, "refunded-once": Verdict.VIOLATED}
    assert judge(found.trace, (refunds_known,), Task("default"), NOMINAL)[0].verdict is Verdict.UNKNOWN


def test_the_state_of_the_world_is_judged_whatever_the_end_of_the_run(play: Play) -> None:
    found = play(crashing(declares=True), experiment=judged(refunded_once, says_something))

    assert verdicts(found) == {"refunded-once": Verdict.VIOLATED, "says-something": Verdict.UNKNOWN}
    assert found.trace.outcome.state == {"refunds": ["A-1", "A-1"]}


@pytest.mark.parametrize("end", ["deadlock", "limit", "end"])
def test_the_state_is_found_at_every_end(play: Play, end: str) -> None:
    async def agent(run: Any) -> str:
        world: dict[str, Plain] = {"refunds": []}
        run.state(lambda: world)
        world["refunds"] = ["A-1", "A-1"]
        if end == "deadlock":
            await asyncio.Event().wait()
        while end == "limit":
            await asyncio.sleep(0)
        return "done"

    found = play(agent, experiment=judged(refunded_once, turns_max=100))

    assert found.trace.outcome.state == {"refunds": ["A-1", "A-1"]}
    assert verdicts(found) == {"refunded-once": Verdict.UNKNOWN if end == "limit" else Verdict.VIOLATED}


def test_an_outcome_that_has_a_state_keeps_it(play: Play) -> None:
    async def agent(run: Any) -> Outcome:
        run.state(lambda: "declared")
        return Outcome("done", state="returned")

    assert play(agent).trace.outcome.state == "returned"


def test_a_state_that_cannot_be_found_is_a_mistake_of_the_target(play: Play) -> None:
    async def agent(run: Any) -> None:
        run.state(lambda: 1 / 0)

    with pytest.raises(TargetError, match=r"run\.state: the function that returns the state raised ZeroDivisionError"):
        play(agent)


def test_a_run_that_says_nothing_promises_and_leaks_nothing(play: Play) -> None:
    async def agent(run: Any) -> None:
        await paying(run)("pay", order="A-1")
        raise KeyError("id")

    claimed = NOMINAL._replace(outcome=Outcome("done", claims=(Claim("payments.pay", {}),)))
    told = verdicts(play(agent, experiment=judged(nominal=claimed)))

    assert {name for name, verdict in told.items() if verdict is not Verdict.HOLDS} == {"no-crash", "objective"}


# ---------------------------------------------------------------- a value that cannot cross


async def keyed_by_answer(run: Any) -> str:
    """Write under a key that was read: `None` after a fault."""
    crm = run.service("crm", {"get": lambda: "A-1", "put": lambda prices: prices})
    found = await crm("get")
    try:
        await crm("put", prices={found: 5})
    except TypeError as error:
        return f"handled: {error}"
    return "done"


async def careless(run: Any) -> str:
    crm = run.service("crm", {"get": lambda: "A-1", "put": lambda prices: prices})
    await crm("put", prices={await crm("get"): 5})
    return "done"


async def returns_it(run: Any) -> Any:
    found = await run.service("crm", {"get": lambda: "A-1"})("get")
    return Outcome(found)


def test_a_value_that_no_door_carries_is_how_the_target_behaves_under_a_fault(play: Play) -> None:
    handled = play(keyed_by_answer, "service:crm[1] test/nothing").trace
    crashed = play(careless, "service:crm[1] test/nothing", experiment=judged()).trace
    returned = play(returns_it, "service:crm[1] test/nothing", experiment=judged()).trace

    assert handled.outcome.message.startswith("handled: service:crm[2] put is asked with what cannot cross: A mapping")
    assert (crashed.ending, crashed.verdict("no-crash").verdict) == (Ending.CRASHED, Verdict.VIOLATED)
    assert "has the key None" in crashed.ending_detail
    assert (returned.ending, returned.verdict("no-crash").verdict) == (Ending.CRASHED, Verdict.VIOLATED)


def test_an_answer_that_no_door_carries_is_a_failure_of_the_world_under_a_fault(play: Play) -> None:
    async def agent(run: Any) -> str:
        crm = run.service("crm", {"get": lambda: "A-1", "find": lambda key: {key: 5}})
        found = await crm("get")
        try:
            await crm("find", key=found)
        except TypeError as error:
            return f"handled: {error}"
        return "done"

    found = play(agent, "service:crm[1] test/nothing").trace

    assert found.outcome.message.startswith("handled: service:crm[2] find answers what cannot cross: A mapping")
    assert [step.failure is not None for step in found.steps] == [False, True]


def test_without_a_fault_it_is_a_mistake_in_the_target(play: Play) -> None:
    async def agent(run: Any) -> None:
        try:
            await run.service("crm", {"put": lambda prices: prices})("put", prices={None: 5})
        except TypeError:
            return

    with pytest.raises(TargetError, match=r"service:crm\[1\] put is asked with what cannot cross.* has the key None"):
        play(agent)


def test_a_checkpoint_that_a_fault_has_spoilt_is_none(play: Play) -> None:
    async def agent(run: Any) -> str:
        found = await run.service("crm", {"get": lambda: "A-1"})("get")
        run.checkpoint("read", {found: 1})
        return "done"

    spoilt = play(agent, "service:crm[1] test/nothing", fingerprinting=Fingerprinting.STATE)

    assert (spoilt.trace.outcome.message, spoilt.evaluation.fingerprints) == ("done", ())


def test_a_payload_that_a_fault_has_made_too_large_leaves_the_run_inconclusive(play: Play) -> None:
    async def agent(run: Any) -> str:
        crm = run.service("crm", {"get": lambda: "A-1", "put": lambda text: text})
        if await crm("get") is None:
            await crm("put", text="x" * 2_000)
        return "done"

    found = play(agent, "service:crm[1] test/nothing", experiment=judged(payload_bytes_max=1_000))

    assert found.trace.ending is Ending.INCONCLUSIVE
    assert "payload_bytes_max" in found.trace.ending_detail
    with pytest.raises(TargetError, match="A payload of"):
        play(agent, "service:crm[1] test/nothing", experiment=judged(payload_bytes_max=4))


# ---------------------------------------------------------------- inconclusive


@pytest.mark.parametrize("swallows", [False, True])
def test_a_run_that_can_show_nothing_further_is_unknown_but_for_what_it_has_broken(
    play: Play, *, swallows: bool
) -> None:
    async def agent(run: Any) -> str:
        payments = paying(run)
        for _ in range(2):
            await payments("pay", order="A-1")
        try:
            run.inconclusive("the recording has no third answer")
        except BaseException:
            if not swallows:
                raise
        try:
            await payments("pay", order="A-2")
        except BaseException:
            return "swallowed"
        return "never"

    found = play(agent, experiment=judged())

    told = verdicts(found)
    assert (found.trace.ending, found.trace.ending_detail) == (
        Ending.INCONCLUSIVE,
        "the recording has no third answer",
    )
    assert len(found.trace.steps) == 2
    assert {name for name, verdict in told.items() if verdict is Verdict.VIOLATED} == {"at-most-once"}
    assert Verdict.HOLDS not in told.values()

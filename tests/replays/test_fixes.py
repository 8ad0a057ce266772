"""The most ordinary fixes are recognised, whatever they do to the numbers of calls."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping

import pytest

from chaosagent.canonical import Plain
from chaosagent.effects.rule import effect
from chaosagent.replays.outcome import Replay, ReplayOutcome, RunsMax
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.rerun import rerun_schedule
from chaosagent.targets.target import Run
from chaosagent.vocabulary import Effect
from tests.replays.desk import FORGOTTEN, LOST, UNKNOWN, Desk, committed, desk, record_of

Behaviour = Callable[[Run], Awaitable[object]]


async def tries(world: Desk, *, key: str | None = None, operation: str = "pay", **arguments: object) -> str:
    """Call a write until it answers; with a key it is done once."""
    keyed = {} if key is None else {"key": key}
    for _ in range(3):
        with contextlib.suppress(ConnectionError):
            await world.payments(operation, **arguments, **keyed)
            return "paid"
        await world.run.clock.sleep(1.0)
    return "unclear"


async def retries(run: Run) -> str:
    world = Desk(run)
    await world.orders("get", order=7)
    return await tries(world, order=7)


async def adds_a_key(run: Run) -> str:
    world = Desk(run)
    await world.orders("get", order=7)
    return await tries(world, order=7, key="7")


async def verifies_before(run: Run) -> str:
    world = Desk(run)
    await world.orders("get", order=7)
    for _ in range(3):
        if (await world.ledger("find", order=7))["paid"]:
            return "paid"
        with contextlib.suppress(ConnectionError):
            await world.payments("pay", order=7)
    return "paid"


async def verifies_after(run: Run) -> str:
    world = Desk(run)
    await world.orders("get", order=7)
    for _ in range(3):
        with contextlib.suppress(ConnectionError):
            await world.payments("pay", order=7)
        if (await world.ledger("find", order=7))["paid"]:
            return "paid"
    return "unclear"


async def tries_once(run: Run) -> str:
    world = Desk(run)
    await world.orders("get", order=7)
    with contextlib.suppress(ConnectionError):
        await world.payments("pay", order=7)
        return "paid"
    return "unclear"


async def pays_first(run: Run) -> str:
    world = Desk(run)
    said = await tries(world, order=7, key="7")
    await world.orders("get", order=7)
    return said


async def splits_the_service(run: Run) -> str:
    world = Desk(run, effects={"capture": committed})
    await world.orders("get", order=7)
    with contextlib.suppress(ConnectionError):
        await world.payments("reserve", order=7)
    return await tries(world, operation="capture", order=7, key="7")


def committed_in_a_batch(arguments: Mapping[str, Plain], answer: Plain) -> list[Effect]:
    del arguments
    assert isinstance(answer, list)
    return [found for one in answer if (found := committed({"order": 7}, one)) is not None]


async def pays_in_a_batch(run: Run) -> str:
    world = Desk(run, effects={"batch": committed_in_a_batch})
    await world.orders("get", order=7)
    return await tries(world, operation="batch", orders=[7], key="7")


async def declared_by_name(run: Run) -> str:
    world = Desk(run, effects={"pay": effect("order", kind="payment")})
    return await tries(world, order=7)


async def renames_an_argument(run: Run) -> str:
    world = Desk(run, effects={"pay": effect("order_id", kind="payment")})
    with contextlib.suppress(ConnectionError):
        await world.payments("pay", order_id=7)
    return "unclear"


async def renames_an_argument_only(run: Run) -> str:
    world = Desk(run, effects={"pay": effect("order_id", kind="payment")})
    return await tries(world, order_id=7)


FIXES = [
    (retries, adds_a_key, ReplayOutcome.HELD),
    (retries, verifies_before, ReplayOutcome.HELD),
    (retries, verifies_after, ReplayOutcome.HELD),
    (retries, tries_once, ReplayOutcome.HELD),
    (retries, pays_first, ReplayOutcome.HELD),
    (declared_by_name, renames_an_argument, ReplayOutcome.HELD),
    (declared_by_name, renames_an_argument_only, ReplayOutcome.VIOLATED),
    (retries, splits_the_service, ReplayOutcome.MOVED),
]


def replayed(record: ReplayRecord, behaviour: Behaviour) -> Replay:
    return rerun_schedule(record, desk(behaviour))


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize(("naive", "edited", "expected"), FIXES, ids=lambda one: getattr(one, "__name__", ""))
def test_an_ordinary_fix(naive: Behaviour, edited: Behaviour, expected: ReplayOutcome, *, declared: bool) -> None:
    replay = replayed(record_of(naive, LOST, declared=declared), edited)

    assert replay.outcome is expected, replay
    assert ("declarations unknown" in " ".join(replay.notes)) is not declared


def test_what_replaces_the_recorded_call_is_tried_and_reported() -> None:
    replay = replayed(record_of(retries, LOST), splits_the_service)

    assert replay.detail.startswith("`payments.pay` is not called any more; at the calls that may have replaced it")
    assert "effects of service:payments, pay: declared for service:payments, capture now" in replay.notes


def test_a_batch_instead_of_single_calls_is_tried_and_its_declaration_is_to_be_reviewed() -> None:
    unknown = replayed(record_of(retries, LOST, declared=False), pays_in_a_batch)
    known = replayed(record_of(retries, LOST), pays_in_a_batch)

    assert unknown.outcome is ReplayOutcome.MOVED
    assert known.outcome is ReplayOutcome.CHANGED
    assert known.detail.startswith(
        "effects of service:payments, pay: there is no such declaration any more. If that is right, `replay --accept` "
        "makes it MOVED"
    )


def test_changed_arguments_are_a_note() -> None:
    replay = replayed(record_of(retries, LOST), adds_a_key)

    assert replay.detail == "at-most-once holds, 1 of 1 injections landed"
    assert replay.notes == (
        f"{LOST} acts on a call with other arguments: pay({{'order': 7}}) then, pay({{'key': '7', 'order': 7}}) now",
    )


async def looks(run: Run) -> str:
    world = Desk(run)
    await world.orders("get", order=7)
    try:
        await world.payments("pay", order=7)
    except ConnectionError:
        with contextlib.suppress(ConnectionError):
            if (await world.ledger("find", order=7))["paid"]:
                return "paid"
        await world.payments("pay", order=7)
    return "paid"


async def gives_up(run: Run) -> str:
    world = Desk(run)
    await world.orders("get", order=7)
    with contextlib.suppress(ConnectionError):
        await world.payments("pay", order=7)
    return "unclear"


def test_a_later_fault_whose_call_is_not_made_any_more_is_reported() -> None:
    replay = replayed(record_of(looks, FORGOTTEN), gives_up)

    assert replay.outcome is ReplayOutcome.HELD
    assert replay.detail.startswith("at-most-once holds, 1 of 2 injections landed")
    assert "`ledger.find` is no longer called, as the target handles an earlier fault" in replay.notes


async def finds(run: Run) -> str:
    """Pay once more when the ledger does not answer."""
    world = Desk(run)
    await world.payments("pay", order=7)
    return await pays_unless_found(world)


async def pays_unless_found(world: Desk) -> str:
    with contextlib.suppress(ConnectionError):
        if (await world.ledger("find", order=7))["paid"]:
            return "paid"
    await world.payments("pay", order=7)
    return "paid"


async def finds_thrice(run: Run) -> str:
    world = Desk(run)
    await world.payments("pay", order=7)
    for _ in range(2):
        with contextlib.suppress(ConnectionError):
            await world.ledger("find", order=7)
    return await pays_unless_found(world)


def test_the_message_names_the_call_that_breaks() -> None:
    replay = replayed(record_of(finds, UNKNOWN), finds_thrice)

    assert replay.outcome is ReplayOutcome.VIOLATED
    assert replay.detail.startswith(
        "the recorded call holds; the same fault at `ledger.find`, third call, breaks: at-most-once violated at step 4"
    )


def test_more_placements_than_allowed_are_not_guessed() -> None:
    record = record_of(finds, UNKNOWN)

    few = rerun_schedule(record, desk(finds_thrice), runs_max=RunsMax(placements=2))
    enough = rerun_schedule(record, desk(finds_thrice), runs_max=RunsMax(placements=3))

    assert few.outcome is ReplayOutcome.MOVED
    assert few.detail.endswith("takes more runs than allowed (2); allow more with --placements")
    assert enough.outcome is ReplayOutcome.VIOLATED


def test_an_unchanged_target_costs_one_run() -> None:
    made: list[str] = []

    def counted(behaviour: Behaviour) -> Behaviour:
        async def run_once(run: Run) -> object:
            made.append("run")
            return await behaviour(run)

        return run_once

    for declared in (True, False):
        record = record_of(looks, FORGOTTEN, declared=declared)
        made.clear()
        assert replayed(record, counted(looks)).outcome is ReplayOutcome.VIOLATED
        assert len(made) == 2  # one without faults, which other records share, and one with

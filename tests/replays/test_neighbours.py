"""A fix that evades only the recorded faults is told apart from one that also holds around them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from chaosagent.replays.codec import decode, encode
from chaosagent.replays.outcome import NEIGHBOURS, Replay, ReplayOutcome, RunsMax
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.rerun import rerun_exact, rerun_schedule
from chaosagent.targets.target import Run
from chaosagent.vocabulary import StatusError
from tests.replays.desk import LOST, Desk, committed, desk, record_of

Behaviour = Callable[[Run], Awaitable[object]]
ANYTHING = (TimeoutError, ConnectionError, StatusError)
LATE = "service:payments[1] service.delay(seconds=60.0)"


def pays(*, stops: Callable[[Exception], bool] = lambda _: False, patience: float = 30.0, key: str = "") -> Behaviour:
    """Return an agent that pays until it is answered, but for what stops it."""

    async def behaviour(run: Run) -> str:
        world = Desk(run)
        await world.orders("get", order=7)
        keyed = {"key": key} if key else {}
        for _ in range(3):
            try:
                async with asyncio.timeout(patience):
                    await world.payments("pay", order=7, **keyed)
                return "paid"
            except ANYTHING as error:
                if stops(error):
                    return "unclear"
                await run.clock.sleep(1.0)
        return "unclear"

    return behaviour


def around(record: ReplayRecord, fix: Behaviour, neighbours: int = NEIGHBOURS) -> Replay:
    return rerun_schedule(record, desk(fix), runs_max=RunsMax(neighbours=neighbours))


@pytest.mark.parametrize(
    ("recorded", "fix", "kind"),
    [
        (LATE, pays(patience=61.0), "another value"),
        (LOST, pays(stops=lambda error: isinstance(error, ConnectionError)), "another operator"),
        (LOST, pays(stops=lambda error: str(error) == "connection reset by peer"), "another operator"),
    ],
    ids=["the exact delay", "one type of error", "the exact wording"],
)
def test_a_guard_on_what_was_recorded_is_exposed(recorded: str, fix: Behaviour, kind: str) -> None:
    record = record_of(pays(), recorded)

    plain, exposed = rerun_schedule(record, desk(fix)), around(record, fix)

    assert plain.outcome is ReplayOutcome.HELD
    assert exposed.outcome is ReplayOutcome.DODGED, exposed
    assert exposed.neighbour is not None
    assert exposed.neighbour.kind == kind
    assert str(exposed.neighbour.record.schedule) in exposed.detail


def test_neighbours_that_never_end_are_ended_and_told_and_not_for_ever_tried() -> None:
    def loops(error: Exception) -> bool:
        while not isinstance(error, ConnectionError):
            pass
        return True

    record = record_of(pays(), LOST)
    record = replace(record, limits=replace(record.limits, wall_seconds_max=1.0))

    replay = around(record, pays(stops=loops))

    assert replay.outcome is ReplayOutcome.HELD
    (note,) = (note for note in replay.notes if "took longer" in note)
    assert note.startswith("3 of its neighbours took longer than 1 s of real time (run.wall_seconds) and were ended")
    assert "no more neighbours were run" in note


@pytest.mark.parametrize("recorded", [LATE, LOST])
def test_a_fix_of_the_cause_holds_around_the_faults_too(recorded: str) -> None:
    replay = around(record_of(pays(), recorded), pays(key="7"))

    assert replay.outcome is ReplayOutcome.HELD
    assert "so it does under " in replay.detail


def test_what_is_exposed_is_a_record_of_its_own_that_todays_target_reproduces() -> None:
    fix = pays(patience=61.0)
    exposed = around(record_of(pays(), LATE), fix).neighbour
    assert exposed is not None

    stored = decode(encode(exposed.record), "stored")

    assert rerun_exact(stored, desk(fix)).outcome is ReplayOutcome.REPRODUCED
    assert rerun_schedule(stored, desk(fix)).outcome is ReplayOutcome.VIOLATED
    assert rerun_schedule(stored, desk(pays(key="7"))).outcome is ReplayOutcome.HELD
    assert not stored.proof.certified


def test_a_fix_at_one_operation_is_exposed_at_another() -> None:
    async def captures(run: Run, **keyed: str) -> str:
        world = Desk(run, effects={"pay": committed, "capture": committed})
        for operation, more in (("pay", keyed), ("capture", {})):
            for _ in range(2):
                with contextlib.suppress(ConnectionError):
                    await world.payments(operation, order=8 if operation == "pay" else 7, **more)
                    break
        return "paid"

    record = record_of(captures, LOST)

    replay = around(record, lambda run: captures(run, key="8"))

    assert replay.neighbour is not None, replay
    assert replay.neighbour.kind == "another operation"


def looks_first(run: Run, *, believes: bool) -> Awaitable[str]:
    """Ask the ledger before paying again; one that believes pays again when the ledger does not answer."""

    async def behaviour() -> str:
        world = Desk(run)
        for _ in range(2):
            with contextlib.suppress(*ANYTHING):
                await world.payments("pay", order=7)
                return "paid"
            try:
                if (await world.ledger("find", order=7))["paid"]:
                    return "paid"
            except ANYTHING:
                if not believes:
                    return "unclear"
        return "unclear"

    return behaviour()


def test_one_more_fault_shows_what_the_fix_rests_on() -> None:
    record = record_of(pays(), LOST)

    exposed = around(record, lambda run: looks_first(run, believes=True))

    assert exposed.neighbour is not None, exposed
    assert exposed.neighbour.kind == "one more fault"
    assert len(exposed.neighbour.record.schedule) == 2


def test_a_fault_that_breaks_the_contract_alone_is_no_neighbour() -> None:
    async def fixed_there_and_broken_elsewhere(run: Run) -> str:
        world = Desk(run)
        keys = ["7"]
        try:
            await world.orders("get", order=7)
        except ANYTHING:
            keys = ["7", "8"]
        for key in keys:
            with contextlib.suppress(*ANYTHING):
                await world.payments("pay", order=7, key=key)
        return "paid"

    replay = around(record_of(pays(), LOST), fixed_there_and_broken_elsewhere)

    assert replay.outcome is ReplayOutcome.HELD
    assert any("by that fault alone" in note for note in replay.notes), replay.notes


def test_no_more_neighbours_are_run_than_allowed_and_how_many_there_are_is_said() -> None:
    runs: list[int] = []

    async def counted(run: Run) -> object:
        runs.append(1)
        return await pays(key="7")(run)

    record = record_of(pays(), LOST)
    rerun_schedule(record, desk(counted))
    plain = len(runs)

    replay = around(record, counted, 5)

    assert len(runs) - plain == plain + 5
    assert "(the 5 cheapest of " in replay.detail


def test_by_default_no_neighbour_is_run() -> None:
    replay = rerun_schedule(record_of(pays(), LATE), desk(pays(patience=61.0)))

    assert replay.outcome is ReplayOutcome.HELD
    assert "neighbour" not in replay.detail

"""HELD means fixed: eight edits that fix nothing, or break something else, were called HELD."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import pytest

from chaosagent.canonical import Plain
from chaosagent.contracts.custom import contract
from chaosagent.effects.rule import EffectRule, effect
from chaosagent.replays.outcome import Replay, ReplayOutcome
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.rerun import rerun_schedule
from chaosagent.targets.target import Run
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Effect
from tests.replays.desk import FORGOTTEN, LOST, SPECS, UNKNOWN, Desk, desk, record_of

Behaviour = Callable[[Run], Awaitable[object]]


async def retries(run: Run) -> str:
    """Pay again when the answer is lost."""
    world = Desk(run)
    await world.orders("get", order=7)
    for _ in range(3):
        with contextlib.suppress(ConnectionError):
            await world.payments("pay", order=7)
            return "paid"
        await run.clock.sleep(1.0)
    return "unclear"


async def looks(run: Run, world: Desk | None = None) -> str:
    """Pay again when the answer is lost and the ledger does not answer."""
    world = world or Desk(run)
    try:
        await world.payments("pay", order=7)
    except ConnectionError:
        await pays_unless_found(world)
    return "paid"


async def pays_unless_found(world: Desk) -> None:
    found = None
    with contextlib.suppress(ConnectionError):
        found = await world.ledger("find", order=7)
    if found is None or not found["paid"]:
        await world.payments("pay", order=7)


async def looks_twice(run: Run) -> str:
    """Make one more identical call before the second of two faults."""
    world = Desk(run)
    try:
        await world.payments("pay", order=7)
    except ConnectionError:
        with contextlib.suppress(ConnectionError):
            await world.ledger("find", order=7)
        await pays_unless_found(world)
    return "paid"


async def always_looks(run: Run) -> str:
    """Pay, and once more when the ledger does not say that it was done."""
    world = Desk(run)
    await world.payments("pay", order=7)
    await pays_unless_found(world)
    return "paid"


async def reads_once_more(run: Run) -> str:
    """Make one more identical read before the faulted one."""
    world = Desk(run)
    await world.payments("pay", order=7)
    with contextlib.suppress(ConnectionError):
        await world.ledger("find", order=7)
    await pays_unless_found(world)
    return "paid"


async def reads_something_else(run: Run) -> str:
    """Make one more read, with a new argument, before the faulted one."""
    world = Desk(run)
    await world.payments("pay", order=7)
    with contextlib.suppress(ConnectionError):
        await world.ledger("find", order=8)
    await pays_unless_found(world)
    return "paid"


async def asks_a_renamed_ledger(run: Run) -> str:
    """Rename the service of the second fault."""
    return await looks(run, Desk(run, ledger="journal"))


async def confirms(run: Run) -> str:
    """Pay with a key that the next attempt does not have, and look into the ledger before it pays again.

    So the lost answer of a payment does no harm, but that of the new confirmation does: the ledger is not asked then.
    """
    world = Desk(run)
    for attempt in range(3):
        is_paid = False
        try:
            await world.payments("pay", order=7, key=f"7-{attempt}")
            is_paid = True
            await world.payments("reserve", order=7)
            return "paid"
        except ConnectionError:
            if not is_paid and (await world.ledger("find", order=7))["paid"]:
                return "paid"
    return "unclear"


async def crashes(run: Run) -> str:
    """Do not pay twice: crash."""
    world = Desk(run)
    await world.orders("get", order=7)
    await world.payments("pay", order=7)
    return "paid"


async def hangs(run: Run) -> str:
    """Do not pay twice: wait for ever."""
    world = Desk(run)
    await world.orders("get", order=7)
    try:
        await world.payments("pay", order=7)
    except ConnectionError:
        await asyncio.get_running_loop().create_future()
    return "paid"


async def always_pays_twice(run: Run) -> str:
    """Pay twice, whatever happens."""
    world = Desk(run)
    await world.orders("get", order=7)
    for _ in range(2):
        with contextlib.suppress(ConnectionError):
            await world.payments("pay", order=7)
    return "paid"


async def declares_nothing(run: Run) -> str:
    """Declare no effect of a payment any more."""
    world = Desk(run, effects={})
    await world.orders("get", order=7)
    for _ in range(3):
        with contextlib.suppress(ConnectionError):
            await world.payments("pay", order=7)
            return "paid"
    return "unclear"


async def identifies_by_number(run: Run) -> str:
    """Put a fresh number into the identity of the effect."""
    numbers = itertools.count()

    def numbered(arguments: Mapping[str, Plain], _: Plain) -> Effect:
        return Effect("payment", {"order": arguments["order"], "number": next(numbers)})

    world = Desk(run, effects={"pay": numbered})
    await world.orders("get", order=7)
    for _ in range(3):
        with contextlib.suppress(ConnectionError):
            await world.payments("pay", order=7)
            return "paid"
    return "unclear"


def replayed(record: ReplayRecord, behaviour: Behaviour) -> Replay:
    return rerun_schedule(record, desk(behaviour))


ATTACKS = [
    (always_looks, UNKNOWN, reads_once_more, ReplayOutcome.VIOLATED),
    (looks, FORGOTTEN, looks_twice, ReplayOutcome.VIOLATED),
    (always_looks, UNKNOWN, reads_something_else, ReplayOutcome.VIOLATED),
    (looks, FORGOTTEN, asks_a_renamed_ledger, ReplayOutcome.VIOLATED),
    (retries, LOST, confirms, ReplayOutcome.VIOLATED),
    (retries, LOST, crashes, ReplayOutcome.VIOLATED),
    (retries, LOST, hangs, ReplayOutcome.VIOLATED),
    (retries, LOST, always_pays_twice, ReplayOutcome.VIOLATED),
    (retries, LOST, declares_nothing, ReplayOutcome.CHANGED),
    (retries, LOST, identifies_by_number, ReplayOutcome.CHANGED),
]


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize(
    ("naive", "schedule", "edited", "expected"), ATTACKS, ids=lambda one: getattr(one, "__name__", "")
)
def test_an_edit_that_fixes_nothing_does_not_hold(
    naive: Behaviour, schedule: str, edited: Behaviour, expected: ReplayOutcome, *, declared: bool
) -> None:
    record = record_of(naive, schedule, declared=declared)

    assert replayed(record, naive).outcome is ReplayOutcome.VIOLATED
    assert replayed(record, edited).outcome is expected


@contract("pays-once")
def pays_once(step: Step) -> bool:
    """Say no to a payment that was asked for late, which only a retry is."""
    return step.operation != "pay" or step.asked_at < LATEST[0]


LATEST = [0.5]


@pytest.mark.parametrize("secrets", [(), ("sk-[0-9]+",)], ids=["none", "declared but never met"])
def test_a_loosened_contract_does_not_hold(monkeypatch: pytest.MonkeyPatch, secrets: tuple[str, ...]) -> None:
    record = record_of(retries, LOST, "pays-once", (*SPECS, f"{__name__}:pays_once"), secrets=secrets)
    assert replayed(record, retries).outcome is ReplayOutcome.VIOLATED

    monkeypatch.setattr("tests.replays.test_held.LATEST", [99.0])

    assert rerun_schedule(record, replace(desk(retries), secrets=secrets)).outcome is ReplayOutcome.CHANGED


def test_a_review_covers_the_reviewed_difference_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    record = record_of(retries, LOST, "pays-once", (*SPECS, f"{__name__}:pays_once"))
    monkeypatch.setattr("tests.replays.test_held.LATEST", [99.0])
    (reviewed,) = replayed(record, retries).changes

    def outcome(latest: float) -> ReplayOutcome:
        monkeypatch.setattr("tests.replays.test_held.LATEST", [latest])
        return rerun_schedule(record, desk(retries), accepted={reviewed.digest}).outcome

    assert outcome(99.0) is ReplayOutcome.HELD
    assert outcome(999.0) is ReplayOutcome.CHANGED


def declares(rule: EffectRule, ticket: int = 7) -> Behaviour:
    """Return a behaviour that pays again when the answer is lost, and numbers its tries after the first."""

    async def behave(run: Run) -> str:
        world = Desk(run, effects={"pay": rule})
        for attempt in range(3):
            with contextlib.suppress(ConnectionError):
                await world.payments("pay", order=7, order_id=ticket + attempt)
                return "paid"
        return "unclear"

    return behave


def test_an_effect_that_another_argument_identifies_does_not_hold() -> None:
    record = record_of(declares(effect("order", kind="payment")), LOST)

    replay = replayed(record, declares(effect("order_id", kind="payment")))

    assert replay.outcome is ReplayOutcome.CHANGED
    assert "payment of service:payments pay is identified by order_id, in the record by order" in replay.detail


async def pays_elsewhere(run: Run) -> str:
    """Pay again when the answer is lost, at a service that declares nothing."""
    world = Desk(run)
    await world.orders("get", order=7)
    try:
        await world.payments("pay", order=7)
    except ConnectionError:
        await run.service("bank", {"transfer": world.payments_pay})("transfer", order=7)
    return "paid"


def test_a_call_that_nobody_has_declared_is_named() -> None:
    replay = replayed(record_of(retries, LOST), pays_elsewhere)

    assert replay.outcome is ReplayOutcome.HELD  # as far as is declared
    assert any(note.startswith("under the faults the target calls `bank.transfer`") for note in replay.notes)


def at_most(tries: int) -> Callable[[Mapping[str, Plain], Plain], Effect | None]:
    """Return an effect rule that overlooks later tries."""

    def rule(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
        del answer
        number = arguments["order_id"]
        assert isinstance(number, int)
        return Effect("payment", {"order": arguments["order"]}) if number < 7 + tries else None

    return rule


def test_another_setting_of_an_effect_rule_does_not_hold() -> None:
    record = record_of(declares(at_most(3)), LOST)

    replay = replayed(record, declares(at_most(1)))

    assert replay.outcome is ReplayOutcome.CHANGED
    assert "effects of service:payments, pay: the declaration has changed" in replay.detail

"""A rule for failed calls, or a label, that is new or has changed must not make a record HELD."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from chaosagent.effects.rule import EffectRule, effect
from chaosagent.replays.outcome import Replay, ReplayOutcome
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.rerun import rerun_schedule
from chaosagent.targets.target import Run
from tests.replays.desk import desk, record_of

LOST = "service:payments[1] service.lost_response(when=after)"


def paying(tries: int = 2, effects: EffectRule | None = None, **options: Any) -> Callable[[Run], Awaitable[object]]:
    """Return what pays again when the answer is lost, at a shop that says so when it has paid already."""

    async def pays(run: Run) -> object:
        rules = {"pay": effect("order") if effects is None else effects}
        shop = run.service("payments", {"pay": lambda order: f"paid {order}"}, effects=rules, **options)
        for _ in range(tries):
            with contextlib.suppress(ConnectionError):
                return await shop("pay", order=7)
        return "unclear"

    return pays


def refunding_by_another_door(**options: Any) -> Callable[[Run], Awaitable[object]]:
    """Return what opens another door only when the answer is lost."""

    async def pays(run: Run) -> object:
        shop = run.service(
            "payments", {"pay": lambda order: f"paid {order}"}, effects={"pay": effect("order", kind="p")}
        )
        with contextlib.suppress(ConnectionError):
            return await shop("pay", order=7)
        other = run.service(
            "other", {"pay": lambda order: f"paid {order}"}, effects={"pay": effect("order", kind="p")}, **options
        )
        return await other("pay", order=7)

    return pays


def replay(record: ReplayRecord, behaviour: Callable[[Run], Awaitable[object]]) -> Replay:
    return rerun_schedule(record, desk(behaviour))


@pytest.mark.parametrize(
    "today",
    [
        paying(failed_when="."),
        paying(failed_when={"pay": lambda arguments, answer: True}),  # noqa: ARG005
        paying(effects=effect("order", idempotent=True)),
        paying(effects=effect("order", when="^nothing")),
        paying(tries=1, failed_when="^Error"),
    ],
    ids=["pattern", "function", "idempotent", "when", "fixed, with a rule"],
)
def test_what_takes_effects_away_is_changed_and_not_held(today: Callable[[Run], Awaitable[object]]) -> None:
    record = record_of(paying(), LOST)

    assert replay(record, today).outcome is ReplayOutcome.CHANGED


def counting(**options: Any) -> Callable[[Run], Awaitable[object]]:
    """Return what pays again when the answer is lost, at a shop that says how often it has paid."""

    async def pays(run: Run) -> object:
        told = iter(["paid once", "paid again"])
        rules = {"pay": effect("order")}
        shop = run.service("payments", {"pay": lambda order: f"{order}: {next(told)}"}, effects=rules, **options)
        for _ in range(2):
            with contextlib.suppress(ConnectionError):
                return await shop("pay", order=7)
        return "unclear"

    return pays


def test_a_new_rule_that_matches_only_under_the_fault_is_changed_and_not_held() -> None:
    record = record_of(counting(), LOST)

    assert replay(record, counting()).outcome is ReplayOutcome.VIOLATED
    assert replay(record, counting(failed_when="again$")).outcome is ReplayOutcome.CHANGED


def test_a_fix_under_the_same_rule_is_held() -> None:
    record = record_of(paying(failed_when="^Error"), LOST)

    assert replay(record, paying(tries=1, failed_when="^Error")).outcome is ReplayOutcome.HELD
    assert replay(record, paying(failed_when="^Error")).outcome is ReplayOutcome.VIOLATED


@pytest.mark.parametrize(
    "today", [paying(tries=1), paying(tries=1, failed_when="^Err"), paying(tries=1, failed_when=[])]
)
def test_a_rule_that_is_gone_or_another_one_asks_for_a_review(today: Callable[[Run], Awaitable[object]]) -> None:
    found = replay(record_of(paying(failed_when="^Error"), LOST), today)

    assert found.outcome is ReplayOutcome.CHANGED
    assert "failed_when of service:payments, *" in found.detail


def test_a_rule_at_a_door_that_only_a_fault_opens_is_seen_too() -> None:
    record = record_of(refunding_by_another_door(), LOST)

    assert replay(record, refunding_by_another_door(failed_when=".")).outcome is ReplayOutcome.CHANGED

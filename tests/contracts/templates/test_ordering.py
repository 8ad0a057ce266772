"""`ordering` on steps in the right and in the wrong order."""

from __future__ import annotations

from chaosagent.contracts.contract import Reading
from chaosagent.contracts.templates.ordering import Ordering
from chaosagent.testing.steps import make_step, watch
from chaosagent.trace.step import Decision, Step
from chaosagent.vocabulary import Effect, Failure, Mediation, Verdict

ORDERING = Ordering(first="backup", then=("delete", "effect:disk.*"))


def said(*steps: Step, contract: Ordering = ORDERING) -> Reading:
    return watch(contract, steps)[-1]


def test_the_right_order_holds_and_the_wrong_one_is_a_violation() -> None:
    assert said(make_step(0, operation="backup"), make_step(1, operation="delete")).verdict is Verdict.HOLDS
    assert said(make_step(0, operation="delete"), make_step(1, operation="backup")).verdict is Verdict.VIOLATED


def test_without_the_second_thing_nothing_must_come_first() -> None:
    assert said(make_step(0, operation="list")).verdict is Verdict.HOLDS


def test_an_effect_can_be_what_must_come_after() -> None:
    wiped = make_step(1, operation="format", effects=[Effect("disk.wipe", {})])

    assert said(make_step(0, operation="list"), wiped).verdict is Verdict.VIOLATED


def test_a_first_thing_that_failed_does_not_count() -> None:
    failed = make_step(0, operation="backup", failure=Failure("status", "", 500))

    assert said(failed, make_step(1, operation="delete")).verdict is Verdict.VIOLATED


def test_a_second_thing_that_was_blocked_does_not_count() -> None:
    blocked = make_step(0, operation="delete", decision=Decision(Mediation.BLOCK, "no backup"))

    assert said(blocked).verdict is Verdict.HOLDS


def test_arguments_and_distance_can_be_asked_for() -> None:
    same = Ordering(first="backup", then="delete", same=("disk",))
    near = Ordering(first="backup", then="delete", steps=1)
    steps = [
        make_step(0, operation="backup", arguments={"disk": "a"}),
        make_step(1, operation="list"),
        make_step(2, operation="delete", arguments={"disk": "b"}),
    ]

    assert said(*steps).verdict is Verdict.HOLDS
    assert said(*steps, contract=same).verdict is Verdict.VIOLATED
    assert said(*steps, contract=near).verdict is Verdict.VIOLATED

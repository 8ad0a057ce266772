"""`verify-before-acting` with and without a verification in time."""

from __future__ import annotations

from chaosagent.contracts.templates.verify_before_acting import VerifyBeforeActing
from chaosagent.testing.steps import make_note, make_step, watch
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Effect, Failure, Verdict


def check(index: int, order: int = 7, failure: Failure | None = None) -> Step:
    return make_step(index, "service:orders", "check", role="verifier", arguments={"order": order}, failure=failure)


def pay(index: int, order: int = 7) -> Step:
    effects = [Effect("payments.refund", {"order": order})]
    return make_step(index, "service:payments", "refund", arguments={"order": order}, effects=effects)


def other(index: int) -> Step:
    return make_step(index, "service:kb", "search", role="planner")


def test_an_action_after_a_verification_in_the_window_holds() -> None:
    readings = watch(VerifyBeforeActing(steps=2), [check(0), other(1), pay(2)])

    assert (readings[-1].verdict, readings[-1].margin) == (Verdict.HOLDS, 0.5)


def test_an_action_without_verification_is_a_violation() -> None:
    last = watch(VerifyBeforeActing(steps=2), [other(0), pay(1), check(2)])[-1]

    assert last.verdict is Verdict.VIOLATED
    assert "refund" in last.reason
    assert "was not preceded by role:verifier in the 2 steps before" in last.reason


def test_an_old_verification_does_not_count() -> None:
    steps = [check(0), other(1), other(2), pay(3)]

    assert watch(VerifyBeforeActing(steps=2), steps)[-1].verdict is Verdict.VIOLATED
    assert watch(VerifyBeforeActing(steps=3), steps)[-1].verdict is Verdict.HOLDS


def test_a_verification_that_failed_does_not_count() -> None:
    steps = [check(0, failure=Failure("timeout", "")), pay(1)]

    assert watch(VerifyBeforeActing(), steps)[-1].verdict is Verdict.VIOLATED


def test_the_verification_must_be_about_the_same_thing_when_that_is_asked() -> None:
    contract = VerifyBeforeActing(same="order")

    assert watch(contract, [check(0, 7), check(1, 8), pay(2, 7)])[-1].verdict is Verdict.HOLDS
    assert watch(contract, [check(0, 8), pay(1, 7)])[-1].verdict is Verdict.VIOLATED
    assert watch(VerifyBeforeActing(), [check(0, 8), pay(1, 7)])[-1].verdict is Verdict.HOLDS


def test_action_and_verifier_can_be_named_by_pattern() -> None:
    contract = VerifyBeforeActing(action="kb.search", verifier=("note:verified", "orders.check"))

    assert watch(contract, [make_note(0, "verified"), other(1)])[-1].verdict is Verdict.HOLDS
    assert watch(contract, [check(0), other(1)])[-1].verdict is Verdict.HOLDS
    assert watch(contract, [pay(0), other(1)])[-1].verdict is Verdict.VIOLATED

"""Step patterns mean the steps that their table says."""

from __future__ import annotations

import pytest

from chaosagent.contracts.pattern import KNOWN_MAX, StepPattern, answered, step_pattern
from chaosagent.errors import UsageError
from chaosagent.testing.steps import make_note, make_step
from chaosagent.trace.step import Decision, Step, StepKind
from chaosagent.vocabulary import Effect, Failure, Impact, Mediation

REFUND = make_step(0, "service:payments", "refund", agent="acts", role="actor")
PAID = make_step(0, "service:payments", "refund", effects=[Effect("payments.refund", {})])
TICKET = make_step(0, "service:desk", "open", effects=[Effect("desk.open", {}, Impact.COMPENSATING)])
WRITE = make_step(0, "memory:shared", "write", agent="reader", role="reader")
NOTE = make_note(0, "detected")


@pytest.mark.parametrize(
    ("text", "step", "meant"),
    [
        ("refund", REFUND, True),
        ("re*", REFUND, True),
        ("refunds", REFUND, False),
        ("payments.refund", REFUND, True),
        ("payments.*", WRITE, False),
        ("service:payments.refund", REFUND, True),
        ("memory:*.write", WRITE, True),
        ("service:*", WRITE, False),
        ("role:actor", REFUND, True),
        ("role:actor", WRITE, False),
        ("agent:read*", WRITE, True),
        ("effect:payments.*", PAID, True),
        ("effect:payments.*", REFUND, False),
        ("effect:*", TICKET, False),
        ("note:detected", NOTE, True),
        ("note:*", REFUND, False),
        ("*", NOTE, False),
        ("detected", NOTE, False),
        ("role:*", NOTE, False),
    ],
)
def test_a_pattern_means_the_steps_that_the_table_says(text: str, step: Step, meant: bool) -> None:
    assert step_pattern((text,))(step) is meant


def test_one_of_several_patterns_is_enough_and_none_means_no_step() -> None:
    assert step_pattern(("write", "refund"))(REFUND)
    assert not step_pattern(())(REFUND)


def test_a_blocked_action_and_a_late_step_are_no_actions() -> None:
    blocked = make_step(0, "service:payments", "refund", decision=Decision(Mediation.BLOCK, "no"))
    late = make_step(0, "service:payments", "refund", kind=StepKind.LATE, effects=PAID.effects)

    assert not step_pattern(("refund",))(blocked)
    assert not step_pattern(("refund",))(late)
    assert step_pattern(("effect:payments.refund",))(late)


def test_only_an_answer_without_failure_counts_as_answered() -> None:
    is_answered = answered(step_pattern(("refund",)))
    failed = make_step(0, "service:payments", "refund", failure=Failure("timeout", ""))
    cancelled = make_step(0, "service:payments", "refund", kind=StepKind.CANCELLED)

    assert [is_answered(step) for step in (REFUND, failed, cancelled, WRITE)] == [True, False, False, False]


def test_what_a_pattern_learned_of_operations_has_a_limit() -> None:
    pattern = StepPattern(("op1*",))

    for index in range(2 * KNOWN_MAX):
        assert pattern(make_step(0, "service:tool", f"op{index}")) is str(index).startswith("1")

    assert sum(len(known) for known in pattern._known.values()) <= KNOWN_MAX


@pytest.mark.parametrize("text", ["", "effect:", "service:", "srvice:payments.refund"])
def test_a_pattern_that_can_mean_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="step pattern"):
        StepPattern((text,))

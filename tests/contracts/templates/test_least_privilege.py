"""`least-privilege`: what agents may and may not do."""

from __future__ import annotations

import pytest

from chaosagent.contracts.templates.least_privilege import LeastPrivilege
from chaosagent.testing.steps import make_note, make_step, watch
from chaosagent.trace.step import Decision, Step
from chaosagent.vocabulary import Mediation, Verdict

CONTRACT = LeastPrivilege(
    allowed={"reader": ("orders.get_*", "memory:shared.read"), "payer": "payments.*"},
    parameters={"payments.refund": {"currency": ("EUR", "CHF")}},
)


def act(agent: str, interface: str, operation: str, **arguments: str) -> Step:
    return make_step(0, interface, operation, agent=agent, arguments=arguments)


@pytest.mark.parametrize(
    "step",
    [
        act("reader", "service:orders", "get_order"),
        act("reader", "memory:shared", "read"),
        act("reader", "model:small", "complete"),
        act("reader", "prompt:inbox", "read"),
        act("payer", "service:payments", "refund", currency="CHF"),
        act("payer", "service:payments", "status"),
        act("stranger", "service:orders", "delete"),
        make_step(0, "service:orders", "delete", agent="reader", decision=Decision(Mediation.BLOCK, "no")),
        make_note(0, "delete"),
    ],
)
def test_what_is_allowed_and_what_was_blocked_hold(step: Step) -> None:
    assert watch(CONTRACT, [step])[-1].verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (act("reader", "service:orders", "delete"), "reader may not delete at service:orders"),
        (act("reader", "memory:shared", "write"), "reader may not write at memory:shared"),
        (act("payer", "service:orders", "get_order"), "payer may not get_order at service:orders"),
        (
            act("payer", "service:payments", "refund", currency="USD"),
            "refund at service:payments with currency='USD'; allowed are 'EUR', 'CHF'",
        ),
        (
            act("stranger", "service:payments", "refund"),
            "refund at service:payments with currency=None; allowed are 'EUR', 'CHF'",
        ),
    ],
)
def test_what_is_not_allowed_is_a_violation_that_says_who_did_what(step: Step, reason: str) -> None:
    last = watch(CONTRACT, [step])[-1]

    assert (last.verdict, last.reason) == (Verdict.VIOLATED, reason)


def test_agents_that_are_not_named_can_be_held_to_nothing() -> None:
    strict = LeastPrivilege(allowed={"reader": "*"}, others="nothing")

    assert watch(strict, [act("reader", "service:orders", "delete")])[-1].verdict is Verdict.HOLDS
    assert watch(strict, [act("stranger", "service:orders", "get")])[-1].verdict is Verdict.VIOLATED
    assert watch(strict, [act("stranger", "model:small", "complete")])[-1].verdict is Verdict.HOLDS

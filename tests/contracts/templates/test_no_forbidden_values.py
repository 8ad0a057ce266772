"""`no-forbidden-values` in the arguments of actions."""

from __future__ import annotations

import pytest

from chaosagent.contracts.templates.no_forbidden_values import NoForbiddenValues
from chaosagent.testing.steps import make_setting, make_step, watch
from chaosagent.trace.step import Decision, Step
from chaosagent.vocabulary import Labels, Mediation, Verdict

SETTING = make_setting(labels=Labels(forbidden=("DE00 1234", "")))
ACCOUNT = {"to": {"account": "IBAN DE00 1234 5678"}}


def test_a_forbidden_value_in_an_action_is_a_violation() -> None:
    last = watch(NoForbiddenValues(), [make_step(0, "service:bank", "pay", arguments=ACCOUNT)], setting=SETTING)[-1]

    assert (last.verdict, last.reason) == (
        Verdict.VIOLATED,
        "pay at service:bank carries the forbidden value 'DE00 1234'",
    )


@pytest.mark.parametrize(
    "step",
    [
        make_step(0, "service:bank", "pay", arguments={"to": "DE99"}),
        make_step(0, "service:bank", "pay", arguments=ACCOUNT, decision=Decision(Mediation.BLOCK, "no")),
        make_step(0, "memory:shared", "write", arguments=ACCOUNT),
        make_step(0, "service:bank", "read", answer=ACCOUNT),
    ],
)
def test_what_is_read_kept_inside_or_blocked_holds(step: Step) -> None:
    assert watch(NoForbiddenValues(), [step], setting=SETTING)[-1].verdict is Verdict.HOLDS

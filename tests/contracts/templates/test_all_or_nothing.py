"""`all-or-nothing` on work that is done, half done, undone and handed over."""

from __future__ import annotations

import pytest

from chaosagent.contracts.contract import Reading
from chaosagent.contracts.templates.all_or_nothing import AllOrNothing
from chaosagent.testing.steps import make_end, make_setting, make_step, watch
from chaosagent.vocabulary import Effect, Ending, Impact, Outcome, Verdict

PAY, MAIL, CLOSE = Effect("pay", {"order": 7}), Effect("mail", {"to": "c"}), Effect("close", {"ticket": 1})
ESCALATE = Effect("desk.open", {}, Impact.COMPENSATING)
NOTE = Effect("log", {}, Impact.HARMLESS)
EXTRA = Effect("pay", {"order": 8})


def said(effects: list[Effect], nominal: list[Effect] | None, ending: Ending = Ending.FINISHED) -> Reading:
    steps = [make_step(index, effects=[effect]) for index, effect in enumerate(effects)]
    return watch(AllOrNothing(), steps, make_end(ending, Outcome(refused=True)), make_setting(nominal))[-1]


@pytest.mark.parametrize(
    "effects",
    [
        [PAY, MAIL, CLOSE],
        [CLOSE, PAY, NOTE, MAIL],
        [PAY, PAY, MAIL, CLOSE],
        [],
        [NOTE],
        [ESCALATE],
        [EXTRA],
        [PAY, ESCALATE],
        [PAY, MAIL, ESCALATE, NOTE],
    ],
)
def test_all_none_and_a_safe_stop_hold(effects: list[Effect]) -> None:
    assert said(effects, [PAY, MAIL, CLOSE, ESCALATE]).verdict is Verdict.HOLDS


@pytest.mark.parametrize("effects", [[PAY], [PAY, PAY, PAY], [MAIL, EXTRA], [ESCALATE, PAY], [PAY, ESCALATE, MAIL]])
def test_half_done_work_that_nobody_takes_over_is_a_violation(effects: list[Effect]) -> None:
    assert said(effects, [PAY, MAIL, CLOSE]).verdict is Verdict.VIOLATED


def test_the_reason_names_what_is_missing_and_the_margin_its_share() -> None:
    last = said([PAY], [PAY, MAIL, CLOSE], Ending.CRASHED)

    assert last.margin == pytest.approx(-2 / 3)
    assert last.reason == (
        "half done: 1 of 3 effects committed, close(ticket=1) and 1 more is missing (the run ended with crashed)"
    )


def test_work_that_the_nominal_run_does_twice_is_half_done_after_once() -> None:
    assert said([PAY], [PAY, PAY]).verdict is Verdict.VIOLATED
    assert said([PAY, PAY], [PAY, PAY]).verdict is Verdict.HOLDS


def test_the_nominal_run_itself_holds() -> None:
    assert said([PAY], None).verdict is Verdict.HOLDS

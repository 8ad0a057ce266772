"""`at-most-once` against the ledger of a nominal run."""

from __future__ import annotations

from chaosagent.contracts.contract import Reading
from chaosagent.contracts.templates.at_most_once import AtMostOnce
from chaosagent.testing.steps import make_setting, make_step, watch
from chaosagent.vocabulary import Effect, Impact, Verdict

PAY = Effect("payments.refund", {"order": 7})
OTHER = Effect("payments.refund", {"order": 8})
TICKET = Effect("desk.open", {}, Impact.COMPENSATING)


def said(effects: list[Effect], nominal: list[Effect] | None) -> Reading:
    steps = [make_step(index, effects=[effect]) for index, effect in enumerate(effects)]
    return watch(AtMostOnce(), steps, setting=make_setting(nominal))[-1]


def test_effects_of_different_identity_hold() -> None:
    assert said([PAY, OTHER], [PAY]).verdict is Verdict.HOLDS


def test_the_second_commit_is_a_violation_that_counts() -> None:
    last = said([PAY, OTHER, PAY], [PAY])

    assert last.verdict is Verdict.VIOLATED
    assert last.reason == "payments.refund(order=7) was committed 2 times; 1 is right"


def test_an_effect_that_the_nominal_run_does_not_know_is_allowed_once() -> None:
    assert said([OTHER], [PAY]).verdict is Verdict.HOLDS
    assert said([OTHER, OTHER], [PAY]).verdict is Verdict.VIOLATED


def test_as_often_as_the_nominal_run_is_allowed() -> None:
    assert said([PAY, PAY], [PAY, PAY]).verdict is Verdict.HOLDS
    assert said([PAY, PAY, PAY], [PAY, PAY]).verdict is Verdict.VIOLATED


def test_two_commits_in_one_step_are_two() -> None:
    steps = [make_step(0, effects=[PAY, PAY])]

    assert watch(AtMostOnce(), steps, setting=make_setting([PAY]))[-1].verdict is Verdict.VIOLATED


def test_a_compensating_effect_may_be_repeated() -> None:
    assert said([TICKET, TICKET], []).verdict is Verdict.HOLDS


def test_the_nominal_run_itself_holds() -> None:
    assert said([PAY, PAY], None).verdict is Verdict.HOLDS


def test_the_margin_falls_with_every_commit_towards_the_limit() -> None:
    assert [said([], [PAY]).margin, said([PAY], [PAY]).margin] == [1.0, 0.5]
    assert said([PAY, PAY], [PAY, PAY]).margin < said([PAY], [PAY, PAY]).margin


def test_the_state_is_the_multiset_of_effects_whatever_their_order() -> None:
    one, other = AtMostOnce().monitor(make_setting()), AtMostOnce().monitor(make_setting())

    for monitor, effects in ((one, [PAY, OTHER]), (other, [OTHER, TICKET, PAY])):
        for index, effect in enumerate(effects):
            monitor.step(make_step(index, effects=[effect]))

    assert one.state() == other.state() == {PAY.key: 1, OTHER.key: 1}

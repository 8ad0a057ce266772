"""`no-extra-effects` against the ledger of a nominal run."""

from __future__ import annotations

from chaosagent.contracts.templates.no_extra_effects import NoExtraEffects
from chaosagent.testing.steps import make_setting, make_step, watch
from chaosagent.trace.step import StepKind
from chaosagent.vocabulary import Effect, Impact, Verdict

PAY = Effect("payments.refund", {"order": 7, "amount": 20})
OTHER = Effect("payments.refund", {"order": 8, "amount": 20})


def test_effects_of_the_nominal_run_hold_however_often() -> None:
    steps = [make_step(index, effects=[PAY]) for index in range(3)]

    assert watch(NoExtraEffects(), steps, setting=make_setting([PAY]))[-1].verdict is Verdict.HOLDS


def test_an_effect_of_another_identity_is_a_violation_at_its_step() -> None:
    readings = watch(
        NoExtraEffects(), [make_step(0, effects=[PAY]), make_step(1, effects=[OTHER])], setting=make_setting([PAY])
    )

    assert [reading.verdict for reading in readings] == [Verdict.VIOLATED]
    assert readings[0].reason == "payments.refund(amount=20, order=8) was committed; without faults it is not"


def test_an_effect_that_reaches_the_world_late_counts() -> None:
    late = make_step(0, kind=StepKind.LATE, effects=[OTHER])

    assert watch(NoExtraEffects(), [late], setting=make_setting([PAY]))[-1].verdict is Verdict.VIOLATED


def test_harmless_and_compensating_effects_are_allowed() -> None:
    effects = [Effect("desk.open", {}, Impact.COMPENSATING), Effect("log.write", {}, Impact.HARMLESS)]

    assert watch(NoExtraEffects(), [make_step(0, effects=effects)])[-1].verdict is Verdict.HOLDS


def test_the_nominal_run_itself_holds() -> None:
    steps = [make_step(0, effects=[OTHER])]

    assert watch(NoExtraEffects(), steps, setting=make_setting(None))[-1].verdict is Verdict.HOLDS

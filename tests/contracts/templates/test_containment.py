"""`containment` (Eq. 10): faults that are detected, mitigated and harmless, and others."""

from __future__ import annotations

import pytest

from chaosagent.contracts.contract import Reading
from chaosagent.contracts.templates.at_most_once import AtMostOnce
from chaosagent.contracts.templates.containment import Containment
from chaosagent.contracts.templates.no_crash import NoCrash
from chaosagent.testing.steps import make_end, make_note, make_setting, make_step, watch
from chaosagent.trace.step import Landed, Step
from chaosagent.vocabulary import Effect, Ending, Landing, Verdict

PAY = Effect("pay", {"order": 7})


def fault(index: int, occurrence: int = 1, landing: Landing = Landing.LANDED) -> Step:
    landed = Landed(f"service:crm[{occurrence}] service.timeout", "service.timeout", landing, "")
    return make_step(index, "service:crm", "get", occurrence=occurrence, landed=landed)


def said(*steps: Step, ending: Ending = Ending.FINISHED) -> Reading:
    contract = Containment(detected_steps=2, mitigated_steps=3, final=(AtMostOnce(), NoCrash()))
    return watch(contract, steps, make_end(ending, detail="boom"), make_setting([PAY]))[-1]


def detected(index: int, **facts: str) -> Step:
    return make_note(index, "detected", **facts)


def mitigated(index: int, **facts: str) -> Step:
    return make_note(index, "mitigated", **facts)


def test_a_fault_that_is_detected_and_mitigated_in_time_holds() -> None:
    last = said(fault(0), make_step(1), detected(2), make_step(3), make_step(4), mitigated(5))

    assert (last.verdict, last.margin) == (Verdict.HOLDS, 0.25)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ((fault(0), make_step(1), make_step(2)), "the fault at service:crm[1] was not detected within 2 steps"),
        ((fault(0),), "the run ended and the fault at service:crm[1] was not detected"),
        ((fault(0), detected(1)), "the run ended and the fault at service:crm[1] was not mitigated"),
        (
            (fault(0), detected(1), make_step(2), make_step(3), make_step(4)),
            "the fault at service:crm[1] was not mitigated within 3 steps",
        ),
        ((fault(0), mitigated(1), detected(2)), "the run ended and the fault at service:crm[1] was not mitigated"),
        ((detected(0), fault(1), make_step(2), make_step(3)), "the fault at service:crm[1] was not detected within"),
    ],
)
def test_a_fault_that_is_noticed_or_dealt_with_too_late_is_a_violation(steps: tuple[Step, ...], reason: str) -> None:
    last = said(*steps)

    assert last.verdict is Verdict.VIOLATED
    assert last.reason.startswith(reason)


def test_a_note_may_be_about_one_of_two_faults() -> None:
    both = (fault(0, 1), fault(1, 2))
    one = detected(2, hook="service:crm[1]")

    assert said(*both, one, detected(3, hook="service:crm[2]"), mitigated(4)).verdict is Verdict.HOLDS
    assert said(*both, one, mitigated(3)).reason == "the fault at service:crm[2] was not detected within 2 steps"
    assert said(*both, detected(2), mitigated(3)).verdict is Verdict.HOLDS


def test_a_late_note_on_one_fault_does_not_hide_another() -> None:
    last = said(fault(0, 1), fault(1, 2), detected(2, hook="service:crm[2]"))

    assert last.reason == "the fault at service:crm[1] was not detected within 2 steps"


def test_an_injection_that_did_not_land_is_no_fault() -> None:
    assert said(fault(0, landing=Landing.NO_CHANGE), make_step(1), make_step(2)).verdict is Verdict.HOLDS


def test_a_final_contract_that_breaks_after_a_fault_is_a_violation() -> None:
    paid = [make_step(index, effects=[PAY]) for index in (3, 4)]

    last = said(fault(0), detected(1), mitigated(2), *paid)

    assert last.verdict is Verdict.VIOLATED
    assert last.reason == "at-most-once: pay(order=7) was committed 2 times; 1 is right"


def test_a_final_contract_that_the_end_breaks_is_a_violation() -> None:
    assert said(fault(0), detected(1), mitigated(2), ending=Ending.CRASHED).reason == "no-crash: boom"


def test_without_a_fault_there_is_nothing_to_contain() -> None:
    paid = [make_step(index, effects=[PAY]) for index in (0, 1)]

    assert said(*paid, ending=Ending.CRASHED).verdict is Verdict.HOLDS


def test_the_default_contracts_are_final_unless_others_are_named() -> None:
    steps = [fault(0), detected(1), mitigated(2)]

    crashed = watch(Containment(), steps, make_end(Ending.CRASHED, detail="boom"))[-1]
    alone = watch(Containment(final=()), steps, make_end(Ending.CRASHED))[-1]

    assert crashed.reason == "no-crash: boom"
    assert alone.verdict is Verdict.HOLDS

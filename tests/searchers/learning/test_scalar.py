"""One number for a run: violations below 0 and by cost, everything else by its margin."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.searchers.learning.scalar import scalar_of
from chaosagent.trace.trace import ContractVerdict
from chaosagent.vocabulary import Verdict

CHEAP, DEAR = parse("service:crm[1] service.delay"), parse("service:crm[1] service.delay; service:crm[2] service.delay")


def told(verdict: Verdict, margin: float, *, landed: Schedule = EMPTY, unfair: bool = False) -> Evaluation:
    return Evaluation(landed, effective=landed, verdicts=(ContractVerdict("kept", verdict, margin, unfair=unfair),))


def scalar(evaluation: Evaluation) -> float:
    return scalar_of(evaluation, "kept", CostModel())


def test_the_nearer_to_a_violation_the_lower() -> None:
    held = [scalar(told(Verdict.HOLDS, margin)) for margin in (1.0, 0.4, 0.0)]

    assert held == [1.0, 0.4, 0.0]


def test_a_violation_is_below_whatever_holds_and_the_cheaper_the_lower() -> None:
    cheap, dear = (scalar(told(Verdict.VIOLATED, -0.1, landed=landed)) for landed in (CHEAP, DEAR))

    assert -1.0 < cheap < dear < 0.0


@pytest.mark.parametrize(
    "evaluation",
    [
        told(Verdict.VIOLATED, -1.0, unfair=True),
        told(Verdict.UNKNOWN, 0.0),
        replace(told(Verdict.HOLDS, 0.2), status=Status.ERROR),
        Evaluation(EMPTY),
    ],
)
def test_what_tells_nothing_of_the_contract_is_as_far_from_a_violation_as_can_be(evaluation: Evaluation) -> None:
    assert scalar(evaluation) == 1.0

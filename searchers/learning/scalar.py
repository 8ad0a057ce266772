"""One number for a run, for searchers that climb: how near it came to a violation, and how cheap the violation is."""

from __future__ import annotations

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.operator import CostModel
from chaosagent.searchers.seen.pool import margin_of
from chaosagent.study.shrinking.minimise import violates


def scalar_of(evaluation: Evaluation, contract: str, model: CostModel) -> float:
    """Return a number in [-1, 1] that is the lower the better a schedule is.

    Without a fair violation it is the margin, from 0 to 1. With one it is -1 / (1 + c), where c is the cost (Eq. 8) of
    what landed: below 0, and lower for cheaper violations.
    """
    if violates(evaluation, contract):
        return -1.0 / (1.0 + evaluation.effective.declared_cost(model))
    return max(0.0, margin_of(evaluation, contract))

"""What a search keeps of one run that it had made."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import Schedule
from chaosagent.study.searcher import Purpose


@dataclass(frozen=True, slots=True)
class Trial:
    """One schedule run once for one search.

    Attributes:
        number: Place among the trials of the search, from 0.
        schedule: What was injected; where a policy chose, what it chose.
        purpose: Why.
        evaluation: What it told.
    """

    number: int
    schedule: Schedule
    purpose: Purpose
    evaluation: Evaluation

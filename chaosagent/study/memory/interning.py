"""Interning of crossings and schedules: equal ones of all runs share one object."""

from __future__ import annotations

from chaosagent.faults.dry import RecordedCrossing
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import Schedule

CROSSINGS_MAX = 16_384
"""How many different crossings are shared; then sharing begins anew."""


class Interning:
    """Puts one crossing, and one schedule, in place of all that are equal to it.

    This lowers the memory that the runs take which a study keeps there. What is the same object is also found
    sooner by searchers, which look crossings and schedules up dozens of times a trial.
    """

    def __init__(self) -> None:
        self._crossings: dict[RecordedCrossing, RecordedCrossing] = {}

    def share(self, schedule: Schedule, evaluation: Evaluation) -> None:
        """Put what is known in place of what is equal to it in an evaluation; its value stays the same.

        Args:
            schedule: As it was asked for.
            evaluation: What it told.
        """
        known = self._crossings
        if len(known) >= CROSSINGS_MAX:
            known.clear()
        crossings = tuple([known.setdefault(crossing, crossing) for crossing in evaluation.crossings])
        # A copy would cost more than a searcher's whole trial; nothing but `is` can tell that the parts are others.
        object.__setattr__(evaluation, "crossings", crossings)
        if evaluation.schedule == schedule:
            object.__setattr__(evaluation, "schedule", schedule)
        if evaluation.effective == schedule:
            object.__setattr__(evaluation, "effective", schedule)

    def forget(self) -> None:
        """Begin anew."""
        self._crossings.clear()

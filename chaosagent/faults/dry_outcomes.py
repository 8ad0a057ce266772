"""What operators would do to recorded crossings, found once for all searches that are told the same run."""

from __future__ import annotations

from collections.abc import Callable

from chaosagent.faults.dry import DryOutcome, RecordedCrossing, RecordedHistory, apply_dry
from chaosagent.faults.operator import Operator

OUTCOMES_MAX = 100_000
"""How many outcomes, and crossings, are remembered; then all are forgotten."""


class DryOutcomes:
    """Applies operators dry, and remembers what comes of those that look at nothing but their crossing.

    An outcome holds instants of its run, and is compared with others of the same crossing: so what is remembered is
    found by the whole crossing, and not only by its content.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, bool, RecordedCrossing], dict[Operator, DryOutcome]] = {}
        self._count = 0

    def at(
        self, crossing: RecordedCrossing, history: RecordedHistory, seed: int, *, history_matters: bool
    ) -> Callable[[Operator], DryOutcome]:
        """Return what tells of each operator what it would do to a crossing; the arguments are those of `apply_dry`."""
        if self._count + len(self._known) >= OUTCOMES_MAX:
            self._known.clear()
            self._count = 0
        known = self._known.setdefault((seed, history_matters, crossing), {})

        def outcome_of(operator: Operator) -> DryOutcome:
            found = known.get(operator)
            if found is None:
                found = apply_dry(operator, crossing, history, seed, history_matters=history_matters)
                if not found.reads_history:
                    known[operator] = found
                    self._count += 1
            return found

        return outcome_of

"""A cache of dry applications, shared by all searches of a study."""

from __future__ import annotations

from collections.abc import Callable

from chaosagent.faults.dry import DryOutcome, RecordedCrossing, RecordedHistory, apply_dry
from chaosagent.faults.operator import Operator

OUTCOMES_MAX = 100_000
"""How many outcomes and crossings the cache holds; when it is full, it is emptied."""


class DryOutcomes:
    """Applies operators dry, and caches every outcome that does not depend on the history of an interface.

    An outcome contains times of its run and is compared with others at the same crossing. So the key is the whole
    crossing, times included, and not only its content.

    Args:
        history_matters: Some operator of the space reads history; see `apply_dry`.
    """

    def __init__(self, *, history_matters: bool) -> None:
        self._history_matters = history_matters
        self._known: dict[tuple[int, RecordedCrossing], dict[Operator, DryOutcome]] = {}
        self._count = 0

    def at(self, crossing: RecordedCrossing, history: RecordedHistory, seed: int) -> Callable[[Operator], DryOutcome]:
        """Return a function that applies an operator dry to a crossing; the arguments are those of `apply_dry`."""
        if self._count + len(self._known) >= OUTCOMES_MAX:
            self._known.clear()
            self._count = 0
        known = self._known.setdefault((seed, crossing), {})

        def outcome_of(operator: Operator) -> DryOutcome:
            found = known.get(operator)
            if found is None:
                found = apply_dry(operator, crossing, history, seed, history_matters=self._history_matters)
                if not found.reads_history:
                    known[operator] = found
                    self._count += 1
            return found

        return outcome_of

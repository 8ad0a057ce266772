"""When an injection would begin to act in an executed run, found by dry application.

Rules R1 and R3 order injections by it. What decides it is the content of the crossing and, for operators that look at
it, the history of the interface; so most of what is asked was asked before.
"""

from __future__ import annotations

from chaosagent.faults.dry import Deviation, RecordedCrossing, RecordedHistory, apply_dry
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Injection

KNOWN_MAX = 20_000
"""How many are remembered; then all are forgotten."""


class Deviations:
    """Finds deviations, and remembers those that no history decides.

    Args:
        seed: Of the runs.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._known: dict[tuple[object, ...], Deviation] = {}

    def of(self, injection: Injection, crossing: RecordedCrossing, run: Evaluation) -> Deviation:
        """Return when an injection begins to act at a crossing of a run.

        Args:
            injection: Whatever its hook is.
            crossing: One of the run's.
            run: In which nothing else acts at that crossing.
        """
        key = (injection, crossing.place, crossing[2:5], crossing.read_only)  # request, response, earlier
        known = self._known.get(key)
        if known is None:
            interface = crossing.place.interface
            history = RecordedHistory(one for one in run.crossings if one.place.interface == interface)
            found = apply_dry(injection.operator, crossing, history, self._seed)
            known = found.deviation
            if not found.reads_history:
                if len(self._known) >= KNOWN_MAX:
                    self._known.clear()
                self._known[key] = known
        return known

"""Robust up to the budget: seven services, each asked twice, and one default too many only with four faults."""

from __future__ import annotations

from chaosagent.experiments.benchmarks.planted.desk import Desk, finished, shapes_for
from chaosagent.experiments.benchmarks.planted.family import Layout, Planted, tries
from chaosagent.experiments.benchmarks.planted.levels import fourteen, space
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

ATTEMPTS = 2
DEFAULTS = 2


def robust(layout: Layout) -> Planted:
    """Return the target of a layout."""
    names = layout.names(7)

    @target(name="planted-robust")
    async def agent(task: Task, run: Run) -> Outcome:
        """Asks seven services; one of them may be missing."""
        del task
        desk = Desk(run, checkpoints=layout.checkpoints)
        desk.open(shapes_for(names, []))
        missing = 0
        for name in names:
            missing += await desk.fetch(name, attempts=ATTEMPTS) is None
            desk.rest(name, missing)
        return finished(max(0.0, 1.0 - missing / DEFAULTS))

    places = tuple(hook for name in names for hook in tries(name, ATTEMPTS))
    return Planted(agent, space(*fourteen()), places, (), budget=2.3)

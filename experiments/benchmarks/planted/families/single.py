"""One fault is enough: seven services, one of which may answer with a list that is too short.

The agent asks each up to three times and stops when one does not answer. It checks every answer except that it takes
a list of one service for complete at any length. So the last item of that list, lost, is enough.
"""

from __future__ import annotations

from chaosagent.experiments.benchmarks.planted.desk import ANY_LIST, Desk, complete, finished, shapes_for, stopped
from chaosagent.experiments.benchmarks.planted.family import Layout, Planted, tries
from chaosagent.experiments.benchmarks.planted.levels import LAST_LOST, fourteen, space
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

ATTEMPTS = 3


def single(layout: Layout) -> Planted:
    """Return the target of a layout."""
    names = layout.names(7)
    weak = layout.pick(names)

    @target(name="planted-single")
    async def agent(task: Task, run: Run) -> Outcome:
        """Collects what seven services know."""
        del task
        desk = Desk(run, checkpoints=layout.checkpoints)
        desk.open(shapes_for(names, [weak]))
        lost = 0
        for name in names:
            answer = await desk.fetch(name, attempts=ATTEMPTS, accepts=ANY_LIST if name == weak else complete)
            if answer is None:
                return stopped(f"{name} does not answer")
            lost = answer.lost if name == weak else lost
            desk.rest(name, lost > 0)
        return finished(0.0 if lost else 1.0)

    places = tuple(hook for name in names for hook in tries(name, ATTEMPTS))
    return Planted(agent, space(*fourteen()), places, (parse(f"service:{weak}[1] {LAST_LOST}"),), budget=3.0)

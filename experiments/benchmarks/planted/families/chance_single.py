"""One fault that is enough three times in ten: the single family, with a model that decides at the end.

Where the list is short, the model goes on all the same with probability 0.3. Where it is not, it goes wrong with
probability 0.02. Its prompt holds how often services were asked, so that a fault that changes nothing else asks it
another question.
"""

from __future__ import annotations

from chaosagent.experiments.benchmarks.planted.desk import ANY_LIST, Desk, complete, finished, shapes_for, stopped
from chaosagent.experiments.benchmarks.planted.family import Judge, Layout, Planted, tries
from chaosagent.experiments.benchmarks.planted.levels import LAST_LOST, fourteen, space
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

ATTEMPTS = 3


def chance_single(layout: Layout) -> Planted:
    """Return the target of a layout."""
    names = layout.names(7)
    weak = layout.pick(names)
    judge = Judge(layout.chance)

    @target(name="planted-chance-single")
    async def agent(task: Task, run: Run) -> Outcome:
        """Collects what seven services know, and asks a model whether to go on."""
        del task
        desk = Desk(run, checkpoints=layout.checkpoints)
        desk.open(shapes_for(names, [weak]))
        model = run.model("judge", judge)
        lost = 0
        for name in names:
            answer = await desk.fetch(name, attempts=ATTEMPTS, accepts=ANY_LIST if name == weak else complete)
            if answer is None:
                return stopped(f"{name} does not answer")
            lost = answer.lost if name == weak else lost
            desk.rest(name, lost > 0, desk.attempts)
        decided = await model("ask", astray=lost > 0, attempts=desk.attempts)
        return finished(0.0 if decided["wrong"] else 1.0)

    places = tuple(hook for name in names for hook in tries(name, ATTEMPTS))
    minimum = parse(f"service:{weak}[1] {LAST_LOST}")
    return Planted(agent, space(*fourteen()), places, (minimum,), budget=2.0, stochastic=True)

"""Two faults that are enough three times in ten, in a small space.

Seven services are asked once. Where two of the lists are short, a model goes on all the same with probability 0.3; it
goes wrong with probability 0.02 otherwise. Its prompt holds how many services had nothing usable to say.
"""

from __future__ import annotations

from chaosagent.canonical import Plain
from chaosagent.experiments.benchmarks.planted.desk import ANY_LIST, Desk, complete, finished, shapes_for
from chaosagent.experiments.benchmarks.planted.family import Judge, Layout, Planted, tries
from chaosagent.experiments.benchmarks.planted.levels import LAST_LOST, five, space
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task


def chance_pair(layout: Layout) -> Planted:
    """Return the target of a layout."""
    names = layout.names(7)
    weak = layout.sample(names, 2)
    judge = Judge(layout.chance)

    @target(name="planted-chance-pair")
    async def agent(task: Task, run: Run) -> Outcome:
        """Asks seven services, and a model whether what they say will do."""
        del task
        desk = Desk(run, checkpoints=layout.checkpoints)
        desk.open(shapes_for(names, weak))
        model = run.model("judge", judge)
        short: list[str] = []
        silent = 0
        for name in names:
            answer = await desk.fetch(name, accepts=ANY_LIST if name in weak else complete)
            silent += answer is None
            if answer is not None and name in weak and answer.lost:
                short.append(name)
            desk.rest(name, list[Plain](short), silent)
        decided = await model("ask", astray=len(short) == 2, short=short, silent=silent)
        return finished(0.0 if decided["wrong"] else 1.0)

    places = tuple(hook for name in names for hook in tries(name, 1))
    minimum = parse("; ".join(f"service:{name}[1] {LAST_LOST}" for name in weak))
    return Planted(agent, space(*five()), places, (minimum,), budget=2.2, stochastic=True)

"""A pair in a wide space: forty services, eight operators, and two answers that must both be short by two items."""

from __future__ import annotations

from chaosagent.canonical import Plain
from chaosagent.experiments.benchmarks.planted.desk import ITEMS, Desk, complete, finished, halves, losing, shapes_for
from chaosagent.experiments.benchmarks.planted.family import Layout, Planted, tries
from chaosagent.experiments.benchmarks.planted.levels import SOME_LOST, fourteen, space
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

MANY = losing(at_least=2, at_most=ITEMS)


def sparse(layout: Layout) -> Planted:
    """Return the target of a layout."""
    names = layout.names(40)
    weak = layout.sample(names, 2)

    @target(name="planted-sparse")
    async def agent(task: Task, run: Run) -> Outcome:
        """Asks forty services, and takes a default where one says nothing usable."""
        del task
        desk = Desk(run, checkpoints=layout.checkpoints)
        desk.open(shapes_for(names, weak))
        short: list[str] = []
        for name in names:
            answer = await desk.fetch(name, accepts=MANY if name in weak else complete)
            if answer is not None and name in weak and answer.lost:
                short.append(name)
            desk.rest(name, list[Plain](short))
        return finished(halves(*(name in short for name in weak)))

    places = tuple(hook for name in names for hook in tries(name, 1))
    minimum = parse("; ".join(f"service:{name}[1] {SOME_LOST}" for name in weak))
    return Planted(agent, space(*fourteen()), places, (minimum,), budget=3.0)

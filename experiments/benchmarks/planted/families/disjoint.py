"""Two weaknesses that have nothing in common and cost the same: a list of independent findings, not one forty times."""

from __future__ import annotations

from chaosagent.canonical import Plain
from chaosagent.experiments.benchmarks.planted.desk import (
    ANY_LIST,
    Desk,
    complete,
    finished,
    halves,
    shapes_for,
    stopped,
)
from chaosagent.experiments.benchmarks.planted.family import Layout, Planted, tries
from chaosagent.experiments.benchmarks.planted.levels import LAST_LOST, fourteen, space
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

ATTEMPTS = 2


def disjoint(layout: Layout) -> Planted:
    """Return the target of a layout."""
    names = layout.names(8)
    weak = layout.sample(names, 4)
    pairs = (weak[:2], weak[2:])

    @target(name="planted-disjoint")
    async def agent(task: Task, run: Run) -> Outcome:
        """Checks two sums, each over two lists."""
        del task
        desk = Desk(run, checkpoints=layout.checkpoints)
        desk.open(shapes_for(names, weak))
        short: list[str] = []
        for name in names:
            answer = await desk.fetch(name, attempts=ATTEMPTS, accepts=ANY_LIST if name in weak else complete)
            if answer is None:
                return stopped(f"{name} does not answer")
            if name in weak and answer.lost:
                short.append(name)
            desk.rest(name, list[Plain](short))
        return finished(min(halves(*(name in short for name in pair)) for pair in pairs))

    places = tuple(hook for name in names for hook in tries(name, ATTEMPTS))
    minima = tuple(parse("; ".join(f"service:{name}[1] {LAST_LOST}" for name in pair)) for pair in pairs)
    return Planted(agent, space(*fourteen()), places, minima, budget=3.0)

"""Stages: the second place to fail exists only after the first fault, and the third only after the second.

Of five services one may answer with a short list; then the agent asks an archive for the rest, and where that is short
too, a desk. What the desk says is believed, unless it is almost right. Of the other four services one has a backup,
which leads nowhere, and three are asked twice.
"""

from __future__ import annotations

from chaosagent.experiments.benchmarks.planted.desk import (
    ANY_LIST,
    ITEMS,
    Desk,
    complete,
    finished,
    losing,
    shapes_for,
    stopped,
)
from chaosagent.experiments.benchmarks.planted.family import Layout, Planted, tries
from chaosagent.experiments.benchmarks.planted.levels import LAST_LOST, SOME_LOST, fourteen, space
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

ATTEMPTS = 2
MANY = losing(at_least=2, at_most=ITEMS)


def staged(layout: Layout) -> Planted:
    """Return the target of a layout."""
    *names, archive, clerk, backup = layout.names(8)
    weak, backed = layout.sample(names, 2)
    attempts = dict.fromkeys(names, ATTEMPTS) | {weak: 1, backed: 1}

    @target(name="planted-staged")
    async def agent(task: Task, run: Run) -> Outcome:
        """Asks five services, and others about what those leave open."""
        del task
        desk = Desk(run, checkpoints=layout.checkpoints)
        desk.open(shapes_for(names, [weak]) | {archive: "list", clerk: "list", backup: "level"})
        wrong = False
        for name in names:
            answer = await desk.fetch(name, attempts=attempts[name], accepts=ANY_LIST if name == weak else complete)
            if answer is None and (name != backed or await desk.fetch(backup) is None):
                return stopped(f"{name} does not answer")
            if answer is not None and name == weak and answer.lost:
                desk.rest("a list is short")
                filed = await desk.fetch(archive, attempts=ATTEMPTS, accepts=ANY_LIST)
                if filed is not None and filed.lost:
                    desk.rest("the archive is short")
                    told = await desk.fetch(clerk, attempts=ATTEMPTS, accepts=MANY)
                    wrong = told is not None and told.lost > 0
            desk.rest(name, wrong)
        return finished(0.0 if wrong else 1.0)

    places = (
        *(hook for name in names for hook in tries(name, attempts[name])),
        *tries(backup, 1),
        *tries(archive, ATTEMPTS),
        *tries(clerk, ATTEMPTS),
    )
    minimum = parse(f"service:{weak}[1] {LAST_LOST}; service:{archive}[1] {LAST_LOST}; service:{clerk}[1] {SOME_LOST}")
    return Planted(agent, space(*fourteen()), places, (minimum,), budget=4.0)

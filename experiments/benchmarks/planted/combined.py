"""The planted families as the tasks of one target, so that one study searches them all; see `combined.yaml`."""

from __future__ import annotations

from chaosagent.experiments.benchmarks.planted.catalogue import FAMILIES
from chaosagent.experiments.benchmarks.planted.family import Planted
from chaosagent.experiments.benchmarks.planted.levels import fourteen, space
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

LAYOUTS = 3
SPACE = space(*fourteen())


def _alike() -> dict[str, Planted]:
    """Return what shares one space and answers the same each time: a study has one space, and is stochastic or not."""
    planted = {
        f"{name}-{layout}": family.planted(layout) for name, family in FAMILIES.items() for layout in range(LAYOUTS)
    }
    return {task: one for task, one in planted.items() if one.space.digest == SPACE.digest and not one.stochastic}


ALIKE = _alike()
"""Layouts of families, by task."""


@target(name="planted-combined", tasks=[Task(name) for name in ALIKE])
async def combined(task: Task, run: Run) -> Outcome:
    """Is the agent of one family in one layout, by task."""
    outcome = await ALIKE[task.id].target.run(task, run)
    assert isinstance(outcome, Outcome)
    return outcome

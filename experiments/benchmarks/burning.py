"""A target for the benchmark of worker pools: its runs burn the processor for about as long as their task says."""

from __future__ import annotations

from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

TURNS = {"1 ms": 6_000, "50 ms": 300_000}
"""Turns of the loop, counted on the machine of the README."""


@target(name="burning", tasks=[Task(name, input=turns) for name, turns in TURNS.items()])
def burning(task: Task, run: Run) -> Outcome:
    """Compute, and ask one service."""
    value = 1
    for _ in range(int(str(task.input))):
        value = (value * 1_103_515_245 + 12_345) % 2_147_483_648
    keeper = run.service("keeper", {"keep": lambda number: number})
    return Outcome(str(keeper("keep", number=value)), success=True)

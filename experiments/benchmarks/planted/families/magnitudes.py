"""Thresholds in two magnitudes: an answer that comes a minute late, and another of which more than half is missing.

The agent asks nine services once. One answer outlives its cache after a minute; another is counted, and six of its ten
items must be missing before those that are left look like a list of their own.
"""

from __future__ import annotations

from chaosagent.experiments.benchmarks.planted.desk import Desk, finished, item_count, stopped
from chaosagent.experiments.benchmarks.planted.family import Layout, Planted, tries
from chaosagent.experiments.benchmarks.planted.levels import space, twenty_three
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

ITEMS = 10
STALE_SECONDS = 60.0
FEW = 6


def magnitudes(layout: Layout) -> Planted:
    """Return the target of a layout."""
    names = layout.names(9)
    slow, counted = layout.sample(names, 2)

    @target(name="planted-magnitudes")
    async def agent(task: Task, run: Run) -> Outcome:
        """Asks nine services, and goes on without those that say nothing."""
        del task
        desk = Desk(run, checkpoints=layout.checkpoints)
        desk.open(dict.fromkeys(names, "list"), items=ITEMS)
        waited, lost = 0.0, 0
        for name in names:
            answer = await desk.fetch(name, accepts=lambda value: item_count(value) >= 0)
            if answer is None and name in (slow, counted):
                return stopped(f"{name} does not answer")
            if answer is not None and name == slow:
                waited = min(answer.waited, STALE_SECONDS)
            if answer is not None and name == counted:
                lost = min(ITEMS - item_count(answer.value), FEW)
            desk.rest(name, waited, lost)
        return finished(1.0 - 0.5 * (waited / STALE_SECONDS + lost / FEW))

    places = tuple(hook for name in names for hook in tries(name, 1))
    minimum = parse(
        f"service:{slow}[1] service.delay(seconds=60.0); service:{counted}[1] service.partial_response(share=0.6)"
    )
    return Planted(agent, space(*twenty_three()), places, (minimum,), budget=3.0)

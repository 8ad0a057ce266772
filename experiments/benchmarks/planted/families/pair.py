"""Two faults at specific occurrences: one page of each of two lists, read in turns.

The agent reads six pages from each of two services and checks the length of every page but one of each. Either of
these alone is noticed when the sums are compared; where both are short the sums agree. All pages but
one may be asked for twice.
"""

from __future__ import annotations

from chaosagent.experiments.benchmarks.planted.desk import ANY_LIST, Desk, complete, finished, halves, stopped
from chaosagent.experiments.benchmarks.planted.family import Layout, Planted, tries
from chaosagent.experiments.benchmarks.planted.levels import LAST_LOST, fourteen, space
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

PAGES = 6
TWICE = 11


def pair(layout: Layout) -> Planted:
    """Return the target of a layout."""
    first, second = names = layout.names(2)
    turns = [(name, page) for page in range(1, PAGES + 1) for name in layout.sample(names, 2)]
    weak = {name: layout.rng.randint(1, PAGES) for name in names}
    twice = set(layout.sample(turns, TWICE))

    @target(name="planted-pair")
    async def agent(task: Task, run: Run) -> Outcome:
        """Compares two lists page by page."""
        del task
        desk = Desk(run, checkpoints=layout.checkpoints)
        desk.open(dict.fromkeys(names, "list"))
        short = dict.fromkeys(names, False)
        for name, page in turns:
            trusting = weak[name] == page
            attempts = 2 if (name, page) in twice else 1
            answer = await desk.fetch(name, attempts=attempts, accepts=ANY_LIST if trusting else complete)
            if answer is None:
                return stopped(f"page {page} of {name} is missing")
            short[name] = short[name] or answer.lost > 0
            desk.rest(f"{name} {page}", short[first], short[second])
        return finished(halves(*short.values()))

    places = tuple(
        hook for name, page in turns for hook in tries(name, 2 if (name, page) in twice else 1, occurrence=page)
    )
    minimum = parse("; ".join(f"service:{name}[{weak[name]}] {LAST_LOST}" for name in names))
    return Planted(agent, space(*fourteen()), places, (minimum,), budget=3.0)

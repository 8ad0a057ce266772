"""Three faults, and decoys: what lowers the margin leads nowhere, and what matters does not show.

Seven services, each asked up to three times. Of three of them the agent takes a late or a short answer without a word;
all three together are fatal. Of the other four it notices a short answer, grows more careful, and goes on: the margin
falls with each, and never to the ground.
"""

from __future__ import annotations

from chaosagent.canonical import Plain
from chaosagent.experiments.benchmarks.planted.desk import ANY_LIST, ITEMS, Desk, finished, losing, stopped
from chaosagent.experiments.benchmarks.planted.family import Layout, Planted, tries
from chaosagent.experiments.benchmarks.planted.levels import LAST_LOST, SOME_LOST, VERY_LATE, fourteen, space
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

ATTEMPTS = 3
STALE_SECONDS = 40.0
MANY = losing(at_least=2, at_most=ITEMS)
NO_LOSS = losing(at_most=0)


def triple(layout: Layout) -> Planted:
    """Return the target of a layout."""
    names = layout.names(7)
    short, shorter, stale = layout.sample(names, 3)
    checks = dict.fromkeys(names, ANY_LIST) | {shorter: MANY, stale: NO_LOSS}

    @target(name="planted-triple")
    async def agent(task: Task, run: Run) -> Outcome:
        """Asks seven services, and is wary of four of them."""
        del task
        desk = Desk(run, checkpoints=layout.checkpoints)
        desk.open(dict.fromkeys(names, "list"))
        fatal: set[str] = set()
        doubts = 0
        for name in names:
            answer = await desk.fetch(name, attempts=ATTEMPTS, accepts=checks[name])
            if answer is None:
                return stopped(f"{name} does not answer")
            odd = answer.waited >= STALE_SECONDS if name == stale else answer.lost > 0
            if odd and name in (short, shorter, stale):
                fatal.add(name)
            elif odd:
                doubts += 1
            desk.rest(name, list[Plain](sorted(fatal)), doubts)
        return finished(0.0 if len(fatal) == 3 else 1.0 - 0.2 * doubts)

    places = tuple(hook for name in names for hook in tries(name, ATTEMPTS))
    minimum = parse(f"service:{short}[1] {LAST_LOST}; service:{shorter}[1] {SOME_LOST}; service:{stale}[1] {VERY_LATE}")
    return Planted(agent, space(*fourteen()), places, (minimum,), budget=4.0)

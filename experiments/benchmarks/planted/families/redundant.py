"""Redundant derivations: three sources say the same, and only when all three are broken does the agent guess.

Each source takes six calls, in turns with the others; two of the six matter, and any of the two that is unusable breaks
the source.
"""

from __future__ import annotations

from chaosagent.experiments.benchmarks.planted.desk import Desk, finished, halves
from chaosagent.experiments.benchmarks.planted.family import Layout, Planted, tries
from chaosagent.experiments.benchmarks.planted.levels import LAST_LOST, fourteen, space
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

CALLS = 6


def redundant(layout: Layout) -> Planted:
    """Return the target of a layout."""
    names = layout.names(3)
    shapes = dict(zip(names, layout.sample(("list", "level", "text"), 3), strict=True))
    needed = {name: layout.sample(range(1, CALLS + 1), 2) for name in names}
    turns = [(name, call) for call in range(1, CALLS + 1) for name in layout.sample(names, 3)]

    @target(name="planted-redundant", provenance_complete=True)
    async def agent(task: Task, run: Run) -> Outcome:
        """Derives one fact from three sources."""
        del task
        desk = Desk(run, checkpoints=layout.checkpoints)
        desk.open(shapes)
        broken = dict.fromkeys(names, False)
        derived: dict[str, list[str]] = {name: [] for name in names}
        for name, call in turns:
            answer = await desk.fetch(name)
            broken[name] = broken[name] or (answer is None and call in needed[name])
            if call in needed[name]:
                derived[name].append(run.artifact())
            desk.rest(f"{name} {call}", dict(broken))
        for artifact in next((derived[name] for name in names if not broken[name]), []):
            run.link("outcome", "derived_from", artifact)
        return finished(halves(*broken.values()))

    places = tuple(hook for name, call in turns for hook in tries(name, 1, occurrence=call))
    minimum = parse("; ".join(f"service:{name}[{needed[name][0]}] {LAST_LOST}" for name in names))
    return Planted(agent, space(*fourteen()), places, (minimum,), budget=4.0)

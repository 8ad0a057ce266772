"""A retry mask: a call is silent for good only after four silences in a row, and each attempt before hides them.

The agent asks five services up to three times and the till up to four times, with little patience. What the till says
is believed; an error says that nothing was paid, and the agent stops; where it stays silent all four times, the agent
takes it that nothing was paid, and pays again. When a second service fails, be it once, it stops as well: a storm of
faults does no harm.
"""

from __future__ import annotations

from chaosagent.experiments.benchmarks.planted.desk import Desk, TooManyErrorsError, finished, shapes_for, stopped
from chaosagent.experiments.benchmarks.planted.family import Layout, Planted, tries
from chaosagent.experiments.benchmarks.planted.levels import LATE, fourteen, space
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, StatusError, Task

ATTEMPTS = 3
AT_THE_TILL = 4
PATIENCE_SECONDS = 0.5


def retry(layout: Layout) -> Planted:
    """Return the target of a layout."""
    names = layout.names(6)
    till = layout.pick(names)
    attempts = dict.fromkeys(names, ATTEMPTS) | {till: AT_THE_TILL}

    @target(name="planted-retry")
    async def agent(task: Task, run: Run) -> Outcome:
        """Asks six services, each again when it is slow or says nonsense."""
        del task
        desk = Desk(run, checkpoints=layout.checkpoints, wary=True)
        desk.open(shapes_for(names, []))
        silent = False
        try:
            for name in names:
                if name == till:
                    silent = not await _answers(desk, till)
                elif await desk.fetch(name, attempts=ATTEMPTS, patience=PATIENCE_SECONDS) is None:
                    return stopped(f"{name} does not answer")
                desk.rest(name, silent)
        except (TooManyErrorsError, ConnectionError, StatusError):
            return stopped("nothing works today")
        return finished(0.0 if silent else 1.0)

    places = tuple(hook for name in names for hook in tries(name, attempts[name]))
    masked = "; ".join(f"service:{till}[1{f'.{attempt}' if attempt else ''}] {LATE}" for attempt in range(AT_THE_TILL))
    return Planted(agent, space(*fourteen()), places, (parse(masked),), budget=4.5)


async def _answers(desk: Desk, till: str) -> bool:
    """Ask the till; return whether it says anything in time."""
    answer = await desk.fetch(
        till, attempts=AT_THE_TILL, accepts=lambda _: True, patience=PATIENCE_SECONDS, borne=(TimeoutError,)
    )
    return answer is not None

"""Runs of schedules that no search has asked for yet, but one probably will, for workers that have nothing else."""

from __future__ import annotations

from collections import defaultdict

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import Schedule
from chaosagent.study.task_seed import TaskSeed

KEPT_MAX = 256
"""So many results of a task and seed wait to be asked for; then the oldest is dropped."""


class Speculation:
    """Keeps what such runs told until somebody asks for it; until then nobody hears of them.

    Attributes:
        dropped: How many runs were made, and not asked for.
    """

    def __init__(self) -> None:
        self._out: dict[tuple[TaskSeed, Schedule], int] = {}
        self._tickets: dict[int, tuple[TaskSeed, Schedule]] = {}
        self._told: defaultdict[TaskSeed, dict[Schedule, Evaluation]] = defaultdict(dict)
        self.dropped = 0

    def __contains__(self, key: tuple[TaskSeed, Schedule]) -> bool:
        return key in self._out or key[1] in self._told[key[0]]

    def begin(self, key: tuple[TaskSeed, Schedule], ticket: int) -> None:
        """Note that a run was submitted."""
        self._out[key] = ticket
        self._tickets[ticket] = key

    def end(self, ticket: int, evaluation: Evaluation) -> None:
        """Note what a run told, if it is one of these and was not asked for meanwhile."""
        key = self._tickets.pop(ticket, None)
        if key is None:
            return
        del self._out[key]
        told = self._told[key[0]]
        told[key[1]] = evaluation
        if len(told) > KEPT_MAX:
            del told[next(iter(told))]
            self.dropped += 1

    def take_told(self, key: tuple[TaskSeed, Schedule]) -> Evaluation | None:
        """Hand over the result of a schedule that is requested now; `None` if its run has not ended."""
        return self._told[key[0]].pop(key[1], None)

    def take_ticket(self, key: tuple[TaskSeed, Schedule]) -> int | None:
        """Hand over the ticket of a run that is under way and requested now; `None` if there is none."""
        ticket = self._out.pop(key, None)
        if ticket is not None:
            del self._tickets[ticket]
        return ticket

    def forget(self, at: TaskSeed) -> None:
        """Drop what is kept of a task and seed, in all worlds."""
        for world in [world for world in self._told if world[:2] == at[:2]]:
            self.dropped += len(self._told.pop(world))

    def abandon(self) -> None:
        """Expect nothing of what is out any more."""
        self._out.clear()
        self._tickets.clear()

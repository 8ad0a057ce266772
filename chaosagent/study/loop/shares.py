"""Which share of the runs each task and seed gets: none waits until another is over, and none is starved."""

from __future__ import annotations

from collections.abc import Collection

from chaosagent.execution.workers.fair_queue import FairQueue
from chaosagent.faults.evaluation import Evaluation
from chaosagent.study.loop.search_group import SearchGroup
from chaosagent.study.task_seed import TaskSeed

FLOOR = 0.25
"""The least weight, where 1 is that of a task and seed with the least proved."""
MEMORY = 1 / 32
"""Weight of the last trial in the share of trials that took a new path."""
TRIALS_BETWEEN = 64
"""After so many trials, or one of each group where there are more, the shares are looked at again."""


class Shares:
    """Sets the weights of a queue.

    Those that have proved least weigh most, so that proofs grow cost level by cost level over all; a level is a whole
    unit of cost. Of the others those weigh more whose trials still take new paths. Everything depends on what was
    told, in the order in which it was.

    Args:
        queue: Shares the executor.
    """

    def __init__(self, queue: FairQueue) -> None:
        self._queue = queue
        self._paths: dict[TaskSeed, set[int]] = {}
        self._newness: dict[TaskSeed, float] = {}
        self._told = 0

    def note(self, at: TaskSeed, evaluation: Evaluation) -> None:
        """Count a trial, and whether it took a new path."""
        self._told += 1
        places = tuple([crossing.place for crossing in evaluation.crossings])
        path = hash((evaluation.ending, evaluation.success, places))
        known, newness = self._paths.setdefault(at, set()), self._newness.get(at, 1.0)
        self._newness[at] = newness + MEMORY * ((path not in known) - newness)
        known.add(path)

    def forget(self, at: TaskSeed) -> None:
        """Drop what is known of a task and seed whose searches are over."""
        self._paths.pop(at, None)
        self._newness.pop(at, None)

    def adjust(self, groups: Collection[SearchGroup]) -> None:
        """Weigh the groups that are not over, now and then."""
        if self._told < max(TRIALS_BETWEEN, len(groups)) or len(groups) < 2:
            return
        self._told = 0
        levels = {group.at: min(search.lower_bound for search in group.active) // 1.0 for group in groups}
        lowest = min(levels.values())
        for at, level in levels.items():
            weight = 1.0 if level == lowest else max(FLOOR, self._newness.get(at, 1.0))
            self._queue.weigh((at.task_id, at.seed), weight)

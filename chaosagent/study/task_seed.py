"""What a search is about, besides its contract."""

from __future__ import annotations

from typing import NamedTuple


class TaskSeed(NamedTuple):
    """A task and a seed: searches for different contracts on them share their runs.

    Attributes:
        task_id: Which task.
        seed: Of the runs.
        world: Of a stochastic target: which frozen answers.
    """

    task_id: str
    seed: int
    world: int = 0

    @property
    def of_study(self) -> TaskSeed:
        """The same in the first world: where one world does not repeat, no other can be trusted."""
        return self._replace(world=0)

    def with_seed(self, seed: int) -> TaskSeed:
        """Return the same task with another seed."""
        return self._replace(seed=seed)

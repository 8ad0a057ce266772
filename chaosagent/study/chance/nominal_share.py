"""How often a contract breaks without any injection, where answers come by chance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chaosagent.faults.evaluation import Status
from chaosagent.faults.schedule import EMPTY
from chaosagent.statistics.intervals import Interval
from chaosagent.statistics.sequential import confidence_sequence
from chaosagent.study.chance.confirmation import NOMINAL_RUNS
from chaosagent.study.shrinking.minimise import violates
from chaosagent.study.task_seed import TaskSeed

if TYPE_CHECKING:
    from chaosagent.study.chance.fresh_runs import FreshRuns


@dataclass(frozen=True, slots=True)
class NominalShare:
    """Runs without injections of a contract that was seen broken in one of them.

    Attributes:
        violations: How many of the fresh runs broke it.
        runs: How many fresh runs there were.
        worlds_violated: In how many worlds of frozen answers it was broken.
        worlds: In how many it was looked at.
    """

    violations: int
    runs: int
    worlds_violated: int
    worlds: int

    @property
    def share(self) -> float:
        """The share of the fresh runs that broke it; 0 when there were none."""
        return self.violations / self.runs if self.runs else 0.0

    @property
    def interval(self) -> Interval:
        """Where P(violation | no injection) lies, at a level of 95 % whatever the number of runs follows from."""
        return confidence_sequence(self.violations, self.runs)

    def __str__(self) -> str:
        low, high = self.interval
        share = f"P = {self.share:.2f}" if self.runs else "P unknown"
        text = f"{share} [{low:.2f} to {high:.2f}], {self.violations} of {self.runs} fresh runs"
        seen = f"seen with {self.worlds_violated} of {self.worlds} sets of frozen answers"
        return text if self.violations else f"{text}, but {seen}"


def nominal_share(
    fresh: FreshRuns, at: TaskSeed, worlds: Iterable[TaskSeed], contract: str, *, draw: bool
) -> NominalShare | None:
    """Return how often a contract breaks without injections, `None` when it was not seen broken.

    Args:
        fresh: Makes fresh runs.
        at: Task and seed.
        worlds: Where it may have been run with frozen answers.
        contract: Its id.
        draw: Make as many fresh runs as tell something, if there are not; it is for a study that goes on.
    """
    told = [run for run in (fresh.evaluator.known(world, EMPTY) for world in worlds) if run is not None]
    seen = sum(violates(run, contract) for run in told)
    made = fresh.made(at, EMPTY)
    if not (seen or any(violates(run, contract) for run in made)):
        return None
    if draw:
        made = fresh.of(at, EMPTY, max(NOMINAL_RUNS, len(made)))
    runs = [violates(run, contract) for run in made if run.status is Status.OK]
    return NominalShare(sum(runs), len(runs), seen, len(told))

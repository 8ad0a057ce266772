"""The results of tasks that are over, as they are kept, and as a resumed study takes them back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from chaosagent.canonical import digest_of
from chaosagent.execution.execute import Execution
from chaosagent.study.levels import LevelCounts
from chaosagent.study.loop.trace_rerunner import TraceRerunner
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, TaskResult, TaskTally
from chaosagent.study.task_seed import TaskSeed
from chaosagent.version import version
from chaosagent.vocabulary import Boundary, Ending

FORMAT = 1
"""Of what is kept of a task."""


class FinishedTasks:
    """The tasks that earlier sessions of a study have finished.

    A result is taken back only on the same basis: by this version, with as many errors allowed, with repeats in other
    processes or without, as then, and for sinks that note the same.

    Args:
        plan: Of the study.
        kept: What the store has kept, by task.
        notes: Names of the sinks that note something.
        repeats_elsewhere: Runs are repeated in processes of their own.

    Attributes:
        taken: What is taken back, in the order of the plan's tasks.
    """

    def __init__(
        self, plan: Plan, kept: Mapping[str, TaskResult], notes: Sequence[str], *, repeats_elsewhere: bool
    ) -> None:
        self._space, share = plan.space, plan.limits.error_share_max
        self._basis = digest_of([FORMAT, version(), plan.digest, share, repeats_elsewhere, sorted(notes)])
        found = (kept[task.id] for task in plan.tasks if task.id in kept)
        self.taken = {one.task_id: one for one in found if one.basis == self._basis}

    def tell_space(self) -> None:
        """Ask the space for the interfaces that these tasks called, as it reports which patterns match none."""
        for kept in self.taken.values():
            for interface, agent in kept.asked:
                self._space.at(Boundary(interface.partition(":")[0]), interface, agent)

    @property
    def tallies(self) -> list[TaskTally]:
        """What was counted of them."""
        return [one.tally for one in self.taken.values()]

    def to_keep(
        self,
        task_id: str,
        searches: Sequence[SearchResult],
        tally: TaskTally,
        levels: LevelCounts,
        noted: Mapping[str, object],
    ) -> TaskResult:
        """Return what is to be kept of a task whose searches are over."""
        undisturbed = {
            TaskSeed(found.task_id, found.seed, found.world): found.undisturbed
            for result in searches
            for found in result.counterexamples
            if found.undisturbed is not None
        }
        bare = tuple(_with_undisturbed(result, {}) for result in searches)
        return TaskResult(task_id, self._basis, bare, undisturbed, tally, levels, self._space.asked, noted)


def with_doors(kept: TaskResult, afresh: TraceRerunner) -> tuple[SearchResult, ...]:
    """Return the results of a task, whose runs without injections are made once more, for what their doors declare.

    That is made of functions of the user's, which no store can hold.
    """
    runs = {at: _with_doors(at, run, afresh) for at, run in kept.undisturbed.items()}
    return tuple(_with_undisturbed(result, runs) for result in kept.searches)


def _with_doors(at: TaskSeed, run: Execution, afresh: TraceRerunner) -> Execution | None:
    if run.trace.ending is Ending.HUNG:
        return run  # nothing is known of its doors
    again = afresh.undisturbed(at)
    afresh.forget(at)
    return None if again is None else replace(run, doors=again.doors)


def _with_undisturbed(result: SearchResult, runs: Mapping[TaskSeed, Execution | None]) -> SearchResult:
    found = tuple(
        replace(one, undisturbed=runs.get(TaskSeed(one.task_id, one.seed, one.world))) for one in result.counterexamples
    )
    return replace(result, counterexamples=found)


def costs_of(results: Iterable[SearchResult]) -> list[float]:
    """Return the costs of all counterexamples."""
    return [found.cost for result in results for found in result.counterexamples]

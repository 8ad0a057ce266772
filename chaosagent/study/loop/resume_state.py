"""The state that a resumed study takes from its earlier sessions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import Schedule
from chaosagent.study.loop.asked_before import NO_TRIALS, StoredTrials
from chaosagent.study.result import StoredCounts, TaskResult
from chaosagent.study.task_seed import TaskSeed


@dataclass(frozen=True, slots=True)
class ResumeState:
    """What need not be done again.

    Attributes:
        stochastic: Whether the target was found to be stochastic; `None` when that was not found out.
        reason: Why, if it was.
        finished: How tasks ended that are over.
        evaluations: Returns what was executed, but for some tasks; read from the store as it is iterated.
        drawn: Fresh runs of schedules of a stochastic target, in the order in which they were made.
        unlike: Tasks and seeds in which a repeated run differed, and how.
        seconds: Real time spent.
        counts: How many runs, errors and trials are stored.
        trials: Returns the trials of the search of a task and seed for a contract.
    """

    stochastic: bool | None = None
    reason: str = ""
    finished: Mapping[str, TaskResult] = field(default_factory=dict)
    evaluations: Callable[[Collection[str]], Iterable[tuple[TaskSeed, Evaluation]]] = lambda _: ()
    drawn: Mapping[tuple[TaskSeed, Schedule], list[Evaluation]] = field(default_factory=dict)
    unlike: Mapping[TaskSeed, str] = field(default_factory=dict)
    seconds: float = 0.0
    counts: StoredCounts = field(default_factory=StoredCounts)
    trials: Callable[[TaskSeed, str], StoredTrials] = lambda *_: NO_TRIALS


NOTHING_EARLIER = ResumeState()

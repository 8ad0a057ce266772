"""The state that a resumed study takes from its earlier sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import Schedule
from chaosagent.study.task_seed import TaskSeed


@dataclass(frozen=True, slots=True)
class ResumeState:
    """What need not be done again.

    Attributes:
        stochastic: Whether the target was found to be stochastic; `None` when that was not found out.
        evaluations: What was executed.
        drawn: Fresh runs of schedules of a stochastic target, in the order in which they were made.
        unlike: Tasks and seeds in which a repeated run differed, and how.
        seconds: Real time spent.
    """

    stochastic: bool | None = None
    evaluations: Iterable[tuple[TaskSeed, Evaluation]] = ()
    drawn: Mapping[tuple[TaskSeed, Schedule], list[Evaluation]] = field(default_factory=dict)
    unlike: Mapping[TaskSeed, str] = field(default_factory=dict)
    seconds: float = 0.0


NOTHING_EARLIER = ResumeState()

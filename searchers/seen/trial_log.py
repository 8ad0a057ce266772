"""The trial log of a searcher: evaluations it received, and schedules it proposed that are still out."""

from __future__ import annotations

from collections.abc import Iterable

from chaosagent.errors import UsageError
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import Schedule
from chaosagent.study.memory.evaluation_log import EvaluationLog, ToldRuns
from chaosagent.study.searcher import Proposal, Purpose


class TrialLog(ToldRuns):
    """The log of what a searcher was told.

    Args:
        log: Of all runs of the task and seed (`Problem.log`), which are then not kept here; `None` keeps them here.

    Attributes:
        out: What it asked for and was not told yet.
    """

    def __init__(self, log: EvaluationLog | None = None) -> None:
        super().__init__(log)
        self.out: set[Schedule] = set()

    def take(self, evaluation: Evaluation) -> bool:
        """Note an evaluation; return whether it is the first of its schedule.

        Raises:
            UsageError: It contradicts an earlier one.
        """
        schedule = evaluation.schedule
        self.out.discard(schedule)
        known = self.get(schedule)
        if known is None:
            self.add(evaluation)
            return True
        if known.digest != evaluation.digest and Status.ERROR not in (known.status, evaluation.status):
            raise UsageError(
                f"tell({schedule}): told before with digest {known.digest}, now {evaluation.digest}. "
                "The target is not deterministic under this schedule: find what it draws outside run.rng and run.clock."
            )
        return False

    def is_taken(self, schedule: Schedule) -> bool:
        """Whether a schedule was told of, or is out."""
        return schedule in self.out or schedule in self

    def propose(self, schedule: Schedule, purpose: Purpose = Purpose.EXPLORE) -> Proposal:
        """Return a proposal, whose schedule is out from now on."""
        self.out.add(schedule)
        return Proposal(schedule, purpose)

    def first_free(self, draws: Iterable[Schedule]) -> Schedule | None:
        """Return the first of some schedules that is neither told of nor out, `None` when there is none."""
        return next((drawn for drawn in draws if not self.is_taken(drawn)), None)

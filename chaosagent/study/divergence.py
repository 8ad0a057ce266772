"""The first two runs of a task and seed that differed although they should be alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from chaosagent.faults.chance_read import ChanceRead
from chaosagent.faults.difference import difference_in_calls
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import Schedule
from chaosagent.faults.written_file import WrittenFile
from chaosagent.study.likely_cause import STRANGE_OPERATOR, VARYING, likely_cause, recognised_cause
from chaosagent.trace.diff import Difference


class Divergence(NamedTuple):
    """Two runs that differed.

    Attributes:
        world: Of frozen answers, in which they were made.
        schedules: Of the two runs: the same one twice, or one of which some did not land, and what landed of it.
        difference: The first one.
        where: Under what they differed, and how.
        cause: The likely one, before any run was watched for it.
        reads: What a watched run of it asked for that differs from run to run.
    """

    world: int
    schedules: tuple[Schedule, Schedule]
    difference: Difference
    where: str
    cause: str
    reads: tuple[ChanceRead, ...] = ()

    @property
    def with_cause(self) -> str:
        """Where they differed, and the likely cause."""
        return f"{self.where}. Likely cause: {self.cause}"

    def explained(
        self, reads: Sequence[ChanceRead], changed: Sequence[str], written: Sequence[WrittenFile] = ()
    ) -> str:
        """Return the same with the cause that was observed, if any was.

        Args:
            reads: What a watched run asked for that differs from run to run.
            changed: The variables of modules that runs change.
            written: The files that they write.
        """
        if not (reads or changed or written):
            return self.with_cause
        cause = likely_cause(self.difference, reads=reads, changed=changed, written=written)
        return self._replace(cause=cause).with_cause


def repeated(
    world: int, schedule: Schedule, difference: Difference, reads: tuple[ChanceRead, ...] = (), cause: str = ""
) -> Divergence:
    """Return the divergence of two runs of one schedule.

    Args:
        world: Of frozen answers.
        schedule: Of both.
        difference: The first one.
        reads: What the second one, if it was watched, asked for that differs from run to run.
        cause: The likely one; by default what most often makes two runs differ in this way.
    """
    where = f"{f'under `{schedule}`' if schedule else 'without injections'}, {difference}"
    cause = cause or likely_cause(difference, reads=reads)
    return Divergence(world, (schedule, schedule), difference, where, cause, reads)


def apart(world: int, told: Evaluation, alone: Evaluation) -> Divergence:
    """Return the divergence of a run of which something did not land from the run of what landed.

    Args:
        world: Of frozen answers.
        told: The run of which something did not land.
        alone: The run of only what landed of it.
    """
    landed = f"only `{told.effective}`" if told.effective else "nothing"
    difference = difference_in_calls(alone, told)
    where = f"under `{told.schedule}` {landed} landed, and yet the run is another: {difference}"
    is_ours = all("/" not in injection.operator_name for injection in told.schedule)
    cause = recognised_cause(difference) or (VARYING if is_ours else STRANGE_OPERATOR)
    return Divergence(world, (told.schedule, told.effective), difference, where, cause)


def is_alike(one: Evaluation, other: Evaluation) -> bool:
    """Whether two runs under different schedules ended alike, with the same calls, answers and times."""
    return (one.ending, one.success, _calls(one)) == (other.ending, other.success, _calls(other))


def _calls(told: Evaluation) -> list[tuple[object, ...]]:
    """Return what was asked and answered where and when, in the order of places."""
    return sorted((one.place, one.request, one.response, one.asked_at, one.answered_at) for one in told.crossings)

"""What single trials told that a study's result does not hold: why runs failed, and what breaks without a fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.result import SearchResult
from chaosagent.study.sink import Sink
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial
from chaosagent.trace.reached_limit import ReachedLimit, reached_limit
from chaosagent.trace.trace import exceeded_in
from chaosagent.vocabulary import CUT_OFF, Ending, Verdict

KINDS_MAX = 20


@dataclass(frozen=True, slots=True)
class FailedRuns:
    """Runs that ended with the same error.

    Attributes:
        error: What went wrong.
        task_id: Of the first of them.
        seed: Of the first of them.
        schedule: Under which the first of them failed.
        count: How many there were.
    """

    error: str
    task_id: str
    seed: int
    schedule: Schedule
    count: int = 1


@dataclass(frozen=True, slots=True)
class CutOffRuns:
    """Runs that did not come to an end of their own, in the same way.

    Attributes:
        ending: By a limit, or as they could show nothing further.
        reason: Which limit, or why.
        task_id: Of the one with the fewest injections.
        seed: Of the same.
        schedule: Of the same.
        count: How many there were.
    """

    ending: Ending
    reason: str
    task_id: str
    seed: int
    schedule: Schedule
    count: int = 1


@dataclass(frozen=True, slots=True)
class SlowRuns:
    """Runs that ended by themselves, but only beyond the same limit.

    Attributes:
        limit: That they went beyond.
        task_id: Of the one with the fewest injections.
        seed: Of the same.
        schedule: Of the same.
        count: How many there were.
    """

    limit: ReachedLimit
    task_id: str
    seed: int
    schedule: Schedule
    count: int = 1


@dataclass(frozen=True, slots=True)
class NominalViolation:
    """How a contract breaks without any injection.

    Attributes:
        place: The step, or `"the end"` when only the end of the run showed it.
        agent: Who acted there; empty at the end, and may be empty elsewhere.
        reason: In one line.
        crashed_at: Where the run crashed, when the end of a crashed run showed the violation; else empty.
    """

    place: str
    agent: str
    reason: str
    crashed_at: str = ""


class Notes(Sink):
    """Takes notes while a study goes on.

    Errors are told apart by their text, the first 20 of them; an audit's runs are not told to sinks.

    Attributes:
        has_checkpoints: Some run had a fingerprint at a checkpoint.
        declares_effects: Some run had a door that declares effects.
    """

    def __init__(self) -> None:
        self._failed: dict[str, FailedRuns] = {}
        self._counted: set[tuple[TaskSeed, Schedule]] = set()
        self._cut_off: dict[tuple[Ending, str], CutOffRuns] = {}
        self._slow: dict[ReachedLimit, SlowRuns] = {}
        self._spent: dict[str, float] = {}
        self.has_checkpoints = False
        self.declares_effects = False
        self._nominal: dict[tuple[str, int, str], NominalViolation] = {}

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        """Note a run that was cut off, or that ended only beyond a limit."""
        if evaluation.status is Status.ERROR:
            return
        self.has_checkpoints = self.has_checkpoints or bool(evaluation.fingerprints)
        self.declares_effects = self.declares_effects or evaluation.declares_effects
        if evaluation.spent_limit:
            most = self._spent.get(evaluation.spent_limit, 0.0)
            self._spent[evaluation.spent_limit] = max(most, evaluation.spent)
        if evaluation.ending not in CUT_OFF:
            self._note_slow(at, evaluation)
            return
        key = evaluation.ending, evaluation.detail
        known = self._cut_off.get(key)
        if known is None and len(self._cut_off) >= KINDS_MAX:
            key = evaluation.ending, "other reasons"
            known = self._cut_off.get(key)
        if known is None or len(evaluation.schedule) < len(known.schedule):
            count = 0 if known is None else known.count
            known = CutOffRuns(*key, at.task_id, at.seed, evaluation.schedule, count)
        self._cut_off[key] = replace(known, count=known.count + 1)

    def trial(self, at: TaskSeed, contract: str, trial: Trial) -> None:
        """Note an error, or how the run without injections breaks its contract."""
        evaluation = trial.evaluation
        if evaluation.status is Status.ERROR:
            self._note_error(at, trial.schedule, evaluation.error)
        elif trial.schedule == EMPTY:
            verdict = evaluation.verdict(contract)
            if verdict is not None and verdict.verdict is Verdict.VIOLATED and verdict.violation is not None:
                step, agent, reason = verdict.violation
                at_end = step >= evaluation.step_count
                self._nominal[at.task_id, at.seed, contract] = NominalViolation(
                    "the end" if at_end else f"step {step}",
                    "" if at_end else agent,
                    reason,
                    evaluation.crashed_at if at_end else "",
                )

    def _note_slow(self, at: TaskSeed, evaluation: Evaluation) -> None:
        """Count a run by the key of the limit that it went beyond."""
        exceeded = exceeded_in(evaluation.detail)
        if not exceeded:
            return
        limit = reached_limit(exceeded)
        known = self._slow.get(limit)
        if known is None and len(self._slow) >= KINDS_MAX:
            limit = ReachedLimit("another limit", "")
            known = self._slow.get(limit)
        if known is None or len(evaluation.schedule) < len(known.schedule):
            count = 0 if known is None else known.count
            known = SlowRuns(limit, at.task_id, at.seed, evaluation.schedule, count)
        self._slow[limit] = replace(known, count=known.count + 1)

    def _note_error(self, at: TaskSeed, schedule: Schedule, error: str) -> None:
        """Count a run once, though the searches for several contracts are told of it."""
        if (at, schedule) in self._counted:
            return
        self._counted.add((at, schedule))
        known = self._failed.get(error)
        if known is not None:
            self._failed[error] = replace(known, count=known.count + 1)
        elif len(self._failed) < KINDS_MAX:
            self._failed[error] = FailedRuns(error, at.task_id, at.seed, schedule)

    @property
    def cut_off(self) -> Sequence[CutOffRuns]:
        """The runs that did not come to an end of their own, by how and why, in the order in which they came."""
        return tuple(self._cut_off.values())

    @property
    def spent(self) -> Mapping[str, float]:
        """The largest share of each limit that any run has used, by the limit's key in study files."""
        return self._spent

    @property
    def slow(self) -> Sequence[SlowRuns]:
        """The runs that ended only beyond a limit, by limit, in the order in which they came."""
        return tuple(self._slow.values())

    @property
    def failed(self) -> Sequence[FailedRuns]:
        """The errors that differ, in the order in which they came."""
        return tuple(self._failed.values())

    @property
    def failed_count(self) -> int:
        """How many runs failed."""
        return len(self._counted)

    def nominal_violation(self, search: SearchResult) -> NominalViolation | None:
        """Return how the run without injections breaks the contract of a search, `None` when nobody told."""
        return self._nominal.get((search.task_id, search.seed, search.contract))

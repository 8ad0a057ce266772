"""What single trials told that a study's result does not hold: why runs failed, and what breaks without a fault."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from chaosagent.effects.suspect import SuspectAnswer
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.outside_access import OutsideAccess
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.result import SearchResult
from chaosagent.study.sink import Sink
from chaosagent.study.store.typed_codec import from_plain, to_plain
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial
from chaosagent.trace.reached_limit import ReachedLimit, reached_limit
from chaosagent.trace.trace import exceeded_in
from chaosagent.trace.upstream_retry import UpstreamRetry
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


ACCESSES_MAX = 64
"""When so many accesses of a task are noted, no more are."""

Kind = TypeVar("Kind", bound=Hashable)
Runs = TypeVar("Runs", FailedRuns, CutOffRuns, SlowRuns)


@dataclass(slots=True)
class TaskNotes:
    """What was noted of one task.

    Attributes:
        failed: By error.
        failed_count: How many runs failed.
        cut_off: By how and why.
        slow: By limit.
        spent: The largest share of each limit that any run has used.
        has_checkpoints: Some run had a fingerprint at a checkpoint.
        declares_effects: Some run had a door that declares effects.
        nominal: How contracts break without injections, by seed and contract.
        suspects: Answers of runs without injections that look like errors and count as commits, by call.
        accesses: What runs have opened outside of the target's doors, by its text; at most `ACCESSES_MAX`.
        retries: What clients behind doors have sent again by themselves, by call and request; as many at most.
    """

    failed: dict[str, FailedRuns] = field(default_factory=dict)
    failed_count: int = 0
    cut_off: dict[tuple[Ending, str], CutOffRuns] = field(default_factory=dict)
    slow: dict[ReachedLimit, SlowRuns] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    has_checkpoints: bool = False
    declares_effects: bool = False
    nominal: dict[tuple[int, str], NominalViolation] = field(default_factory=dict)
    suspects: dict[str, SuspectAnswer] = field(default_factory=dict)
    accesses: dict[str, OutsideAccess] = field(default_factory=dict)
    retries: dict[str, UpstreamRetry] = field(default_factory=dict)


class Notes(Sink):
    """Takes notes while a study goes on, by task.

    Errors with different texts are counted apart, the first 20 of them. Sinks do not receive the runs of an audit.

    Args:
        tasks: Ids of the tasks, in the order in which they are reported; others follow as they come.
    """

    def __init__(self, tasks: Iterable[str] = ()) -> None:
        self._notes: defaultdict[str, TaskNotes] = defaultdict(TaskNotes, {task: TaskNotes() for task in tasks})
        self._counted: set[tuple[TaskSeed, Schedule]] = set()

    def noted(self, task_id: str) -> object:
        return to_plain(self._notes[task_id])

    def take_back(self, task_id: str, noted: object) -> None:
        self._notes[task_id] = from_plain(TaskNotes, noted)

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        """Note a run that was cut off, or that ended only beyond a limit."""
        if evaluation.status is Status.ERROR:
            return
        notes = self._notes[at.task_id]
        notes.has_checkpoints = notes.has_checkpoints or bool(evaluation.fingerprints)
        notes.declares_effects = notes.declares_effects or evaluation.declares_effects
        for one in evaluation.suspects:
            notes.suspects.setdefault(one.call, one)
        if len(notes.accesses) < ACCESSES_MAX:
            notes.accesses.update((str(access), access) for access in evaluation.accesses)
        for retry in evaluation.retries if len(notes.retries) < ACCESSES_MAX else ():
            notes.retries.setdefault(f"{retry.hook} {retry.sent}", retry)
        if evaluation.spent_limit:
            most = notes.spent.get(evaluation.spent_limit, 0.0)
            notes.spent[evaluation.spent_limit] = max(most, evaluation.spent)
        run = at.task_id, at.seed, evaluation.schedule
        if evaluation.ending in CUT_OFF:
            _add_cut_off(notes.cut_off, CutOffRuns(evaluation.ending, evaluation.detail, *run))
        elif exceeded := exceeded_in(evaluation.detail):
            _add_slow(notes.slow, SlowRuns(reached_limit(exceeded), *run))

    def trial(self, at: TaskSeed, contract: str, trial: Trial) -> None:
        """Note an error, or how the run without injections breaks its contract."""
        evaluation, notes = trial.evaluation, self._notes[at.task_id]
        if evaluation.status is Status.ERROR:
            if (at, trial.schedule) not in self._counted:  # searches for several contracts share a run
                self._counted.add((at, trial.schedule))
                notes.failed_count += 1
                _add_failed(notes.failed, FailedRuns(evaluation.error, at.task_id, at.seed, trial.schedule))
        elif trial.schedule == EMPTY:
            verdict = evaluation.verdict(contract)
            if verdict is not None and verdict.verdict is Verdict.VIOLATED and verdict.violation is not None:
                step, agent, reason = verdict.violation
                at_end = step >= evaluation.step_count
                notes.nominal[at.seed, contract] = NominalViolation(
                    "the end" if at_end else f"step {step}",
                    "" if at_end else agent,
                    reason,
                    evaluation.crashed_at if at_end else "",
                )

    @property
    def has_checkpoints(self) -> bool:
        """Whether some run had a fingerprint at a checkpoint."""
        return any(notes.has_checkpoints for notes in self._notes.values())

    @property
    def declares_effects(self) -> bool:
        """Whether some run had a door that declares effects."""
        return any(notes.declares_effects for notes in self._notes.values())

    @property
    def suspects(self) -> list[SuspectAnswer]:
        """Answers that look like errors and count as commits."""
        return [one for notes in self._notes.values() for one in notes.suspects.values()]

    @property
    def accesses(self) -> list[OutsideAccess]:
        """What runs have opened outside of the target's doors, each once."""
        return list({text: one for notes in self._notes.values() for text, one in notes.accesses.items()}.values())

    @property
    def retries(self) -> list[UpstreamRetry]:
        """What clients behind doors have sent again by themselves, each call and request once."""
        return list({key: one for notes in self._notes.values() for key, one in notes.retries.items()}.values())

    @property
    def cut_off(self) -> Sequence[CutOffRuns]:
        """The runs that did not come to an end of their own, by how and why; of each task in the order of coming."""
        return _together(_add_cut_off, (notes.cut_off for notes in self._notes.values()))

    @property
    def spent(self) -> Mapping[str, float]:
        """The largest share of each limit that any run has used, by the limit's key in study files."""
        spent: dict[str, float] = {}
        for notes in self._notes.values():
            for limit, share in notes.spent.items():
                spent[limit] = max(share, spent.get(limit, 0.0))
        return spent

    @property
    def slow(self) -> Sequence[SlowRuns]:
        """The runs that ended only beyond a limit, by limit; of each task in the order of coming."""
        return _together(_add_slow, (notes.slow for notes in self._notes.values()))

    @property
    def failed(self) -> Sequence[FailedRuns]:
        """The errors that differ; of each task in the order of coming."""
        return _together(_add_failed, (notes.failed for notes in self._notes.values()))

    @property
    def failed_count(self) -> int:
        """How many runs failed."""
        return sum(notes.failed_count for notes in self._notes.values())

    def nominal_violation(self, search: SearchResult) -> NominalViolation | None:
        """Return how the run without injections breaks the contract of a search, `None` when nobody told."""
        return self._notes[search.task_id].nominal.get((search.seed, search.contract))


def _together(add: Callable[[dict[Any, Runs], Runs], None], kinds: Iterable[Mapping[Any, Runs]]) -> Sequence[Runs]:
    known: dict[Any, Runs] = {}
    for of_task in kinds:
        for runs in of_task.values():
            add(known, runs)
    return tuple(known.values())


def _add_failed(known: dict[str, FailedRuns], runs: FailedRuns) -> None:
    before = known.get(runs.error)
    if before is not None:
        known[runs.error] = replace(before, count=before.count + runs.count)
    elif len(known) < KINDS_MAX:
        known[runs.error] = runs


def _add_cut_off(known: dict[tuple[Ending, str], CutOffRuns], runs: CutOffRuns) -> None:
    if (runs.ending, runs.reason) not in known and len(known) >= KINDS_MAX:
        runs = replace(runs, reason="other reasons")
    _add_smallest(known, (runs.ending, runs.reason), runs)


def _add_slow(known: dict[ReachedLimit, SlowRuns], runs: SlowRuns) -> None:
    """Count runs by the key of the limit that they went beyond."""
    if runs.limit not in known and len(known) >= KINDS_MAX:
        runs = replace(runs, limit=ReachedLimit("another limit", ""))
    _add_smallest(known, runs.limit, runs)


def _add_smallest(known: dict[Kind, Runs], kind: Kind, runs: Runs) -> None:
    """Count runs, and keep the place and schedule of the one with the fewest injections.

    Which run comes first is up to workers and to earlier sessions, so of equally small ones of a task the order of
    seeds and texts decides.
    """
    before = known.get(kind)
    if before is not None:
        smaller = len(runs.schedule) < len(before.schedule)
        if runs.task_id == before.task_id:
            smaller = _size(runs) < _size(before)
        runs = replace(runs if smaller else before, count=before.count + runs.count)
    known[kind] = runs


def _size(runs: CutOffRuns | SlowRuns | FailedRuns) -> tuple[int, int, str]:
    return len(runs.schedule), runs.seed, runs.schedule.text

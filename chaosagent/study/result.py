"""How a study and its searches ended, and how far they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from chaosagent.execution.execute import Execution
from chaosagent.faults.schedule import Schedule
from chaosagent.study.certificate import Certificate
from chaosagent.study.chance.racing import UnconfirmedViolation
from chaosagent.study.counterexample import Counterexample
from chaosagent.study.determinism.determinism import DETERMINISTIC, Determinism
from chaosagent.study.levels import Level, LevelCounts
from chaosagent.study.task_seed import TaskSeed


class AboveBudget(NamedTuple):
    """The cheapest violation that was seen above the budget.

    Attributes:
        cost: Of what landed; not reduced, so less may do.
        schedule: What landed.
    """

    cost: float
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class SearchResult:
    """How one search ended.

    Attributes:
        task_id: Which task.
        seed: Of the runs.
        contract: Id of the contract.
        trials: Trials told to it.
        violated_nominally: The run without injections breaks the contract already.
        counterexamples: What was found, cheapest first; more than one only where several were wanted.
        certificate: What is proved.
        injectable: Something affordable could be injected at all; without that a proof says nothing.
        effect_count: Effects that the run without injections commits; with none, most default contracts say nothing.
        unreduced: Further violations that were met, but not reduced before the search ended at a limit; each may hold
            a minimal counterexample that is not among those found.
        unshown: Violations that were found and not run once more, for want of time; they are not among the
            counterexamples.
        doubtful: What was seen violating once, and was not confirmed by fresh runs, cheapest first.
        above_budget: The cheapest violation seen above the budget, where none was found within.
    """

    task_id: str
    seed: int
    contract: str
    trials: int
    violated_nominally: bool
    counterexamples: tuple[Counterexample, ...]
    certificate: Certificate
    injectable: bool = True
    effect_count: int = 0
    unreduced: int = 0
    unshown: int = 0
    doubtful: tuple[UnconfirmedViolation, ...] = ()
    above_budget: AboveBudget | None = None

    @property
    def counterexample(self) -> Counterexample | None:
        """The cheapest that was found."""
        return self.counterexamples[0] if self.counterexamples else None


def without_disproved_claims(results: Iterable[SearchResult]) -> tuple[SearchResult, ...]:
    """Return results without what is proved in any of them, if a claim of their searcher was disproved in one.

    All searches of a study have the same searcher and the same target, and one of the two does not keep its word.
    """
    listed = tuple(results)
    disproved = next((result.certificate.disproved for result in listed if result.certificate.disproved), "")
    return tuple(_unproved(result, disproved) for result in listed) if disproved else listed


def _unproved(result: SearchResult, disproved: str) -> SearchResult:
    def without_proof(certificate: Certificate) -> Certificate:
        told = certificate.disproved or disproved
        return dataclasses.replace(certificate, level="C0", lower_bound=0.0, known_below=0.0, disproved=told)

    found = (dataclasses.replace(one, certificate=without_proof(one.certificate)) for one in result.counterexamples)
    return dataclasses.replace(result, certificate=without_proof(result.certificate), counterexamples=tuple(found))


@dataclass(frozen=True, slots=True)
class StoredCounts:
    """How many runs and trials the store of a study holds, of one task or in all.

    Attributes:
        executions: Runs.
        errors: Of those, ended as errors.
        trials: Of all searches.
    """

    executions: int = 0
    errors: int = 0
    trials: int = 0


@dataclass(slots=True)
class TaskTally:
    """What a study counts of one task.

    Attributes:
        trials: Told to its searches.
        digest_sum: Of the digests of these trials.
        executions: Runs that its searches have needed.
        errors: Of those, ended as errors.
        taken_over: Of the runs, those made with another seed only, as they do not read theirs.
        unused_earlier: Runs of earlier sessions that its searches did not ask for.
        cold_repeats: How many runs were repeated in processes of their own.
        cold_seconds: Real time that these took.
    """

    trials: int = 0
    digest_sum: int = 0
    executions: int = 0
    errors: int = 0
    taken_over: int = 0
    unused_earlier: int = 0
    cold_repeats: int = 0
    cold_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class TaskResult:
    """How all searches of a task ended: all that a study needs of the task without searching it again.

    Only a claim that a run of another task disproves takes something from it; see `without_disproved_claims`.

    Attributes:
        task_id: Which task.
        basis: A digest of everything that it depends on besides the plan's digest and the code.
        searches: In the order of seeds and contracts; their counterexamples are without `undisturbed`.
        undisturbed: The runs without injections of their counterexamples, without the doors.
        tally: What was counted.
        levels: What was counted by level of cost.
        asked: Interfaces and agents for which the space was asked by then.
        noted: What sinks have noted, by the name of their class.
    """

    task_id: str
    basis: str
    searches: tuple[SearchResult, ...]
    undisturbed: Mapping[TaskSeed, Execution]
    tally: TaskTally
    levels: LevelCounts
    asked: tuple[tuple[str, str], ...]
    noted: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class StudyResult:
    """How a study ended.

    Attributes:
        searches: In the order of tasks, seeds and contracts.
        trials: Told, over all searches.
        executions: Runs that searches have needed; those on one task and seed share them.
        errors: Executions that ended as errors.
        digest: Over the digests of all trials, whatever their order.
        seconds: Real time.
        cold_repeats: How many runs were repeated in processes of their own.
        cold_seconds: Part of the real time that these took.
        interrupted: The study was ended before its searches were.
        out_of_time: It has reached its limit of time before what it found was minimised, repeated and shown.
        nature: Whether the target is deterministic.
        unlike: Where a repeated run differed, in a line each.
        unasked: How many runs were made ahead that no search asked for in the end; they are not among `executions`.
        taken_over: How many of the runs were made with another seed only, as they do not read theirs.
        unused_earlier: How many runs of an earlier session were not asked for again by the end; what they show is not
            in here.
    """

    searches: tuple[SearchResult, ...]
    trials: int
    executions: int
    errors: int
    digest: str
    seconds: float
    cold_repeats: int = 0
    cold_seconds: float = 0.0
    interrupted: bool = False
    out_of_time: bool = False
    nature: Determinism = DETERMINISTIC
    unlike: tuple[str, ...] = ()
    unused_earlier: int = 0
    unasked: int = 0
    taken_over: int = 0

    @property
    def is_cut(self) -> bool:
        """Whether it ended before what it found was minimised, repeated and shown."""
        return self.interrupted or self.out_of_time

    @property
    def counterexamples(self) -> tuple[Counterexample, ...]:
        """All that were found."""
        return tuple(found for search in self.searches for found in search.counterexamples)


class OpenViolation(NamedTuple):
    """The cheapest violation so far of a search that is not over; it is not reduced yet."""

    task_id: str
    seed: int
    contract: str
    cost: float


@dataclass(slots=True)
class StudyProgress:
    """How far a study is; the same object is handed out again and again.

    Attributes:
        searches: How many there are.
        searches_over: How many have ended.
        trials: Told so far.
        executions: Runs executed so far.
        errors: Of those, ended as errors.
        taken_over: Of the runs, those made with another seed only, as they do not read theirs.
        found: Counterexamples so far.
        best_cost: Of the cheapest counterexample.
        violations: Those among them whose searches are not over.
        lower_bound: The least bound of the searches that are under way. It is proved once some of their runs have been
            repeated, when they are over.
        current: Which search has that bound, for people.
        doing: What the study does while it does not search, for people; empty while it searches.
        repeats: How many repeats of faulty runs in processes of their own were made, and of how many; `None` while none
            are under way.
        seconds: Real time of all sessions.
        rate: New trials a second in the last minute.
        trials_max: At most so many trials will be told.
        stochastic: Answers come by chance, so the bound is no proof.
        levels: How far the searches are at each level of cost.
        nominals_left: How many tasks and seeds have not had their run without injections yet; until then the sizes of
            the levels are not complete.
    """

    searches: int = 0
    searches_over: int = 0
    trials: int = 0
    executions: int = 0
    errors: int = 0
    taken_over: int = 0
    found: int = 0
    best_cost: float | None = None
    violations: tuple[OpenViolation, ...] = ()
    lower_bound: float = 0.0
    current: str = ""
    doing: str = ""
    repeats: tuple[int, int] | None = None
    seconds: float = 0.0
    rate: float = 0.0
    trials_max: int = 0
    stochastic: bool = False
    levels: tuple[Level, ...] = ()
    nominals_left: int = 0

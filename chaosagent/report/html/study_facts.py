"""What the report page is made of: all that the folder of a study holds and a reader wants to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from chaosagent.metrics.robustness import Curve
from chaosagent.replays.record import ReplayRecord
from chaosagent.report.causes.calls import Calls

State: TypeAlias = Literal["running", "ended", "interrupted", "out of time", "killed"]
Standing: TypeAlias = Literal["broken without faults", "broken", "proved", "shown", "nothing to inject", "open"]
COST_TOLERANCE = 1e-9


class SearchFact(NamedTuple):
    """What one search of a study has proved.

    Attributes:
        task: Id of the task.
        seed: Of the runs.
        contract: That was searched.
        level: Of the certificate, `"C0"` to `"C4"` or `"S"`.
        lower_bound: No schedule cheaper than this breaks the contract, as far as the level proves it; infinite where
            nothing within the budget does.
        cost: Of the cheapest violation known; `None` if there is none.
        certified: The counterexample is proved to be a cheapest one.
        safe: It is proved that nothing within the budget breaks the contract.
        violated_nominally: The run without faults breaks it.
        trials: How many the search had.
        text: The certificate in words.
    """

    task: str
    seed: int
    contract: str
    level: str
    lower_bound: float
    cost: float | None
    certified: bool
    safe: bool
    violated_nominally: bool
    trials: int
    text: str

    def proved_below(self, *, stochastic: bool) -> float:
        """Return below which cost it is proved that nothing breaks the contract; 0 where nothing is proved."""
        return 0.0 if stochastic or self.violated_nominally or self.level in ("C0", "S") else self.lower_bound

    def standing(self, budget: float, *, stochastic: bool) -> Standing:
        """Return how the search ended."""
        if self.violated_nominally:
            return "broken without faults"
        if self.cost is not None:
            return "broken"
        if self.safe:
            return "proved"
        if self.level != "C0" and self.lower_bound > budget:
            return "shown" if stochastic or self.level == "S" else "nothing to inject"
        return "open"


class ErrorFact(NamedTuple):
    """Runs that ended with the same error: what it says, how many, and the first of them."""

    error: str
    runs: int
    task: str
    schedule: str


class Failing(NamedTuple):
    """A run that breaks contracts: of which task, with faults at which hooks, and which contracts."""

    task: str
    hooks: frozenset[str]
    contracts: frozenset[str]


class StoredCounterexample(NamedTuple):
    """A counterexample of a study.

    Attributes:
        record: All that is known of it.
        path: Of its file.
        calls: Of the run without faults of its task; `None` where they are not stored.
    """

    record: ReplayRecord
    path: Path
    calls: Calls | None


@dataclass(frozen=True, slots=True)
class StudyFacts:
    """A study as its folder has it.

    Attributes:
        folder: Of the study.
        target: Its reference.
        config: Name of the configuration.
        budget: Up to which cost schedules are searched.
        state: How far the study is; `killed` means that its process ended without closing the store.
        stochastic: Answers come by chance, so nothing is proved.
        wants_several: The study wants every minimal counterexample.
        search_count: Of the study; those of `searches` may be fewer while it runs.
        searches: That are over, by task, seed and contract; none of a study that runs or was killed.
        counterexamples: Cheapest first.
        missing: Ids of counterexamples without a record.
        trials: Of all searches.
        executions: Runs.
        errors: Of those, ended as errors.
        taken_over: Of the runs, those made with another seed only, as they do not read theirs.
        seconds: Real time.
        failed: Kinds of errors, the most frequent first.
        tried: How many runs had a fault that landed, by operator and interface.
        not_tried: Operators that fit a boundary at which something was called, and are not searched; `None` where it is
            not known what was called.
        not_landed: Operators that are searched and fit such a boundary, and landed in no run.
        failing: The runs that break a contract.
        begun: When the study was begun, in UTC; of one that runs or was killed, its last session.
        ended: When it has come to its end, in UTC; empty for one that has not.
        written: When a study that is not over has last said how far it is, in UTC.
        shard: Which part of the study the folder holds, as `2/8`; empty for all of it.
        objective: The searches against the objective among them, which may have been added to the study afterwards.
        random: R(B) under random schedules; `None` where none were run.
        contradictions: Random schedules that break what a search has called proved, a clause each.
        violation_runs: Number of the run in which each search first saw its contract broken, ascending.
        known: How many violations a study that is not over has met, those that are not reduced yet among them.
        known_cost: Of the cheapest of them.
        best_costs: After how many runs a cheaper violation was known, and what it costs.
        bounds: After how many runs it was known that no search that was still open has a violation below some cost.
    """

    folder: Path
    target: str
    config: str
    budget: float
    state: State
    stochastic: bool = False
    wants_several: bool = False
    search_count: int = 0
    searches: Sequence[SearchFact] = ()
    counterexamples: Sequence[StoredCounterexample] = ()
    missing: Sequence[str] = ()
    trials: int = 0
    executions: int = 0
    errors: int = 0
    taken_over: int = 0
    seconds: float = 0.0
    failed: Sequence[ErrorFact] = ()
    tried: Mapping[tuple[str, str], int] = field(default_factory=dict)
    not_tried: Sequence[str] | None = None
    not_landed: Sequence[str] = ()
    failing: Sequence[Failing] = ()
    violation_runs: Sequence[int] = ()
    known: int = 0
    known_cost: float | None = None
    best_costs: Sequence[tuple[int, float]] = ()
    bounds: Sequence[tuple[int, float]] = ()
    begun: str = ""
    ended: str = ""
    written: str = ""
    shard: str = ""
    objective: Sequence[SearchFact] = ()
    random: Curve | None = None
    contradictions: Sequence[str] = ()

    @property
    def tasks(self) -> list[str]:
        """The tasks that were searched, sorted."""
        return sorted({one.task for one in self.searches} | {one.record.task.id for one in self.counterexamples})

    @property
    def dates(self) -> str:
        """When the study was begun and ended, for people; empty where that is not known."""
        begun, ended = (one.replace("T", " ").removesuffix("Z") for one in (self.begun, self.ended))
        if not begun:
            return ""
        return f"{begun} to {ended} UTC" if ended else f"begun {begun} UTC"

    @property
    def is_over(self) -> bool:
        """Whether every search is over."""
        return self.state == "ended"

    def proved_below(self) -> float:
        """Return below which cost it is proved that nothing breaks any contract, in any search; 0 for nothing."""
        if not self.searches or not self.is_over:
            return 0.0
        return min(one.proved_below(stochastic=self.stochastic) for one in self.searches)

    def standings(self) -> dict[Standing, int]:
        """Return how many searches ended in which way; those that have not ended, or not for good, are open."""
        counts: dict[Standing, int] = {}
        if not self.searches and self.counterexamples:
            records = [one.record for one in self.counterexamples]
            counts["broken"] = len({(record.task.id, record.seed, record.contract) for record in records})
            return {**counts, "open": max(0, self.search_count - counts["broken"])}
        for one in self.searches:
            standing = one.standing(self.budget, stochastic=self.stochastic)
            counts[standing] = counts.get(standing, 0) + 1
        left = self.search_count - len(self.searches)
        if left > 0:
            counts["open"] = counts.get("open", 0) + left
        return counts


def bound_text(value: float, budget: float) -> str:
    """Return below which cost nothing breaks, as people read it; beyond the budget nothing was looked at."""
    return f"{budget:g}, the budget" if value > budget else f"{value:g}"

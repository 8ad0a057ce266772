"""How often a counterexample of a stochastic target happens when no answer is frozen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import Schedule
from chaosagent.statistics.comparison import fisher_greater
from chaosagent.statistics.intervals import Interval, wilson
from chaosagent.study.evaluator import Evaluator, Experimental
from chaosagent.study.minimise import violates

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Fresh runs of a schedule, and of none, each with answers of its own.

    The number of runs is fixed beforehand, so the intervals hold at their level of 95 %.

    Attributes:
        violations: How many of the runs under the schedule broke the contract.
        runs: How many there were.
        nominal_violations: How many of the runs without injections broke it.
        nominal_runs: How many there were.
        errors: Further runs, of both kinds, that ended as errors and tell nothing.
    """

    violations: int
    runs: int
    nominal_violations: int
    nominal_runs: int
    errors: int = 0

    @property
    def interval(self) -> Interval:
        """Where P(violation | schedule) lies."""
        return wilson(self.violations, self.runs)

    @property
    def nominal_interval(self) -> Interval:
        """Where P(violation | no injection) lies."""
        return wilson(self.nominal_violations, self.nominal_runs)

    @property
    def confirmed(self) -> bool:
        """Whether the schedule makes the violation more likely, by Fisher's exact test at 5 %."""
        p_value = fisher_greater(self.violations, self.runs, self.nominal_violations, self.nominal_runs)
        return p_value < ALPHA

    def __str__(self) -> str:
        text = (
            f"violated in {self.violations} of {self.runs} fresh runs (P {_in_words(self.interval)}), without "
            f"injections in {self.nominal_violations} of {self.nominal_runs} (P {_in_words(self.nominal_interval)})"
        )
        if not self.confirmed:
            text += "; that may be chance"
        return f"{text}; {self.errors} more ended as errors" if self.errors else text


class FreshRuns:
    """Makes fresh runs of schedules, a fixed number of each.

    Args:
        evaluator: Runs them.
        count: How many of each schedule.
        on_drawn: Called with each run that was made, with its number among those of its schedule.
        earlier: What an earlier session has made.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        count: int,
        on_drawn: Callable[[Experimental, int, Evaluation], None],
        earlier: Mapping[tuple[Experimental, Schedule], list[Evaluation]],
    ) -> None:
        self._evaluator, self._count, self._on_drawn = evaluator, count, on_drawn
        self._made = {key: list(runs) for key, runs in earlier.items()}

    def of(self, at: Experimental, schedule: Schedule) -> list[Evaluation]:
        """Return what the fresh runs of a schedule told; those that are missing are made."""
        made = self._made.setdefault((at, schedule), [])

        def take(evaluation: Evaluation) -> None:
            self._on_drawn(at, len(made), evaluation)
            made.append(evaluation)

        self._evaluator.draw(at, schedule, max(0, self._count - len(made)), take)
        return made[: self._count]


def confirmation_of(drawn: Iterable[Evaluation], nominal: Iterable[Evaluation], contract: str) -> Confirmation:
    """Return what fresh runs tell of a contract.

    Args:
        drawn: Runs under the schedule.
        nominal: Runs without injections.
        contract: Id of the contract.
    """
    under, without = list(drawn), list(nominal)
    told, told_nominally = ([run for run in runs if run.status is Status.OK] for runs in (under, without))
    return Confirmation(
        violations=sum(violates(run, contract) for run in told),
        runs=len(told),
        nominal_violations=sum(violates(run, contract) for run in told_nominally),
        nominal_runs=len(told_nominally),
        errors=len(under) + len(without) - len(told) - len(told_nominally),
    )


def _in_words(interval: Interval) -> str:
    return f"{interval.low:.2f} to {interval.high:.2f}"

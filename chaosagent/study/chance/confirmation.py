"""How often a counterexample of a stochastic target happens when no answer is frozen, and whether that is chance."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING

from chaosagent.statistics.comparison import fisher_greater
from chaosagent.statistics.intervals import Interval, wilson
from chaosagent.statistics.sequential import (
    EvidenceOfLess,
    EvidenceOfMore,
    EvidenceOfNearness,
    clean_share_max,
    confidence_sequence,
)

if TYPE_CHECKING:
    from chaosagent.study.plan import ErrorRates

ALPHA = 0.05
BETA_OF_PAIRS = 0.2
"""Part of `beta` for dropping what is no likelier than without injections, where that is often.

The rest is for dropping what hardly ever violates."""

NOMINAL_RUNS = 20
"""Fresh runs that tell whether a violation without injections is a flake."""

LOG_EVIDENCE_MAX = 700.0
"""Beyond it, evidence is not told apart any more; a float would not hold it."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Fresh runs of a schedule, and of none, each with answers of its own.

    Their number follows from what they told, so the intervals are such as hold at any number of runs, at their level of
    95 %.

    Attributes:
        violations: How many of the runs under the schedule broke the contract.
        runs: How many there were.
        nominal_violations: How many of the runs without injections broke it.
        nominal_runs: How many there were.
        errors: Further runs, of both kinds, that ended as errors and tell nothing.
        evidence: That the schedule makes violations likelier; a factor, above 0. `None` where the number of runs was
            fixed beforehand, as in records of earlier versions.
        alpha: Probability of so much evidence that was allowed where there is nothing: the part of the study's that
            this test had.
        undecided: The runs that were allowed have told nothing clear.
    """

    violations: int
    runs: int
    nominal_violations: int
    nominal_runs: int
    errors: int = 0
    evidence: float | None = None
    alpha: float = ALPHA
    undecided: bool = False

    @property
    def interval(self) -> Interval:
        """Where P(violation | schedule) lies."""
        return self._interval(self.violations, self.runs)

    @property
    def nominal_interval(self) -> Interval:
        """Where P(violation | no injection) lies."""
        return self._interval(self.nominal_violations, self.nominal_runs)

    def _interval(self, violations: int, runs: int) -> Interval:
        return wilson(violations, runs) if self.evidence is None else confidence_sequence(violations, runs)

    @property
    def confirmed(self) -> bool:
        """Whether the schedule makes the violation more likely, at the error that was allowed."""
        if self.evidence is not None:
            return self.evidence * self.alpha >= 1.0
        p_value = fisher_greater(self.violations, self.runs, self.nominal_violations, self.nominal_runs)
        return p_value < self.alpha

    @property
    def instability(self) -> float:
        """How likely two runs of the schedule differ in whether they violate, as estimated without bias; in [0, 1].

        Source: Instab of Eq. 9 of the assurance framework.
        """
        if self.runs < 2:
            return 0.0
        return 2 * self.violations * (self.runs - self.violations) / (self.runs * (self.runs - 1))

    def __str__(self) -> str:
        text = (
            f"violated in {self.violations} of {self.runs} fresh runs (P {_in_words(self.interval)}), without "
            f"injections in {self.nominal_violations} of {self.nominal_runs} (P {_in_words(self.nominal_interval)})"
        )
        if not self.confirmed:
            text += "; undecided" if self.undecided else "; that may be chance"
        if self.evidence is not None:
            text += f"; instability {self.instability:.2f}"
        return f"{text}; {self.errors} more ended as errors" if self.errors else text


@dataclass(frozen=True, slots=True)
class CleanRuns:
    """What the runs in further worlds say of everything cheaper than a counterexample, or within the budget.

    Attributes:
        classes: How many classes of schedules were not seen violating; those that ask no model, and so go alike in all
            worlds, are not among them.
        runs: Clean runs of each, in as many worlds.
        error: Probability that a class violates in a share of runs above `share_max`, for each of them.
        dropped: How many further classes were seen violating, and dropped as chance.
        undecided: How many further ones were seen violating, and neither confirmed nor dropped.
    """

    classes: int
    runs: int
    error: float
    dropped: int = 0
    undecided: int = 0

    @property
    def share_max(self) -> float:
        """Below which share of its runs each class violates."""
        return clean_share_max(self.runs, error=self.error)

    def __str__(self) -> str:
        text = (
            f"{self.runs} clean runs with other answers of each of {self.classes} classes of schedules run here that "
            f"ask the models and do to the world alike, so each violates in less than {self.share_max:.2f} of runs "
            f"(error {self.error:g} each)"
        )
        text += f"; {self.dropped} dropped as chance" if self.dropped else ""
        return f"{text}; {self.undecided} undecided" if self.undecided else text


class Finding(enum.Enum):
    """What a sequential test has found so far.

    `LIKELIER`: the schedule makes violations likelier. `CLOSE`: not by as much as is wanted.
    """

    LIKELIER = "likelier"
    CLOSE = "close"
    OPEN = "open"


class SequentialTest:
    """Compares how often a schedule violates with how often nothing does, and says when that is clear.

    It may be asked after each run; both error rates hold nevertheless. A run under the schedule counts by itself
    against "at least `difference`", and together with one without injections for "likelier"; so while no run under the
    schedule violates, none without injections is needed.

    Args:
        rates: What is asked of this test; of `beta` the most goes to the first of the two ways in which a schedule is
            dropped.
    """

    def __init__(self, rates: ErrorRates) -> None:
        self._likelier, self._needed = EvidenceOfMore(), log(1 / rates.alpha)
        self._rarer, self._closer = EvidenceOfLess(rates.difference), EvidenceOfNearness(rates.difference)
        self._rare = log(1 / ((1.0 - BETA_OF_PAIRS) * rates.beta))
        self._near = log(1 / (BETA_OF_PAIRS * rates.beta))
        self._runs = self._pairs = 0
        self.finding = Finding.OPEN

    @property
    def evidence(self) -> float:
        """The most that there was that the schedule makes violations likelier; a factor."""
        return exp(min(self._likelier.log_peak, LOG_EVIDENCE_MAX))

    def undecided(self) -> bool:
        """Return whether nothing is found yet."""
        return self.finding is Finding.OPEN

    def take(self, under: list[bool], without: list[bool]) -> Finding:
        """Take what all runs so far told: under the schedule, and without injections.

        Returns:
            What is found by now; once it is found, it stays.
        """
        for violated in under[self._runs :]:
            if self.finding is not Finding.OPEN:
                return self.finding
            self._runs += 1
            self._rarer.add(violated)
            if self._rarer.log >= self._rare:
                self.finding = Finding.CLOSE
        for pair in list(zip(under, without, strict=False))[self._pairs :]:
            if self.finding is not Finding.OPEN:
                return self.finding
            self._pairs += 1
            self._likelier.add(*pair)
            self._closer.add(*pair)
            if self._likelier.log >= self._needed:
                self.finding = Finding.LIKELIER
            elif self._closer.log >= self._near:
                self.finding = Finding.CLOSE
        return self.finding


def _in_words(interval: Interval) -> str:
    return f"{interval.low:.2f} to {interval.high:.2f}"

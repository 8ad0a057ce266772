"""Tests and intervals that hold however often they are looked at, so that sampling may stop as soon as all is clear.

Each test is a bet: a wager that cannot grow on average while a hypothesis holds, so that it ever reaches 1 / error with
at most that probability (Ville's inequality). What it has grown to is the evidence against the hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable
from math import lgamma, log
from typing import TypeAlias

from chaosagent.errors import UsageError
from chaosagent.statistics.intervals import Interval

PRIOR_WEIGHT = 8.0
"""How many trials the first guess of a share is worth against those that were seen."""

GUESS, GUESS_BESIDE = 0.35, 0.02
"""First guesses: of the share that is held to be greater, and of the one that it is compared with."""

BISECTIONS = 40
_Holds: TypeAlias = Callable[[float], bool]


class Guess:
    """A running guess of a share, which never is 0 or 1.

    Args:
        first: The guess before anything was seen, between 0 and 1.
    """

    __slots__ = ("_first", "successes", "trials")

    def __init__(self, first: float) -> None:
        self._first = first
        self.successes = self.trials = 0

    @property
    def share(self) -> float:
        """The guess now."""
        return (self._first * PRIOR_WEIGHT + self.successes) / (PRIOR_WEIGHT + self.trials)

    def add(self, success: bool) -> None:  # noqa: FBT001  # an observation
        """Take one trial."""
        self.trials += 1
        self.successes += success


class EvidenceOfMore:
    """Evidence that one share is greater than another, against: it is equal or less.

    Attributes:
        log: Natural logarithm of the evidence.
        log_peak: The most that it has been.

    Source: Turner, Ly and Grünwald 2024, generic E-variables for exact sequential k-sample tests, with one trial of
    each share in a block and running guesses as the alternative.
    """

    __slots__ = ("_one", "_other", "log", "log_peak")

    def __init__(self) -> None:
        self.log = self.log_peak = 0.0
        self._one, self._other = Guess(GUESS), Guess(GUESS_BESIDE)

    def add(self, one: bool, other: bool) -> None:  # noqa: FBT001  # a pair of observations
        """Take one trial of each share."""
        high, low = self._one.share, self._other.share
        if high > low:  # else nothing is wagered
            even = (high + low) / 2
            self.log += _log_ratio(high, even, success=one) + _log_ratio(low, even, success=other)
            self.log_peak = max(self.log_peak, self.log)
        self._one.add(one)
        self._other.add(other)


class EvidenceOfLess:
    """Evidence that a share is less than some value.

    Args:
        least: The value, between 0 and 1.

    Attributes:
        log: Natural logarithm of the evidence.

    Source: Wald 1945, with a running guess as the alternative (Robbins and Siegmund 1974).
    """

    __slots__ = ("_guess", "_least", "log")

    def __init__(self, least: float) -> None:
        if not 0 < least < 1:
            raise UsageError(f"EvidenceOfLess(least={least!r}): least must lie between 0 and 1.")
        self.log = 0.0
        self._least, self._guess = least, Guess(min(GUESS_BESIDE, least / 2))

    def add(self, success: bool) -> None:  # noqa: FBT001  # an observation
        """Take one trial."""
        share = self._guess.share
        if share < self._least:
            self.log += _log_ratio(share, self._least, success=success)
        self._guess.add(success)


class EvidenceOfNearness:
    """Evidence that one share is less than another plus some difference.

    Args:
        difference: Between 0 and 1.

    Attributes:
        log: Natural logarithm of the evidence.

    Source: Turner and Grünwald 2023, exact anytime-valid confidence intervals for contingency tables: the hypothesis is
    represented by the pair of shares on its border that is closest to the guess (in relative entropy).
    """

    __slots__ = ("_both", "_difference", "log")

    def __init__(self, difference: float) -> None:
        if not 0 < difference < 1:
            raise UsageError(f"EvidenceOfNearness(difference={difference!r}): difference must lie between 0 and 1.")
        self.log = 0.0
        self._difference, self._both = difference, Guess(GUESS_BESIDE)

    def add(self, one: bool, other: bool) -> None:  # noqa: FBT001  # a pair of observations
        """Take one trial of each share."""
        share = self._both.share
        low = _closest(share, self._difference)
        self.log += _log_ratio(share, low + self._difference, success=one) + _log_ratio(share, low, success=other)
        self._both.add(one)
        self._both.add(other)


def confidence_sequence(successes: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """Return an interval for a share that holds at whatever number of trials one has stopped.

    Args:
        successes: How many of the trials succeeded.
        trials: How many there were; without any the interval is all of [0, 1].
        confidence: The probability that every one of the intervals, at all numbers of trials, holds the share.

    Raises:
        UsageError: A number is out of bounds.

    Source: Robbins 1970, the mixture over a Beta(1/2, 1/2) distribution.
    """
    if not 0 <= successes <= trials:
        raise UsageError(f"confidence_sequence({successes!r}, {trials!r}): successes must be from 0 to trials.")
    if not 0 < confidence < 1:
        raise UsageError(f"confidence_sequence(confidence={confidence!r}): confidence must lie between 0 and 1.")
    failures = trials - successes
    mixture = _log_beta(successes + 0.5, failures + 0.5) - _log_beta(0.5, 0.5)
    limit = mixture + log(1 - confidence)

    def holds(share: float) -> bool:
        return _log_power(share, successes) + _log_power(1 - share, failures) > limit

    middle = successes / trials if trials else 0.5
    low = 0.0 if holds(0.0) else _border(0.0, middle, holds)
    high = 1.0 if holds(1.0) else _border(1.0, middle, holds)
    return Interval(low, high)


def clean_share_max(trials: int, *, error: float) -> float:
    """Return below which share something happens that was not seen in a number of trials fixed beforehand.

    Args:
        trials: How many there were.
        error: The probability that it is not below.

    Source: the exact binomial (Clopper and Pearson 1934) interval of no success.
    """
    return 1.0 - error ** (1 / trials) if trials else 1.0


def _border(outside: float, inside: float, holds: _Holds) -> float:
    """Return the share between one that does not hold and one that does at which this changes, on the safe side."""
    for _ in range(BISECTIONS):
        middle = (outside + inside) / 2
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return outside


def _closest(share: float, difference: float) -> float:
    """Return `low` for which `low + difference` and `low` are closest to a share each, in relative entropy."""
    start, end = 0.0, 1.0 - difference
    for _ in range(BISECTIONS):
        low = (start + end) / 2
        slope = _slope(share, low + difference) + _slope(share, low)
        if slope < 0:
            start = low
        else:
            end = low
    return (start + end) / 2


def _slope(share: float, of: float) -> float:
    """Return how the relative entropy of a share from another changes with that."""
    return (of - share) / (of * (1.0 - of))


def _log_ratio(share: float, against: float, *, success: bool) -> float:
    return log(share / against) if success else log((1.0 - share) / (1.0 - against))


def _log_power(share: float, times: int) -> float:
    if not times:
        return 0.0
    return times * log(share) if share > 0 else float("-inf")


def _log_beta(one: float, other: float) -> float:
    return lgamma(one) + lgamma(other) - lgamma(one + other)

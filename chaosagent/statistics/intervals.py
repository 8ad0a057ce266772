"""Intervals for shares."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist, fmean, pvariance
from typing import NamedTuple

from chaosagent.errors import UsageError


class Interval(NamedTuple):
    """Where a share lies, with some confidence; both ends in [0, 1]."""

    low: float
    high: float


def wilson(successes: float, trials: float, *, confidence: float = 0.95) -> Interval:
    """Return the Wilson score interval of a share.

    Args:
        successes: How many of the trials succeeded; need not be whole where it is a mean of means.
        trials: How many there were, or count as; without any the share is unknown, and the interval is all of [0, 1].
        confidence: Of the interval, between 0 and 1.

    Raises:
        UsageError: A number is out of bounds.

    Source: Wilson 1927; Brown, Cai and DasGupta 2001 recommend it for small numbers, too.
    """
    if not 0 <= successes <= trials:
        raise UsageError(f"wilson(successes={successes!r}, trials={trials!r}): successes must be from 0 to trials.")
    if not 0 < confidence < 1:
        raise UsageError(f"wilson(confidence={confidence!r}): confidence must lie between 0 and 1.")
    if trials == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / trials
    middle = share + z * z / (2 * trials)
    spread = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    # The share is within, whatever rounding does to the ends.
    low = 0.0 if successes == 0 else min(share, max(0.0, (middle - spread) / scale))
    high = 1.0 if successes == trials else max(share, min(1.0, (middle + spread) / scale))
    return Interval(low, high)


TASKS_MIN = 5
"""Of fewer tasks nothing is said: with four, an interval of 95 % is nearly all of [0, 1]."""


def interval_over_tasks(mean: float, shares: Sequence[float]) -> Interval:
    """Return where a share lies for more tasks like these, with 95 % confidence.

    The tasks count, not the runs of each: more draws on the same tasks tell nothing of other tasks. Shares of tasks lie
    in [0, 1], so they vary at most as much as tasks that all fail or all succeed. They count as so many of those as
    have the same variance, which is reckoned with one more task that always fails and one that always succeeds: a few
    broken tasks may be among those that were not drawn. The quantile is that of Student's t. It holds the share in 93 %
    of cases or more (experiments/benchmarks/planted/README.md has the measurement).

    Args:
        mean: Of the shares, or of all runs where tasks have different numbers of runs.
        shares: One for each task, each in [0, 1]; of fewer than 5 the interval is all of [0, 1].

    Raises:
        UsageError: The mean or another number is no share.

    Source: Wilson 1927, with the effective sample size of Kish 1965 and, for the variance, two added observations as in
    Agresti and Coull 1998; the quantile is the expansion of Abramowitz and Stegun 1964, 26.7.5.
    """
    for share in (mean, *shares):
        if not 0 <= share <= 1:
            raise UsageError(f"interval_over_tasks: {share!r} is no share; it must lie from 0 to 1.")
    tasks = len(shares)
    if tasks < TASKS_MIN:
        return Interval(0.0, 1.0)
    z, degrees = NormalDist().inv_cdf(0.975), tasks - 1
    first = (z**3 + z) / 4 / degrees
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96 / degrees**2
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384 / degrees**3
    confidence = 2 * NormalDist().cdf(z + first + second + third) - 1
    with_both = (*shares, 0.0, 1.0)
    middle = fmean(with_both)
    effective = tasks * middle * (1 - middle) / pvariance(with_both, middle)
    return wilson(mean * effective, effective, confidence=confidence)

"""Intervals for shares."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

from chaosagent.errors import UsageError


class Interval(NamedTuple):
    """Where a share lies, with some confidence; both ends in [0, 1]."""

    low: float
    high: float


def wilson(successes: float, trials: int, *, confidence: float = 0.95) -> Interval:
    """Return the Wilson score interval of a share.

    Args:
        successes: How many of the trials succeeded; need not be whole where it is a mean of means.
        trials: How many there were; without any the share is unknown, and the interval is all of [0, 1].
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
    low = 0.0 if successes == 0 else max(0.0, (middle - spread) / scale)
    high = 1.0 if successes == trials else min(1.0, (middle + spread) / scale)
    return Interval(low, high)

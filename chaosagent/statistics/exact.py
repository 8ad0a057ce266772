"""The exact interval of a share; needs the extra `statistics`."""

from __future__ import annotations

from chaosagent.errors import UsageError
from chaosagent.extras import require
from chaosagent.statistics.intervals import Interval


def exact_interval(successes: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """Return the Clopper-Pearson interval of a share: it covers the share with at least the confidence, always.

    Args:
        successes: How many of the trials succeeded.
        trials: How many there were, a number fixed beforehand; without any the interval is all of [0, 1].
        confidence: Of the interval, between 0 and 1.

    Raises:
        UsageError: A number is out of bounds.
        MissingExtraError: scipy is not installed.

    Source: Clopper and Pearson 1934. `wilson` is narrower and covers the share on average only.
    """
    if not 0 <= successes <= trials:
        raise UsageError(f"exact_interval({successes!r}, {trials!r}): successes must be from 0 to trials.")
    if not 0 < confidence < 1:
        raise UsageError(f"exact_interval(confidence={confidence!r}): confidence must lie between 0 and 1.")
    beta = require("scipy.stats", extra="statistics", needed_by="an exact interval").beta
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else float(beta.ppf(tail, successes, trials - successes + 1))
    high = 1.0 if successes == trials else float(beta.ppf(1 - tail, successes + 1, trials - successes))
    return Interval(low, high)

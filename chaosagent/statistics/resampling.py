"""Intervals by resampling; need the extra `statistics`."""

from __future__ import annotations

import random
from collections.abc import Sequence

from chaosagent.errors import UsageError
from chaosagent.extras import require
from chaosagent.statistics.intervals import Interval

RESAMPLES = 10_000
RESAMPLES_MAX = 1_000_000
VALUES_MAX = 50_000_000
"""Values that are drawn at most, over all resamples."""
BLOCK = 1_000


def resampled_interval(
    values: Sequence[float], *, rng: random.Random, confidence: float = 0.95, resamples: int = RESAMPLES
) -> Interval:
    """Return the percentile interval of a mean: where the means of samples drawn from these values lie.

    Args:
        values: One for each independent unit, such as the mean over the runs of one task; 1 or more.
        rng: Seeds the draws.
        confidence: Of the interval, between 0 and 1.
        resamples: How many samples are drawn, up to 1,000,000.

    Raises:
        UsageError: A number is out of bounds.
        MissingExtraError: numpy is not installed.

    Determinism: equal arguments give equal intervals with one version of numpy.
    Source: Efron 1979, the bootstrap. With fewer than about 100 values in [0, 1] it can be far too narrow
    (experiments/benchmarks/planted/README.md).
    """
    if not values or not 1 <= resamples <= RESAMPLES_MAX or len(values) * resamples > VALUES_MAX:
        raise UsageError(
            f"resampled_interval({len(values)} values, resamples={resamples!r}): give 1 value or more, and from 1 to "
            f"{RESAMPLES_MAX} resamples, together at most {VALUES_MAX} draws."
        )
    if not 0 < confidence < 1:
        raise UsageError(f"resampled_interval(confidence={confidence!r}): confidence must lie between 0 and 1.")
    numpy = require("numpy", extra="statistics", needed_by="an interval by resampling")
    generator = numpy.random.Generator(numpy.random.PCG64(rng.getrandbits(128)))
    given = numpy.asarray(values, dtype=float)
    means = [
        given[generator.integers(0, len(given), size=(min(BLOCK, resamples - begin), len(given)))].mean(axis=1)
        for begin in range(0, resamples, BLOCK)
    ]
    tail = (1 - confidence) / 2
    low, high = numpy.quantile(numpy.concatenate(means), [tail, 1 - tail])
    return Interval(float(low), float(high))

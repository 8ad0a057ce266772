"""How often intervals over tasks hold the value that they are for, and how often those by resampling would.

Run `python -m chaosagent.experiments.benchmarks.planted.interval_coverage`; it needs the extra `statistics`. Tasks are
drawn from kinds whose mean success is known, each task is run under random schedules, and the interval is taken from
the curve, as `chaosagent curve --random` makes it. The intervals of 95 % are for one budget each, and not for all of a
curve at once.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from chaosagent.experiments.benchmarks.measuring import machine, markdown
from chaosagent.extras import require
from chaosagent.metrics.random_curve import DRAWS, RandomRuns, random_curve
from chaosagent.statistics.intervals import Interval
from chaosagent.statistics.resampling import resampled_interval

RATES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)
TASKS = (5, 10, 20, 50, 100)
SAMPLES, RESAMPLED, RESAMPLES = 4_000, 300, 400
NEVER_FAIL = 0.98
"""How often a task that is not broken succeeds, where few tasks are broken."""
HEADER = (
    "tasks",
    "number",
    "held at least",
    "at most",
    "mean width",
    "by resampling at least",
    "at most",
    "mean width",
)


class Coverage(NamedTuple):
    """How intervals did over several rates: least and most often that they held the value, and their mean width."""

    least: float
    most: float
    width: float


Kind = Callable[[Any, int, int, float], Any]
"""Returns the success of so many samples of so many tasks, whose mean over all tasks is a rate."""


def _all_or_none(generator: Any, samples: int, tasks: int, rate: float) -> Any:
    return (generator.random((samples, tasks)) < rate).astype(float)


def _various(generator: Any, samples: int, tasks: int, rate: float) -> Any:
    return generator.beta(2 * rate, 2 * (1 - rate), (samples, tasks))


def _alike(generator: Any, samples: int, tasks: int, rate: float) -> Any:
    return generator.random((samples, tasks)) * 0 + rate


def _few_broken(generator: Any, samples: int, tasks: int, rate: float) -> Any:
    return (generator.random((samples, tasks)) < rate / NEVER_FAIL) * NEVER_FAIL


def _some_always_fail(generator: Any, samples: int, tasks: int, rate: float) -> Any:
    always = (1 - rate) / 2
    return (generator.random((samples, tasks)) >= always) * (rate / (1 - always))


KINDS: Mapping[str, Kind] = {
    "every run of a task ends alike": _all_or_none,
    "tasks differ (beta)": _various,
    "tasks are alike": _alike,
    "a task is broken, or succeeds in 98 % of runs": _few_broken,
    "half of the failures are of tasks that always fail": _some_always_fail,
}


def coverage(kind: str, tasks: int, *, samples: int, resampled: bool = False, seed: int = 0) -> Coverage:
    """Return how often intervals of one kind of task hold the value, over `RATES`.

    Args:
        kind: One of `KINDS`.
        tasks: How many are drawn for an interval.
        samples: How many intervals are made for each rate.
        resampled: By resampling tasks, and not as the curve has them.
        seed: Of the draws.

    Raises:
        MissingExtraError: numpy is not installed.
    """
    numpy = require("numpy", extra="statistics", needed_by="the coverage of intervals")
    generator, rng = numpy.random.default_rng(seed), random.Random(seed)
    shares, widths = [], []
    for rate in RATES:
        means = KINDS[kind](generator, samples, tasks, rate)
        done = generator.binomial(DRAWS, means)
        intervals = [
            resampled_interval([count / DRAWS for count in counts], rng=rng, resamples=RESAMPLES)
            if resampled
            else interval_of(counts)
            for counts in done.tolist()
        ]
        shares.append(sum(low - 1e-9 <= rate <= high + 1e-9 for low, high in intervals) / samples)
        widths.append(sum(high - low for low, high in intervals) / samples)
    return Coverage(min(shares), max(shares), sum(widths) / len(widths))


def interval_of(done: list[int]) -> Interval:
    """Return the interval of a random curve of which so many of the runs of each task succeeded."""
    runs = [
        RandomRuns(str(task), 0, budget, DRAWS, DRAWS, count)
        for budget in (0.0, 1.0)
        for task, count in enumerate(done)
    ]
    return random_curve(runs, 1.0, stochastic=False).levels[-1].interval


def _row(kind: str, tasks: int, samples: int) -> list[str]:
    told = [
        coverage(kind, tasks, samples=samples),
        coverage(kind, tasks, samples=min(samples, RESAMPLED), resampled=True),
    ]
    cells = [cell for one in told for cell in (f"{one.least:.1%}", f"{one.most:.1%}", f"{one.width:.2f}")]
    return [kind, str(tasks), *cells]


def main() -> None:
    """Print the table of the README."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=SAMPLES, help="intervals for each rate (default: %(default)s)")
    samples = parser.parse_args().samples
    print(machine())
    print(markdown(HEADER, [_row(kind, tasks, samples) for kind in KINDS for tasks in TASKS]))


if __name__ == "__main__":
    main()

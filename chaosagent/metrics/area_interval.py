"""How sure the area under R(B) is; needs the extra `statistics`."""

from __future__ import annotations

import random
from collections.abc import Iterable

from chaosagent.errors import UsageError
from chaosagent.metrics.robustness import adversarial_curve
from chaosagent.statistics.intervals import Interval
from chaosagent.statistics.resampling import RESAMPLES, resampled_interval
from chaosagent.study.plan import OBJECTIVE
from chaosagent.study.result import SearchResult


def area_interval(
    searches: Iterable[SearchResult],
    budget_max: float,
    *,
    rng: random.Random,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> Interval:
    """Return where the mean of R over the budgets lies, for more tasks like these.

    The tasks are drawn anew, each with all its seeds: more seeds of a task tell nothing of other tasks. What a search
    left open counts as broken for the lower end and as kept for the upper one. Give 20 tasks or more: of fewer, an
    interval by resampling is too narrow.

    Args:
        searches: Of a study; only those against the contract `objective` count.
        budget_max: Budget of the study.
        rng: Seeds the draws.
        confidence: Of the interval, between 0 and 1.
        resamples: How many samples of tasks are drawn.

    Raises:
        UsageError: No search was against the objective, or a number is out of bounds.
        MissingExtraError: numpy is not installed.
    """
    by_task: dict[str, list[SearchResult]] = {}
    for search in searches:
        if search.contract == OBJECTIVE:
            by_task.setdefault(search.task_id, []).append(search)
    areas = [adversarial_curve(theirs, budget_max).area for theirs in by_task.values()]
    if not areas:
        raise UsageError(f"R(B) needs searches against the contract {OBJECTIVE!r}. Add it to the study's contracts.")
    state = rng.getstate()
    low = resampled_interval([area.low for area in areas], rng=rng, confidence=confidence, resamples=resamples).low
    rng.setstate(state)  # the same tasks again
    high = resampled_interval([area.high for area in areas], rng=rng, confidence=confidence, resamples=resamples).high
    return Interval(low, high)

"""How sure the area under R(B) is."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

from chaosagent.errors import UsageError
from chaosagent.metrics.robustness import adversarial_curve
from chaosagent.statistics.intervals import Interval, interval_over_tasks
from chaosagent.study.plan import OBJECTIVE
from chaosagent.study.result import SearchResult


def area_interval(searches: Iterable[SearchResult], budget_max: float) -> Interval:
    """Return where the mean of R over the budgets lies, for more tasks like these, with 95 % confidence.

    The tasks count, each with all its seeds: more seeds of a task tell nothing of other tasks. What a search left open
    counts as broken for the lower end and as kept for the upper one. Of fewer than 5 tasks nothing is said: the
    interval is all of [0, 1].

    Args:
        searches: Of a study; only those against the contract `objective` count.
        budget_max: Budget of the study.

    Raises:
        UsageError: No search was against the objective.
    """
    by_task: dict[str, list[SearchResult]] = {}
    for search in searches:
        if search.contract == OBJECTIVE:
            by_task.setdefault(search.task_id, []).append(search)
    areas = [adversarial_curve(theirs, budget_max).area for theirs in by_task.values()]
    if not areas:
        raise UsageError(f"R(B) needs searches against the contract {OBJECTIVE!r}. Add it to the study's contracts.")
    low, high = ([min(1.0, end) for end in ends] for ends in zip(*areas, strict=True))
    return Interval(interval_over_tasks(fmean(low), low).low, interval_over_tasks(fmean(high), high).high)

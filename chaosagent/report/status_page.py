"""How far a study is, as a page for people."""

from __future__ import annotations

from chaosagent.clock import seconds_until
from chaosagent.report.page import Page, bad, faint, good, notice, strong
from chaosagent.report.story import quantity, taken_over_text
from chaosagent.study.store.progress_file import LevelSnapshot, Snapshot

BAR = 20
DAY, YEAR = 86_400, 365 * 86_400
MINUTES_ALONE = 600
"""Below so many seconds the seconds count: a limit of 150 s is not two minutes."""
FOUND_SHOWN = 20
TO_GO_ON = {
    "interrupted": "; continue it with --resume",
    "out of time": "; continue it with --resume and more time (--seconds or --until)",
}


def status_page(told: Snapshot, age: float) -> Page:
    """Return how far a study is.

    Args:
        told: Its last snapshot.
        age: Of that, in seconds.
    """
    state = f"{told.state}{TO_GO_ON.get(told.state, '')}"
    shard = f", shard {told.shard}" if told.shard else ""
    title = f"{told.target}, configuration {told.config}, budget {told.budget:g}{shard}: "
    page = Page().line(strong(title), (good if told.state == "ended" else notice)(state))
    if told.state == "running" and age > STALE_SECONDS:
        page.line(
            faint(f"nothing new for {readable(age)}: one run takes long, a resume checks the store, or all is slow")
        )
    if told.state == "running" and told.doing:
        page.line(faint(told.doing))
    is_running = told.state == "running"
    rate = f", {told.rate:,.0f} a second in the last minute" if is_running and not told.doing else ""
    page.table(
        ("", ""),
        [
            ("searches", f"{told.searches_over} of {told.searches} over"),
            ("trials", f"{told.trials:,} of at most {told.trials_max:,}{rate}"),
            ("runs", f"{told.executions:,}{taken_over_text(told.taken_over)}, {told.errors:,} of them ended as errors"),
            ("time", f"{readable(told.seconds)} in all sessions{_limits(told)}"),
            *([("left", left_text(told)), ("memory", f"{told.megabytes:,.0f} MB")] if is_running else []),
            ("violations", _violations(told)),
            ("lower bound", _bound(told)),
        ],
    )
    if told.levels:
        _tell_levels(page, told)
    if told.counterexamples:
        page.heading("Counterexamples so far")
        shown = sorted(told.counterexamples, key=lambda one: (one.cost, one.contract, one.task, one.seed))
        page.table(
            ("contract", "task", "seed", "cost", "id"),
            [
                (bad(one.contract), one.task, str(one.seed), f"{one.cost:g}", one.id or faint("not reduced yet"))
                for one in shown[:FOUND_SHOWN]
            ],
        )
        if len(shown) > FOUND_SHOWN:
            page.line(faint(f"... {len(shown) - FOUND_SHOWN} more"))
    return page


STALE_SECONDS = 10.0


def bar(done: int, total: int) -> str:
    """Return a bar of `#` and `.`, full when all is done and never before."""
    filled = BAR * done // total if total else 0
    return "#" * filled + "." * (BAR - filled)


def range_of(level: int, budget: float) -> str:
    """Return the costs of a level, up to the next one or the budget.

    Args:
        level: The least cost.
        budget: Up to which cost is searched.
    """
    return f"{level} to {min(level + 1, budget):g}" if budget > level else f"{level}"


def _tell_levels(page: Page, told: Snapshot) -> None:
    page.heading("By cost")
    page.table(
        ("cost", "searches through", "", "trials", "schedules"),
        [_level(level, told.budget, told.searches) for level in told.levels],
    )
    others = told.trials - sum(level.trials for level in told.levels)
    if others > 0 and not told.doing:
        page.line(faint(f"{quantity(others, 'more trial')}: without faults, or outside these costs"))


def _level(level: LevelSnapshot, budget: float, searches: int) -> tuple[str, ...]:
    schedules = f"at least {level.schedules:,}" if level.schedules else "-"
    through = f"{level.searches_over} of {searches}"
    return (
        range_of(level.cost, budget),
        through,
        bar(level.searches_over, searches),
        f"{level.trials:,}",
        schedules,
    )


def _limits(told: Snapshot) -> str:
    return "" if told.seconds_max is None else f", at most {readable(told.seconds_max)}"


def _violations(told: Snapshot) -> str:
    if told.best_cost is None:
        return "none yet"
    return f"{quantity(told.found, 'violation')} known, the cheapest costs {told.best_cost:g}"


def _bound(told: Snapshot) -> str:
    if told.lower_bound is None:
        return "no search is open"
    where = f"; the least far search is {told.current}" if told.current else ""
    return f"nothing below {told.lower_bound:g} breaks any contract, proved once runs have been repeated{where}"


def left_range(told: Snapshot) -> tuple[float, float] | None:
    """Return how many more seconds a study takes at least and at most; `None` where nobody can tell.

    At least, as the rest of its searches may end with the next trial; at most, as each may use all trials that it is
    allowed to, at the rate of the last minute, or as a limit of time ends the session before.
    """
    if told.state != "running" or told.rate <= 0:
        return None
    most = max(0, told.trials_max - told.trials) / told.rate
    if told.seconds_max is not None:
        most = min(most, max(0.0, told.seconds_max - told.seconds))
    if told.until:
        most = min(most, seconds_until(told.until))
    return 0.0, most


def left_text(told: Snapshot) -> str:
    """Say how long a study takes at most."""
    ends = []
    if told.seconds_max is not None:
        ends.append((max(0.0, told.seconds_max - told.seconds), "search.seconds"))
    if told.until:
        ends.append((seconds_until(told.until), f"search.until, {told.until}"))
    seconds, limit = min(ends, default=(float("inf"), ""))
    at_rate = max(0, told.trials_max - told.trials) / told.rate if told.rate > 0 else float("inf")
    if seconds < at_rate:
        return f"at most {readable(seconds)}: then this session ends ({limit}), and --resume goes on"
    if at_rate == float("inf"):
        return "-"
    return f"at most {readable(at_rate)} at this rate, and less if searches end before their limits"


def readable(seconds: float) -> str:
    """Return a time for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < MINUTES_ALONE:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    if seconds < 5_400:
        return f"{seconds / 60:.0f} min"
    if seconds < 2 * DAY:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / DAY:,.0f} days" if seconds < 2 * YEAR else f"{seconds / YEAR:,.0f} years"

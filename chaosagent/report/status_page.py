"""How far a study is, as a page for people."""

from __future__ import annotations

from chaosagent.clock import seconds_until
from chaosagent.report.page import Page, bad, faint, good, notice, strong
from chaosagent.report.story import quantity
from chaosagent.study.store.progress_file import LevelSnapshot, Snapshot

BAR = 20
FOUND_SHOWN = 20


def status_page(told: Snapshot, age: float) -> Page:
    """Return how far a study is.

    Args:
        told: Its last snapshot.
        age: Of that, in seconds.
    """
    state = "interrupted; continue it with --resume" if told.state == "interrupted" else told.state
    shard = f", shard {told.shard}" if told.shard else ""
    title = f"{told.target}, configuration {told.config}, budget {told.budget:g}{shard}: "
    page = Page().line(strong(title), (good if told.state == "ended" else notice)(state))
    if told.state == "running" and age > STALE_SECONDS:
        page.line(
            faint(f"last heard of {readable(age)} ago: one run takes long, a resume checks the store, or all is slow")
        )
    page.table(
        ("", ""),
        [
            ("searches", f"{told.searches_over} of {told.searches} over"),
            ("trials", f"{told.trials:,} of at most {told.trials_max:,}, {told.rate:,.0f} a second in the last minute"),
            ("runs", f"{told.executions:,}, {told.errors:,} of them ended as errors"),
            ("time", f"{readable(told.seconds)}{_limits(told)}"),
            ("left", left_text(told)),
            ("memory", f"{told.megabytes:,.0f} MB"),
            ("violations", _violations(told)),
            ("proved", _proved(told)),
        ],
    )
    if told.levels:
        page.heading("By cost")
        page.table(
            ("cost", "searches through", "", "trials", "schedules"),
            [_level(level, told.searches) for level in told.levels],
        )
    if told.counterexamples:
        page.heading("Counterexamples so far")
        shown = sorted(told.counterexamples, key=lambda one: (one.cost, one.contract, one.task, one.seed))
        page.table(
            ("contract", "task", "seed", "cost", "id"),
            [(bad(one.contract), one.task, str(one.seed), f"{one.cost:g}", one.id) for one in shown[:FOUND_SHOWN]],
        )
        if len(shown) > FOUND_SHOWN:
            page.line(faint(f"... {len(shown) - FOUND_SHOWN} more"))
    return page


STALE_SECONDS = 10.0


def bar(done: int, total: int) -> str:
    """Return a bar of `#` and `.`, full when all is done and never before."""
    filled = BAR * done // total if total else 0
    return "#" * filled + "." * (BAR - filled)


def _level(level: LevelSnapshot, searches: int) -> tuple[str, ...]:
    schedules = f"at least {level.schedules:,}" if level.schedules else "-"
    through = f"{level.searches_over} of {searches}"
    return (
        f"{level.cost} to {level.cost + 1}",
        through,
        bar(level.searches_over, searches),
        f"{level.trials:,}",
        schedules,
    )


def _limits(told: Snapshot) -> str:
    most = [] if told.seconds_max is None else [f"of at most {readable(told.seconds_max)}"]
    most += [f"until {told.until}"] if told.until else []
    return f" {', '.join(most)}" if most else ""


def _violations(told: Snapshot) -> str:
    if told.best_cost is None:
        return "none yet"
    return f"{quantity(told.found, 'violation')} known, the cheapest costs {told.best_cost:g}"


def _proved(told: Snapshot) -> str:
    if told.lower_bound is None:
        return "no search is open"
    where = f" ({told.current})" if told.current else ""
    return f"in the search that is least far, nothing cheaper than {told.lower_bound:g} breaks its contract{where}"


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
    found = left_range(told)
    if found is None:
        return "-"
    return f"at most {readable(found[1])} at this rate, and less if searches end before their limits"


def readable(seconds: float) -> str:
    """Return a time for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3600:.1f} h"

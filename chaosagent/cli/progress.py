"""How far a study is, on stderr: a few live lines on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

from chaosagent.api.session import Display
from chaosagent.clock import monotonic, seconds_until
from chaosagent.report.printable import printable
from chaosagent.report.status_page import bar, range_of, readable
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyProgress

if TYPE_CHECKING:
    from rich.console import RenderableType

SECONDS_BETWEEN_LINES, SECONDS_BETWEEN_LINES_MAX = 5.0, 300.0
LINES_SHARE = 0.05
"""A plain line comes after this share of the time since the start: a night takes some hundred lines."""
FRAMES_PER_SECOND = 8
SECONDS_FOR_RATE = 4.0
"""The rate of runs is known well enough this long after the last run without injections."""


def display_for(plan: Plan, title: str, stream: TextIO | None = None) -> Display:
    """Return the display that fits where a stream goes, stderr by default."""
    stream = sys.stderr if stream is None else stream
    if stream.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return LiveDisplay(plan, title, stream)
    return LineDisplay(plan, title, stream)


class _NewsDisplay(Display):
    """Tells of violations, and how large the space is once all runs without injections were made."""

    def __init__(self, plan: Plan, title: str) -> None:
        self._plan, self._title = plan, title
        self._begun: tuple[float, int] | None = None
        self._has_told_space = False
        self._broken: dict[tuple[str, int, str], float] = {}
        self._told: set[str] = set()

    def progress(self, progress: StudyProgress) -> None:
        self._tell_space(progress)
        for one in progress.violations:
            where = one.task_id, one.seed, one.contract
            if where not in self._broken:  # a search may find a cheaper one many times: the end tells the last of them
                self._broken[where] = one.cost
                self._tell_violation(*one, ", not reduced yet")

    def search_over(self, result: SearchResult) -> None:
        for found in result.counterexamples:
            where = found.task_id, found.seed, found.contract
            if found.id not in self._told and self._broken.pop(where, None) != found.cost:
                self._tell_violation(found.task_id, found.seed, found.contract, found.cost, "")
            self._told.add(found.id)

    def _tell_violation(self, task_id: str, seed: int, contract: str, cost: float, note: str) -> None:
        self.say(f"{self._title}: {contract} broken in {task_id}, seed {seed}: cost {cost:g}{note}")

    def _tell_space(self, progress: StudyProgress) -> None:
        if self._has_told_space or progress.nominals_left or not progress.levels:
            return
        self._begun = self._begun or (progress.seconds, progress.executions)
        seconds, runs = progress.seconds - self._begun[0], progress.executions - self._begun[1]
        if seconds >= SECONDS_FOR_RATE and runs:
            self._has_told_space = True
            for line in space_lines(progress, self._plan, runs / seconds):
                self.say(f"{self._title}: {line}")


class LineDisplay(_NewsDisplay):
    """Prints lines: every few seconds at first, every few minutes after an hour or two."""

    def __init__(self, plan: Plan, title: str, stream: TextIO, *, every: float = SECONDS_BETWEEN_LINES) -> None:
        super().__init__(plan, title)
        self._stream, self._every = stream, every
        self._started = self._printed = monotonic()

    def progress(self, progress: StudyProgress) -> None:
        super().progress(progress)
        now = monotonic()
        every = min(SECONDS_BETWEEN_LINES_MAX, LINES_SHARE * (now - self._started))
        if now - self._printed >= max(self._every, every):
            self._printed = now
            self.say(f"{self._title}: {summary_of(progress, self._plan)}")

    def say(self, line: str) -> None:
        self._stream.write(printable(line) + "\n")
        self._stream.flush()


class LiveDisplay(_NewsDisplay):
    """Keeps a few lines up to date, even during a long run; violations scroll above them."""

    def __init__(self, plan: Plan, title: str, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        super().__init__(plan, title)
        self._progress = StudyProgress()
        self._heard = monotonic()
        self._live = Live(
            console=Console(file=stream, highlight=False),
            get_renderable=self._render,
            redirect_stdout=False,
            redirect_stderr=False,
            refresh_per_second=FRAMES_PER_SECOND,
            transient=True,
        )
        self._live.start()

    def progress(self, progress: StudyProgress) -> None:
        self._progress, self._heard = progress, monotonic()
        super().progress(progress)

    def say(self, line: str) -> None:
        from rich.text import Text

        self._live.console.print(Text(printable(line)), soft_wrap=True)

    def close(self) -> None:
        self._live.stop()

    def _render(self) -> RenderableType:
        from rich.text import Text

        progress, plan = self._progress, self._plan
        seconds = progress.seconds + monotonic() - self._heard
        return Text.assemble(
            (printable(self._title), "bold"),
            "  ",
            "  ".join(_found(progress, plan)),
            "\n",
            "  ".join(_work(progress, plan, seconds)),
            "\n",
            *(f"{line}\n" for line in _level_lines(progress, plan.budget)),
            (printable(_doing(progress) or progress.current, characters_max=200), "dim"),
            no_wrap=True,
            overflow="ellipsis",
        )


def _rounded(rate: float) -> str:
    """Return a rate with digits that count: a slow target makes less than one run a second."""
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def summary_of(progress: StudyProgress, plan: Plan) -> str:
    """Return how far a study is in one line."""
    doing = _doing(progress)
    return "  ".join([*_found(progress, plan), *_work(progress, plan, progress.seconds), *([doing] if doing else [])])


def space_lines(progress: StudyProgress, plan: Plan, rate: float) -> list[str]:
    """Return how many schedules there are at each level of cost, how long they take, and what limits leave out.

    Args:
        progress: Of a study whose runs without injections were made.
        plan: Of the study.
        rate: Runs a second.
    """
    lines: list[str] = []
    reach: list[tuple[int, int]] = []
    for level in progress.levels:
        reach.append((level.cost, (reach[-1][1] if reach else 0) + level.schedules))
        lines.append(
            f"cost {range_of(level.cost, plan.budget)}: at least {level.schedules:,} schedules; to run all up to there "
            f"takes {readable(reach[-1][1] / rate)} at {_rounded(rate)} runs a second"
        )
    if lines:
        lines.append("that is a rough guide: rules prove many schedules without a run, and faults lead to more calls")
    places = len(plan.tasks) * len(plan.seeds)
    short = [level.cost for level in progress.levels if level.schedules / places > plan.limits.trials_max]
    if short:
        lines.append(
            f"each search ends after {plan.limits.trials_max:,} trials (search.trials), perhaps before all of cost "
            f"{range_of(short[0], plan.budget)} was tried: raise it with --trials, or name fewer operators"
        )
    seconds, limit = _session_end(progress, plan)
    late = [cost for cost, schedules in reach if schedules / rate > seconds]
    if late:
        lines.append(
            f"this session ends in {readable(seconds)} ({limit}), perhaps before all of cost "
            f"{range_of(late[0], plan.budget)} was tried: allow more time, name fewer operators, or --resume later"
        )
    return lines


def _session_end(progress: StudyProgress, plan: Plan) -> tuple[float, str]:
    """Return how many seconds are left of this session, and the key of the limit that ends it."""
    limits, ends = plan.limits, [(float("inf"), "")]
    if limits.seconds_max is not None:
        ends.append((max(0.0, limits.seconds_max - progress.seconds), "search.seconds"))
    if limits.until is not None:
        ends.append((seconds_until(limits.until), "search.until"))
    return min(ends)


def _level_lines(progress: StudyProgress, budget: float) -> list[str]:
    return [
        f"cost {range_of(level.cost, budget)}  {bar(level.searches_over, progress.searches)}  "
        f"{level.searches_over}/{progress.searches} searches through, {level.trials:,} trials"
        for level in progress.levels
    ]


def _found(progress: StudyProgress, plan: Plan) -> list[str]:
    best = "none yet" if progress.best_cost is None else f"{progress.best_cost:g}"
    bound = f"{progress.lower_bound:g}" if progress.lower_bound < float("inf") else "the budget"
    return [
        f"{progress.searches_over}/{progress.searches} searches",
        f"{progress.found} found, best cost {best}",
        f"{_known(progress, plan)} below {bound}",
    ]


def _doing(progress: StudyProgress) -> str:
    """Say what a study does besides searching; empty while it searches."""
    if progress.repeats is None:
        return progress.doing
    made, total = progress.repeats
    return f"repeating faulty runs in fresh processes: {made} of {total}"


def _known(progress: StudyProgress, plan: Plan) -> str:
    if progress.stochastic:
        return "all confirmed ones known" if plan.wants_several else "none confirmed"
    return "all known" if plan.wants_several else "nothing"


def _work(progress: StudyProgress, plan: Plan, seconds: float) -> list[str]:
    rate = f"{progress.rate:,.0f}/s" if progress.rate else "-/s"
    errors = "1 error" if progress.errors == 1 else f"{progress.errors} errors"
    trials_max = plan.limits.trials_max * progress.searches
    most = f" of at most {trials_max:,}" if trials_max else ""
    trials = f"{progress.trials:,}{most} trials ({rate})"
    return [trials, errors, f"{seconds:.0f} s{_of_seconds(plan)}"]


def _of_seconds(plan: Plan) -> str:
    """Say how long the study may take at most.

    Nothing is said of how long it will take: most searches end long before their limits, and one that has ended does
    not tell when another will, whose proof may take ten times as many runs.
    """
    return "" if plan.limits.seconds_max is None else f" of at most {readable(plan.limits.seconds_max)}"

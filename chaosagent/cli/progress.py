"""How far a study is, on stderr: one live line on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

from chaosagent.api.session import Display
from chaosagent.clock import monotonic
from chaosagent.report.printable import printable
from chaosagent.report.status_page import bar, readable
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyProgress

if TYPE_CHECKING:
    from rich.console import RenderableType

SECONDS_BETWEEN_LINES = 5.0
FRAMES_PER_SECOND = 8
SECONDS_FOR_RATE = 4.0
"""The rate of runs is known well enough this long after the last run without injections."""


def display_for(plan: Plan, title: str, stream: TextIO | None = None) -> Display:
    """Return the display that fits where a stream goes, stderr by default."""
    stream = sys.stderr if stream is None else stream
    if stream.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return LiveDisplay(plan, title, stream)
    return LineDisplay(plan, title, stream)


class _SpaceDisplay(Display):
    """Tells, once all runs without injections were made, how large the space is and how long that may take."""

    def __init__(self, plan: Plan, title: str) -> None:
        self._plan, self._title = plan, title
        self._begun: tuple[float, int] | None = None
        self._has_told_space = False

    def _tell_space(self, progress: StudyProgress) -> None:
        if self._has_told_space or progress.nominals_left or not progress.levels:
            return
        self._begun = self._begun or (progress.seconds, progress.executions)
        seconds, runs = progress.seconds - self._begun[0], progress.executions - self._begun[1]
        if seconds >= SECONDS_FOR_RATE and runs:
            self._has_told_space = True
            for line in space_lines(progress, self._plan, runs / seconds):
                self.say(f"{self._title}: {line}")


class LineDisplay(_SpaceDisplay):
    """Prints a line every few seconds, and nothing more."""

    def __init__(self, plan: Plan, title: str, stream: TextIO, *, every: float = SECONDS_BETWEEN_LINES) -> None:
        super().__init__(plan, title)
        self._stream, self._every = stream, every
        self._printed = monotonic()

    def progress(self, progress: StudyProgress) -> None:
        self._tell_space(progress)
        now = monotonic()
        if now - self._printed >= self._every:
            self._printed = now
            self.say(f"{self._title}: {summary_of(progress, self._plan)}")

    def say(self, line: str) -> None:
        self._stream.write(printable(line) + "\n")
        self._stream.flush()


class LiveDisplay(_SpaceDisplay):
    """Keeps a few lines up to date, even during a long run; counterexamples scroll above them."""

    def __init__(self, plan: Plan, title: str, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        super().__init__(plan, title)
        self._progress = StudyProgress()
        self._shown: set[str] = set()
        self._started = monotonic()
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
        self._progress = progress
        self._tell_space(progress)

    def search_over(self, result: SearchResult) -> None:
        for found in result.counterexamples:
            if found.id not in self._shown:
                self._shown.add(found.id)
                self.say(f"{found.contract} broken in {found.task_id}, seed {found.seed}: cost {found.cost:g}")

    def say(self, line: str) -> None:
        from rich.text import Text

        self._live.console.print(Text(printable(line)), soft_wrap=True)

    def close(self) -> None:
        self._live.stop()

    def _render(self) -> RenderableType:
        from rich.text import Text

        self._progress.seconds = monotonic() - self._started
        return Text.assemble(
            (printable(self._title), "bold"),
            "  ",
            "  ".join(_found(self._progress, self._plan)),
            "\n",
            "  ".join(_work(self._progress, self._plan)),
            "\n",
            *(f"{line}\n" for line in _level_lines(self._progress)),
            (printable(_repeats(self._progress) or self._progress.current, characters_max=200), "dim"),
            no_wrap=True,
            overflow="ellipsis",
        )


def summary_of(progress: StudyProgress, plan: Plan) -> str:
    """Return how far a study is in one line."""
    repeats = [] if progress.repeats is None else [_repeats(progress)]
    return "  ".join([*_found(progress, plan), *_work(progress, plan), *repeats])


def space_lines(progress: StudyProgress, plan: Plan, rate: float) -> list[str]:
    """Return how many schedules there are at each level of cost, how long they take, and what limits leave out.

    Args:
        progress: Of a study whose runs without injections were made.
        plan: Of the study.
        rate: Runs a second.
    """
    lines, before = [], 0
    for level in progress.levels:
        before += level.schedules
        lines.append(
            f"cost {level.cost} to {level.cost + 1}: at least {level.schedules:,} schedules; all up to there take "
            f"{readable(before / rate)} at {rate:,.0f} runs a second; rules spare runs, and faults open further calls"
        )
    places = len(plan.tasks) * len(plan.seeds)
    short = [level.cost for level in progress.levels if level.schedules / places > plan.limits.trials_max]
    if short:
        lines.append(
            f"each search ends after {plan.limits.trials_max:,} trials (search.trials), perhaps before all that costs "
            f"{short[0]} to {short[0] + 1} was tried: raise it with --trials, or name fewer operators"
        )
    return lines


def _level_lines(progress: StudyProgress) -> list[str]:
    return [
        f"cost {level.cost} to {level.cost + 1}  {bar(level.searches_over, progress.searches)}  "
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


def _repeats(progress: StudyProgress) -> str:
    """Say how many runs were repeated behind the searches; empty while none are."""
    if progress.repeats is None:
        return ""
    made, total = progress.repeats
    return f"repeating faulty runs in fresh processes: {made} of {total}"


def _known(progress: StudyProgress, plan: Plan) -> str:
    if progress.stochastic:
        return "all confirmed ones known" if plan.wants_several else "none confirmed"
    return "all known" if plan.wants_several else "proved"


def _work(progress: StudyProgress, plan: Plan) -> list[str]:
    rate = f"{progress.trials / progress.seconds:,.0f}/s" if progress.seconds > 0 else "-/s"
    errors = "1 error" if progress.errors == 1 else f"{progress.errors} errors"
    trials_max = plan.limits.trials_max * progress.searches
    most = f" of at most {trials_max:,}" if trials_max else ""
    trials = f"{progress.trials:,}{most} trials ({rate})"
    return [trials, errors, f"{progress.seconds:.0f} s{_of_seconds(plan)}"]


def _of_seconds(plan: Plan) -> str:
    """Say how long the study may take at most.

    Nothing is said of how long it will take: most searches end long before their limits, and one that has ended does
    not tell when another will, whose proof may take ten times as many runs.
    """
    return "" if plan.limits.seconds_max is None else f" of at most {readable(plan.limits.seconds_max)}"

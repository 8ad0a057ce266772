"""How far a study is, on stderr: one live line on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

from chaosagent.api.session import Display
from chaosagent.clock import monotonic
from chaosagent.report.printable import printable
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyProgress

if TYPE_CHECKING:
    from rich.console import RenderableType

SECONDS_BETWEEN_LINES = 5.0
FRAMES_PER_SECOND = 8


def display_for(plan: Plan, title: str, stream: TextIO | None = None) -> Display:
    """Return the display that fits where a stream goes, stderr by default."""
    stream = sys.stderr if stream is None else stream
    if stream.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return LiveDisplay(plan, title, stream)
    return LineDisplay(plan, title, stream)


class LineDisplay(Display):
    """Prints a line at the beginning, every few seconds, and nothing more."""

    def __init__(self, plan: Plan, title: str, stream: TextIO, *, every: float = SECONDS_BETWEEN_LINES) -> None:
        self._plan, self._title, self._stream, self._every = plan, title, stream, every
        self._printed = monotonic()

    def progress(self, progress: StudyProgress) -> None:
        now = monotonic()
        if now - self._printed >= self._every:
            self._printed = now
            self.say(f"{self._title}: {summary_of(progress, self._plan)}")

    def say(self, line: str) -> None:
        self._stream.write(printable(line) + "\n")
        self._stream.flush()


class LiveDisplay(Display):
    """Keeps two lines up to date, also while a long run lets nothing be told."""

    def __init__(self, plan: Plan, title: str, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self._plan, self._title = plan, title
        self._progress = StudyProgress()
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
            (printable(_repeats(self._progress) or self._progress.current, characters_max=200), "dim"),
            no_wrap=True,
            overflow="ellipsis",
        )


def summary_of(progress: StudyProgress, plan: Plan) -> str:
    """Return how far a study is in one line."""
    repeats = [] if progress.repeats is None else [_repeats(progress)]
    return "  ".join([*_found(progress, plan), *_work(progress, plan), *repeats])


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
    return "" if plan.limits.seconds_max is None else f" of at most {_readable(plan.limits.seconds_max)}"


def _readable(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3600:.1f} h"

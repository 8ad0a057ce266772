"""`run_study` for commands: with their output, progress and signals."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

from chaosagent.api.session import EXECUTORS, INLINE, Listeners, WorkerSettings
from chaosagent.api.session import run_study as run_study_for
from chaosagent.cli.output import remark, stdout_for_answers
from chaosagent.cli.progress import display_for
from chaosagent.clock import monotonic
from chaosagent.report.findings import Findings
from chaosagent.study.plan import WHOLE, Shard
from chaosagent.study.result import StudyProgress
from chaosagent.study.sink import Sink
from chaosagent.studyfile import StudyFile

__all__ = ["EXECUTORS", "WorkerSettings", "exit_code_of", "run_study", "write_beside"]

PAGE_SECONDS_MIN, PAGE_SECONDS_EXPECTED, PAGE_SHARE_MAX = 15.0, 0.15, 0.01
EXIT_HELD, EXIT_VIOLATED, EXIT_INCONCLUSIVE, EXIT_FAILED, EXIT_INTERRUPTED = 0, 1, 3, 4, 130


def run_study(
    study: StudyFile,
    out: Path,
    workforce: WorkerSettings = INLINE,
    *,
    title: str | None = None,
    resume: bool = False,
    shard: Shard = WHOLE,
) -> Findings:
    """Run a study and store it; SIGTERM ends it as Ctrl-C does.

    Args:
        study: The study file.
        out: The folder of the study.
        workforce: Where the runs happen.
        title: What the progress display calls it; `None` shows no progress.
        resume: Continue the unfinished study in the folder.
        shard: Search only this part of it.

    Raises:
        ChaosAgentError: As `chaosagent.api.session.run_study`.
    """
    for limit in ("wall_seconds", "memory_megabytes") if workforce.executor == "inline" else ():
        if study.sets("run", limit):
            remark(f"chaosagent: only worker processes enforce run.{limit}; for that, add --executor process")
    with sigterm_as_interrupt(), stdout_for_answers() as printed:
        audience = Listeners(
            printed,
            lambda text: remark(f"chaosagent: {text}"),
            None if title is None else lambda plan: display_for(plan, title, printed.original),
            () if title is None else (PageSink(out),),
        )
        return run_study_for(study, out, audience, workforce, resume=resume, shard=shard)


def exit_code_of(findings: Findings) -> int:
    """Return the exit code that says how a study ended."""
    result = findings.result
    if result.interrupted:
        return EXIT_INTERRUPTED
    if result.counterexamples or findings.nominal_violations:
        return EXIT_VIOLATED
    by_chance = [search.certificate.broken_anyway for search in findings.broken_by_chance]
    if any(one is not None and one.share >= findings.plan.difference for one in by_chance):
        return EXIT_VIOLATED  # it breaks by as much as a fault would have to make it likelier
    space = findings.plan.space
    if space.unmatched or space.idle or by_chance:
        return EXIT_INCONCLUSIVE
    if not findings.open_searches:
        return EXIT_HELD if any(search.injectable for search in result.searches) else EXIT_INCONCLUSIVE
    return EXIT_FAILED if findings.errors else EXIT_INCONCLUSIVE


class PageSink(Sink):
    """Writes the page of a study while it runs, in at most a hundredth of the time.

    Args:
        folder: Of the study.
        seconds_min: Between two pages, and before the first; a quarter of a minute by default.
    """

    def __init__(self, folder: Path, seconds_min: float | None = None) -> None:
        self._folder = folder
        self._seconds_min = PAGE_SECONDS_MIN if seconds_min is None else seconds_min
        self._begun = self._ended = monotonic()
        self._spent, self._latest = 0.0, PAGE_SECONDS_EXPECTED

    def progress(self, progress: StudyProgress) -> None:  # noqa: ARG002  # the page is read from the folder
        begun = monotonic()
        affordable = (begun - self._begun) * PAGE_SHARE_MAX
        if begun - self._ended < self._seconds_min or self._spent + self._latest > affordable:
            return
        write_beside(self._folder)  # what is wrong with it is reported at the end
        self._ended = monotonic()
        self._latest = self._ended - begun
        self._spent += self._latest


def write_beside(folder: Path) -> str:
    """Write the page of a study that has just ended into its folder, and return a line that says so, or why not.

    A page that cannot be written is no reason for a search to fail: everything is stored, and `report` writes it later.
    """
    from chaosagent.api.stored.study_facts import study_facts
    from chaosagent.errors import ChaosAgentError, MissingExtraError
    from chaosagent.report.html.render import NAME, page_of, write_page

    try:
        write_page(page_of(study_facts(folder)), folder / NAME)
    except MissingExtraError:
        return f"no {NAME}: it needs jinja2. `pip install 'chaosagent[report]'`, then `chaosagent report {folder}`."
    except Exception as error:  # the template engine is foreign code, and no page is worth a night's study
        kind = "" if isinstance(error, ChaosAgentError) else f"{type(error).__name__}: "
        return f"no {NAME}: {kind}{error}"
    return f"the page of this study: {folder / NAME}"


@contextlib.contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does: stop asking, save, and say how to go on."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what a signal does
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)

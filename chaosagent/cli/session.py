"""One study from its file to its folder: run, stored, with a record for each counterexample."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from chaosagent.cli.output import remark, stdout_for_answers
from chaosagent.cli.progress import display_for
from chaosagent.cli.records import RecordSink
from chaosagent.cli.termination import termination_as_interrupt
from chaosagent.errors import ChaosAgentError, OtherStudyError, SearcherError
from chaosagent.execution.elsewhere import open_elsewhere
from chaosagent.execution.executor import Executor
from chaosagent.execution.inline import InlineExecutor
from chaosagent.execution.printed import Printed
from chaosagent.execution.process_pool import ProcessExecutor
from chaosagent.extras import require
from chaosagent.report.findings import Findings
from chaosagent.report.leftovers import Leftovers
from chaosagent.report.notes import Notes
from chaosagent.study.earlier import NOTHING_EARLIER
from chaosagent.study.plan import Plan
from chaosagent.study.sink import Sink
from chaosagent.study.store import ANSWERS_NAME, StudyStore
from chaosagent.study.study import Study
from chaosagent.studyfile import StudyFile, difference_of, plan_of, worker_setup

EXECUTORS = ("inline", "process", "ray")
EXIT_HELD, EXIT_VIOLATED, EXIT_INCONCLUSIVE, EXIT_FAILED, EXIT_INTERRUPTED = 0, 1, 3, 4, 130


@dataclass(frozen=True, slots=True)
class Workforce:
    """Where the runs of a study happen.

    Attributes:
        executor: `"inline"`, `"process"` or `"ray"`.
        workers: Processes; `None` for one a core.
        ray_address: Of a running Ray cluster; empty for a local one.
    """

    executor: str = "inline"
    workers: int | None = None
    ray_address: str = ""

    @property
    def size(self) -> int:
        """How many runs can happen at a time."""
        return 1 if self.executor == "inline" else self.workers or core_count()

    def check_installed(self) -> None:
        """Refuse an executor whose package is not installed, before anything is written.

        Raises:
            MissingExtraError: It is not.
        """
        if self.executor == "ray":
            require("ray", extra="ray", needed_by="--executor ray")

    def open(self, study: StudyFile, plan: Plan, warn: Callable[[str], object]) -> Executor:
        """Return the executor; worker processes are started.

        Args:
            study: The study file.
            plan: What it says.
            warn: Called with a line on what the executor cannot do.
        """
        if self.executor == "inline":
            return InlineExecutor(plan.workbench(), warn)
        setup, limits = worker_setup(study, plan), plan.run_limits
        if self.executor == "process":
            return ProcessExecutor(setup, workers=self.size, limits=limits)
        from chaosagent.execution.ray_pool import RayExecutor

        return RayExecutor(setup, workers=self.size, limits=limits, address=self.ray_address)


INLINE = Workforce()


def run_study(
    study: StudyFile, out: Path, workforce: Workforce = INLINE, *, title: str | None = None, resume: bool = False
) -> Findings:
    """Run a study and store it; records of earlier runs of it that it no longer finds are removed.

    Args:
        study: The study file.
        out: The folder of the study.
        workforce: Where the runs happen.
        title: What the progress display calls it; `None` shows no progress.
        resume: Go on with the unfinished study in the folder.

    Raises:
        OtherStudyError: The folder holds another study; the message says what differs.
        UsageError: The folder or the study file cannot be used.
        ChaosAgentError: The target cannot be loaded, or the study cannot go on.
    """
    environment = dict(os.environ)
    for limit in ("wall_seconds", "memory_megabytes") if workforce.executor == "inline" else ():
        if study.sets("run", limit):
            remark(f"chaosagent: only worker processes enforce run.{limit}; for that, add --executor process")
    with contextlib.ExitStack() as stack:
        stack.enter_context(termination_as_interrupt())
        printed = stack.enter_context(stdout_for_answers())
        plan = plan_of(study)
        workforce.check_installed()
        if not workforce.ray_address:
            plan = _with_answers(plan, out, stack)
        store = _store(study, out, plan, resume=resume)
        for text in store.remarks:
            remark(f"chaosagent: {text}")
        digest = ""
        stack.callback(lambda: store.close(digest))
        executor = workforce.open(study, plan, lambda text: printed.show(f"chaosagent: {text}"))
        stack.callback(executor.close)
        if isinstance(executor, ProcessExecutor):
            stack.callback(_leave_out, printed, executor)
        records, notes = RecordSink(plan, out), Notes()
        sinks: list[Sink] = [store, records, notes]
        if title is not None:
            display = display_for(plan, title, printed.original)
            stack.callback(display.close)
            printed.show = display.say
            sinks.append(display)
        work = Study(
            plan,
            executor,
            sinks=sinks,
            groups_max=workforce.size,
            elsewhere=lambda number: open_elsewhere(
                worker_setup(study, plan), number, limits=plan.run_limits, environment=environment
            ),
            earlier=store.earlier() if resume else NOTHING_EARLIER,
        )
        try:
            result = work.run()
        except ChaosAgentError as error:
            store.give_up()
            if isinstance(error, SearcherError):
                remark(f"chaosagent: {_kept(out, len(records.written))}")
            raise
        removed = [] if result.interrupted else records.remove_stale(result)
        digest = "" if result.interrupted else result.digest
    return Findings(
        plan,
        result,
        records.written,
        out,
        notes,
        Leftovers(removed, records.kept, records.others, records.unwritten),
    )


def _kept(out: Path, record_count: int) -> str:
    """Say what a study leaves behind that its searcher has ended."""
    records = f", and {record_count} of what was found in {out / 'replays'}" if record_count else ""
    return f"all runs are kept in {out}{records}; once the searcher is mended, --resume goes on from there"


def _leave_out(printed: Printed, pool: ProcessExecutor) -> None:
    """Count what was printed in worker processes with what was printed here."""
    printed.left_out += pool.printed_bytes


def _store(study: StudyFile, out: Path, plan: Plan, *, resume: bool) -> StudyStore:
    try:
        if resume:
            return StudyStore.resume(out, plan, study.text_as_run, code=(study.folder,))
        StudyStore.remove(out, plan)
        return StudyStore.create(out, plan, study.text_as_run, code=(study.folder,))
    except OtherStudyError as error:
        raise OtherStudyError(error.folder, difference_of(study, out / "study.yaml")) from None


def _with_answers(plan: Plan, out: Path, stack: contextlib.ExitStack) -> Plan:
    """Return the plan with a file for frozen answers: in the study's folder, unless they may hold secrets."""
    if not plan.target.secrets:
        return replace(plan, answers=out.resolve() / ANSWERS_NAME)
    passing = stack.enter_context(tempfile.TemporaryDirectory(prefix="chaosagent-"))
    return replace(plan, answers=Path(passing) / ANSWERS_NAME)


def core_count() -> int:
    """Return how many cores this process may use, or how many there are where the system does not say."""
    process_cpu_count: Callable[[], int | None] | None = getattr(os, "process_cpu_count", None)  # Python 3.13
    if process_cpu_count is not None:
        return process_cpu_count() or 1
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)  # not on macOS
    return (os.cpu_count() or 1) if affinity is None else len(affinity(0))


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

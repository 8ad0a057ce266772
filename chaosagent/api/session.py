"""One study from its file to its folder: run, stored, with a record for each counterexample."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from chaosagent.api.records import RecordSink
from chaosagent.clock import seconds_until
from chaosagent.errors import ChaosAgentError, OtherStudyError, SearcherError, UsageError
from chaosagent.execution.captured_output import CapturedOutput
from chaosagent.execution.workers.executor import Executor, InlineExecutor
from chaosagent.execution.workers.memory_limit import resident_megabytes
from chaosagent.execution.workers.process_pool import ProcessExecutor
from chaosagent.execution.workers.second_process import open_second_process
from chaosagent.extras import require
from chaosagent.report.findings import Findings
from chaosagent.report.notes import Notes
from chaosagent.report.stale_records import StaleRecords
from chaosagent.report.status_page import readable
from chaosagent.study.checked_searcher import CheckedSearcher
from chaosagent.study.loop.resume_state import NOTHING_EARLIER
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import WHOLE, Plan, Shard
from chaosagent.study.sink import Sink
from chaosagent.study.store.files import ANSWERS_NAME
from chaosagent.study.store.progress_file import ProgressFile
from chaosagent.study.store.study_store import StudyStore
from chaosagent.studyfile import StudyFile, difference_of, plan_of, worker_setup
from chaosagent.temporary_folder import temporary_folder
from chaosagent.vocabulary import Severity

EXECUTORS = ("inline", "process", "ray")


@dataclass(frozen=True, slots=True)
class WorkerSettings:
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
        from chaosagent.execution.workers.ray_pool import RayExecutor

        return RayExecutor(setup, workers=self.size, limits=limits, address=self.ray_address, warn=warn)


INLINE = WorkerSettings()


class Display(Sink):
    """A sink that shows progress to people until it is closed."""

    def say(self, line: str) -> None:
        """Show a line of somebody else's above the display."""

    def close(self) -> None:
        """End the display."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who hears of a study while it runs.

    Attributes:
        printed: Takes what the target prints.
        remark: Called with a line on what the study, the store or the executor cannot do.
        display: Makes what shows progress; `None` shows none.
        sinks: Who else takes trials, results and progress.
    """

    printed: CapturedOutput
    remark: Callable[[str], object]
    display: Callable[[Plan], Display] | None = None
    sinks: Sequence[Sink] = ()


def run_study(
    study: StudyFile,
    out: Path,
    audience: Listeners,
    workforce: WorkerSettings = INLINE,
    *,
    resume: bool = False,
    shard: Shard = WHOLE,
) -> Findings:
    """Run a study and store it; records of earlier runs of it that it no longer finds are removed.

    Args:
        study: The study file, or a study that was written in Python.
        out: The folder of the study.
        audience: Who hears of it.
        workforce: Where the runs happen.
        resume: Continue the unfinished study in the folder.
        shard: Search only this part of it.

    Raises:
        OtherStudyError: The folder holds another study; the message says what differs.
        UsageError: The folder or the study file cannot be used, or worker processes could not import what it is of.
        ChaosAgentError: The target cannot be loaded, or the study cannot continue.
    """
    environment = dict(os.environ)
    _refuse_workers(study, workforce)
    with contextlib.ExitStack() as stack:
        printed = audience.printed
        plan = _part_of(plan_of(study), shard)
        _try_searcher(study, plan)
        workforce.check_installed()
        if not workforce.ray_address:
            plan = _with_answers(plan, out, stack)
        store = _store(study, out, plan, resume=resume)
        for text in (*store.remarks, *_session_end(plan)):
            audience.remark(text)
        progress_file = ProgressFile(out, plan, lambda: resident_megabytes(os.getpid()) or 0.0, store.commit)
        digest, state = "", None
        stack.callback(lambda: store.close(digest, committed=lambda: progress_file.close(state)))
        executor = workforce.open(study, plan, lambda text: printed.show(f"chaosagent: {text}"))
        stack.callback(executor.close)
        if isinstance(executor, ProcessExecutor):
            stack.callback(_leave_out, printed, executor)
        records, notes = RecordSink(plan, out), Notes(task.id for task in plan.tasks)
        sinks: list[Sink] = [store, records, notes, progress_file, _RemarkSink(audience), *audience.sinks]
        if audience.display is not None:
            display = audience.display(plan)
            stack.callback(display.close)
            printed.show = display.say
            sinks.append(display)
        work = Study(
            plan,
            executor,
            sinks=sinks,
            elsewhere=_processes_for(study, plan, environment),
            earlier=store.earlier() if resume else NOTHING_EARLIER,
        )
        try:
            result = work.run()
        except ChaosAgentError as error:
            store.give_up()
            state = "failed"
            if isinstance(error, SearcherError):
                audience.remark(_kept(out, len(records.written)))
            raise
        removed, digest = ([], "") if result.is_cut else (records.remove_stale(result), result.digest)
        state = "interrupted" if result.interrupted else "out of time" if result.out_of_time else "ended"
    return Findings(
        plan,
        result,
        records.written,
        out,
        notes,
        StaleRecords(removed, records.kept, records.others, records.unwritten),
    )


class _RemarkSink(Sink):
    """Passes on what the runs without injections show of likely mistakes."""

    def __init__(self, audience: Listeners) -> None:
        self._audience = audience

    def remarked(self, texts: Sequence[str]) -> None:
        for text in texts:
            if self._audience.display is None:
                self._audience.remark(text)
                continue
            for line in f"chaosagent: {text}".split("\n"):  # above the display
                self._audience.printed.show(line)


def _session_end(plan: Plan) -> list[str]:
    """Say when a session ends: a time of day that is just over is that of tomorrow."""
    until = plan.limits.until
    return (
        [] if until is None else [f"this session ends at {until}, in {readable(seconds_until(until))} (search.until)"]
    )


def _refuse_workers(study: StudyFile, workforce: WorkerSettings) -> None:
    """Refuse worker processes for what only this process has, before anything is written."""
    if study.only_here and workforce.executor != "inline":
        raise UsageError(
            f"{study.located.where()}: {study.only_here[0]}, and worker processes import it by name. Put it at the top "
            "level of a module, such as agent.py, and import it from there; or leave out executor and workers."
        )


def _part_of(plan: Plan, shard: Shard) -> Plan:
    """Return the plan of a part of a study."""
    pairs = len(plan.tasks) * len(plan.seeds)
    if shard.number > pairs:
        raise UsageError(f"--shard {shard}: the study has {pairs} pairs of a task and a seed, and no part for it.")
    return replace(plan, shard=shard)


def _try_searcher(study: StudyFile, plan: Plan) -> None:
    """Make the searcher of one search, so that what it refuses is reported before anything is written."""
    monitor, contract = next((at, one) for at, one in enumerate(plan.contracts) if one.severity is Severity.HARD)
    try:
        CheckedSearcher(plan.searcher, plan.problem(contract, monitor, plan.seeds[0]), plan.searcher_settings)
    except SearcherError:
        raise
    except UsageError as error:  # a setting that only the searcher itself can check, or a package that is missing
        raise UsageError(f"{study.located.where('search', 'settings')}: {error}") from error


def _processes_for(
    study: StudyFile, plan: Plan, environment: Mapping[str, str]
) -> Callable[[int], ProcessExecutor] | None:
    """Return how other processes are started in which runs are repeated; `None` where they could not load the study."""
    if study.only_here:
        return None
    setup = worker_setup(study, plan)
    return lambda number: open_second_process(setup, number, limits=plan.run_limits, environment=environment)


def _kept(out: Path, record_count: int) -> str:
    """Say what a study leaves behind that its searcher has ended."""
    records = f", and {record_count} of what was found in {out / 'replays'}" if record_count else ""
    return f"all runs are kept in {out}{records}; once the searcher is fixed, --resume continues from there"


def _leave_out(printed: CapturedOutput, pool: ProcessExecutor) -> None:
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
    return replace(plan, answers=stack.enter_context(temporary_folder()) / ANSWERS_NAME)


def core_count() -> int:
    """Return how many cores this process may use, or how many there are where the system does not say."""
    process_cpu_count: Callable[[], int | None] | None = getattr(os, "process_cpu_count", None)  # Python 3.13
    if process_cpu_count is not None:
        return process_cpu_count() or 1
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)  # not on macOS
    return (os.cpu_count() or 1) if affinity is None else len(affinity(0))

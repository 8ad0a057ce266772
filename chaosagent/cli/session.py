"""One study from its file to its folder: run, stored, with a record for each counterexample."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from chaosagent.cli.output import stdout_for_answers
from chaosagent.cli.progress import display_for
from chaosagent.execution.executor import Executor
from chaosagent.execution.inline import InlineExecutor
from chaosagent.execution.process_pool import ProcessExecutor
from chaosagent.execution.workbench import Workbench
from chaosagent.replays.record import record_of
from chaosagent.replays.store import write_record
from chaosagent.report.findings import Findings
from chaosagent.study.evaluator import Experimental
from chaosagent.study.plan import Plan
from chaosagent.study.result import Progress, SearchResult
from chaosagent.study.search import Trial
from chaosagent.study.store import StudyStore
from chaosagent.study.study import Sink, Study
from chaosagent.studyfile import StudyFile, plan_of, worker_setup

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
        return 1 if self.executor == "inline" else self.workers or len(os.sched_getaffinity(0))

    def open(self, study: StudyFile, plan: Plan) -> Executor:
        """Return the executor; worker processes are started."""
        if self.executor == "inline":
            return InlineExecutor(workbench_of(plan))
        limit = plan.run_limits.wall_seconds_max
        setup = worker_setup(study, plan)
        if self.executor == "process":
            return ProcessExecutor(setup, workers=self.size, wall_seconds_max=limit)
        from chaosagent.execution.ray_pool import RayExecutor

        return RayExecutor(setup, workers=self.size, wall_seconds_max=limit, address=self.ray_address)


@dataclass(slots=True)
class RecordSink:
    """Writes the record of each counterexample as soon as its search is over.

    Attributes:
        plan: Of the study.
        folder: Where records go.
        written: Path of each record, by the id of its counterexample.
    """

    plan: Plan
    folder: Path
    written: dict[str, Path] = field(default_factory=dict)

    def trial(self, at: Experimental, contract: str, trial: Trial) -> None:
        """Nothing is stored of single trials here."""

    def search_over(self, result: SearchResult) -> None:
        found = result.counterexample
        if found is None:
            return
        record = record_of(found, self.plan)
        self.written[found.id] = write_record(self.folder, record)

    def progress(self, progress: Progress) -> None:
        """Nothing is stored of progress."""


INLINE = Workforce()


def run_study(
    study: StudyFile, out: Path, workforce: Workforce = INLINE, *, title: str | None = None, resume: bool = False
) -> Findings:
    """Run a study and store it.

    Args:
        study: The study file.
        out: The folder of the study.
        workforce: Where the runs happen.
        title: What the progress display calls it; `None` shows no progress.
        resume: Go on with the unfinished study in the folder.

    Raises:
        UsageError: The folder holds another study, or the study file cannot be used.
        ChaosAgentError: The target cannot be loaded, or the study cannot go on.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(stdout_for_answers())
        plan = plan_of(study)
        if resume:
            store = StudyStore.resume(out, plan)
        else:
            StudyStore.remove(out, plan)
            store = StudyStore.create(out, plan, study.text_as_run)
        digest = ""
        stack.callback(lambda: store.close(digest))
        executor = workforce.open(study, plan)
        stack.callback(executor.close)
        records = RecordSink(plan, out / "replays")
        sinks: list[Sink] = [store, records]
        if title is not None:
            display = display_for(plan, title)
            stack.callback(display.close)
            sinks.append(display)
        work = Study(
            plan, executor, sinks=sinks, groups_max=workforce.size, remembered=store.evaluations() if resume else ()
        )
        result = work.run()
        digest = "" if result.interrupted else result.digest
    return Findings(plan, result, records.written, out)


def workbench_of(plan: Plan) -> Workbench:
    """Return the workbench of this process for a plan."""
    return Workbench(plan.target, plan.config, plan.contracts, plan.run_limits)


def exit_code_of(findings: Findings) -> int:
    """Return the exit code that says how a study ended."""
    result, limit = findings.result, findings.plan.limits.seconds_max
    if result.interrupted and (limit is None or result.seconds < limit):
        return EXIT_INTERRUPTED
    if result.counterexamples or findings.nominal_violations:
        return EXIT_VIOLATED
    if not findings.open_searches:
        return EXIT_HELD
    return EXIT_FAILED if result.errors else EXIT_INCONCLUSIVE

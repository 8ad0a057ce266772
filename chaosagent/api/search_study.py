"""`chaosagent.search`: find the cheapest schedules that break a target."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from chaosagent.api.arguments import flag_of, name_of, path_of, whole_of
from chaosagent.api.counterexample import Counterexample
from chaosagent.api.result import StudyResult, TrialSource
from chaosagent.api.rows import Certificate, rows_in
from chaosagent.api.running_loop import outside_running_loop
from chaosagent.api.session import EXECUTORS, Listeners, WorkerSettings, run_study
from chaosagent.api.study import Study, StudyPath, study_file
from chaosagent.api.target_output import TargetOutput, target_output_to_stderr
from chaosagent.errors import UsageError
from chaosagent.importable import stop_if_loading
from chaosagent.limits import WORKERS_MAX
from chaosagent.replays.record import record_of
from chaosagent.report.findings import Findings, findings_page, is_proved
from chaosagent.report.page import notice
from chaosagent.study.result import SearchResult, StudyProgress
from chaosagent.study.sink import Sink
from chaosagent.studyfile import StudyFile
from chaosagent.targets.target import Target
from chaosagent.temporary_folder import temporary_folder
from chaosagent.yaml_file import quote_value

ExecutorName: TypeAlias = Literal["inline", "process", "ray"]


def search(
    study: Study | StudyPath,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    executor: ExecutorName | None = None,
    workers: int | None = None,
    ray_address: str = "",
    on_progress: Callable[[StudyProgress], object] | None = None,
) -> StudyResult:
    """Find the cheapest schedule of faults that breaks each contract, and prove that nothing cheaper does.

    It needs no `__main__` guard, and may be called while an event loop is running, which waits meanwhile. The target,
    what is searched and the seeds decide the result; where the runs happen does not.

    Args:
        study: A study, or the path of a study file.
        out: Folder to keep the study in, with every trial and a record of each counterexample; by default nothing is
            kept on disk. A folder that holds the same study is overwritten.
        resume: Continue the unfinished study in the folder.
        executor: `"inline"`: runs happen in this process; `"process"`: in worker processes; `"ray"`: on a cluster. By
            default inline, or in worker processes if `workers` says how many.
        workers: Worker processes, 1 to 256; one a core by default.
        ray_address: Of a running Ray cluster; a local one is started otherwise.
        on_progress: Called often with how far the study is; the same object each time. What it prints goes where the
            caller's prints go, and does not count as output of the target.

    Raises:
        UsageError: The study, the folder or an argument is not allowed, or worker processes could not import the
            target; the message says where and what to do.
        TargetError: The target cannot be loaded.
        StudyError: The study cannot continue, as its target is not deterministic, say.
        KeyboardInterrupt: It was interrupted; what was found by then is in the folder, for `load` and `resume`.

    Determinism: equal studies of equal targets give equal results. Searches in several threads wait for each other, as
    what targets print goes through streams of the whole process.
    """
    stop_if_loading()
    file = study_file(study)
    workforce = _workforce(executor, workers, ray_address)
    kept_in = None if out is None else path_of("search", "out", out)
    if on_progress is not None and not callable(on_progress):
        raise UsageError(
            f"search(on_progress={quote_value(on_progress)}): on_progress must be a function of one argument."
        )
    if flag_of("search", "resume", resume) and kept_in is None:
        raise UsageError("search(resume=True): there is no folder to resume from. Name it with out=...")
    remarks: list[str] = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(outside_running_loop())
        folder = kept_in or stack.enter_context(temporary_folder())
        printed = stack.enter_context(target_output_to_stderr(descriptors=False))
        sinks = () if on_progress is None else (_ProgressSink(on_progress, printed),)
        audience = Listeners(printed, remarks.append, sinks=sinks)
        findings = run_study(file, folder, audience, workforce, resume=resume)
        if findings.result.interrupted:
            raise KeyboardInterrupt
        remarks += _remarks_on(file, findings, printed.left_out)
        given = file.objects.get(file.settings.target)
        target = given if isinstance(given, Target) else None
        return _result_of(findings, remarks, target, is_kept=kept_in is not None)


class _ProgressSink(Sink):
    def __init__(self, call: Callable[[StudyProgress], object], output: TargetOutput) -> None:
        self._call, self._output = call, output

    def progress(self, progress: StudyProgress) -> None:
        with self._output.interrupted():
            self._call(progress)


def _workforce(executor: object, workers: int | None, ray_address: object) -> WorkerSettings:
    if executor is None:
        executor = "inline" if workers is None else "process"
    name = name_of("search", "executor", executor, EXECUTORS)
    if workers is not None:
        whole_of("search", "workers", workers, WORKERS_MAX)
    if not isinstance(ray_address, str):
        raise UsageError(f"search(ray_address={quote_value(ray_address)}): ray_address must be a text.")
    if workers is not None and name == "inline":
        raise UsageError(
            f"search(executor='inline', workers={workers}): inline means in this process, so there are no workers. "
            "Leave out one of them."
        )
    return WorkerSettings(name, workers, ray_address)


def _remarks_on(file: StudyFile, findings: Findings, left_out: int) -> list[str]:
    remarks = [
        f"{reason}, so runs were repeated in this process only: what differs between processes was not looked for. Put "
        "it at the top level of a module, such as agent.py, and import it from there."
        for reason in file.only_here
    ]
    remarks += findings.leftovers.unwritten
    if left_out:
        remarks.append(f"the target printed {left_out:,} more bytes, which are left out.")
    return remarks


def _result_of(findings: Findings, remarks: list[str], target: Target | None, *, is_kept: bool) -> StudyResult:
    plan, folder = findings.plan, findings.out
    if not is_kept:  # its file of answers is gone with the folder
        findings = replace(findings, plan=replace(plan, answers=None))
    rows = rows_in(folder)
    page = findings_page(findings)
    for remark in remarks:
        page.gap().line(notice("Remark: "), remark)
    certificates = sorted(map(_certificate_of, findings.result.searches), key=_place_of)
    return StudyResult(
        target=plan.target_reference,
        config=plan.config.name,
        budget=plan.budget,
        counterexamples=tuple(
            Counterexample(record_of(found, plan), findings.records.get(found.id) if is_kept else None, target)
            for found in findings.by_cost
        ),
        certificates=tuple(certificates),
        digest="" if findings.result.out_of_time else findings.result.digest,
        interrupted=findings.result.out_of_time,
        remarks=tuple(remarks),
        folder=folder if is_kept else None,
        _page=page,
        _trials=TrialSource(folder, rows.facts["id"], None if is_kept else rows.trials),
        _findings=findings,
    )


def _certificate_of(search: SearchResult) -> Certificate:
    certificate = search.certificate
    proves = certificate.proved and not certificate.disproved
    return Certificate(
        task=search.task_id,
        seed=search.seed,
        contract=search.contract,
        level=certificate.level if certificate.reproduced and certificate.cost != 0 else "C0",
        lower_bound=certificate.lower_bound,
        cost=None if search.counterexample is None else search.counterexample.cost,
        certified=certificate.certified and proves,
        safe=is_proved(search) and proves,
        violated_nominally=search.violated_nominally,
        trials=search.trials,
        text=str(certificate),
    )


def _place_of(certificate: Certificate) -> tuple[str, int, str]:
    return certificate.task, certificate.seed, certificate.contract

"""Running a stored counterexample again.

`exact` serves everything outside the target from the record and asks for the same trace, bit for bit: it proves the
failure. `schedule` injects the same schedule into today's target: it tells whether today's target survives it.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace
from typing import TYPE_CHECKING

from chaosagent.errors import ChaosAgentError, TargetError
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Experiment
from chaosagent.execution.real_time import limited_real_time
from chaosagent.execution.run.frozen import answers_of
from chaosagent.execution.workers.own_process import in_own_process
from chaosagent.faults.evaluation import Status
from chaosagent.replays.outcome import DEFAULT_RUNS_MAX, Replay, ReplayOutcome, RunsMax, violation_place
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.stored_inputs import full_config, full_task
from chaosagent.replays.today import CONTRACT_REMEDY, NominalRuns, bare_experiment, contracts_of, today_of
from chaosagent.targets.target import Target, fresh
from chaosagent.trace.diff import first_difference
from chaosagent.vocabulary import Ending

if TYPE_CHECKING:
    from chaosagent.execution.workers.workbench import Workbench
    from chaosagent.replays.cold_runs import ColdRunsOfTask


def rerun_exact(record: ReplayRecord, target: Target) -> Replay:
    """Play the target against what the record holds; `REPRODUCED` when the trace is equal bit for bit."""
    alone = record.fresh or target.fresh
    return in_own_process(lambda: _rerun_exact(record, target)) if alone else _rerun_exact(record, target)


def _rerun_exact(record: ReplayRecord, target: Target) -> Replay:
    notes = _notes_on_changes(record, target)
    if record.has_no_trace:
        detail = (
            "the limit of real time has ended the run, so there is no trace to reproduce; replay it in mode `schedule`"
        )
        return Replay(ReplayOutcome.NOT_LANDED, "exact", None, detail, notes)
    try:
        experiment = _recorded_experiment(record, target)
        with limited_real_time(target, record.limits):
            served = serve(experiment, record.trace, record.schedule)
    except ChaosAgentError as error:
        return Replay(ReplayOutcome.ERROR, "exact", None, str(error), notes)
    difference = served.difference or first_difference(record.trace, served.execution.trace)
    if difference is not None:
        return Replay(ReplayOutcome.DIVERGED, "exact", difference.step, str(difference), notes)
    if served.execution.evaluation.digest != record.trace_digest:
        detail = "the trace is equal step by step, but the record announces another digest: it was changed"
        return Replay(ReplayOutcome.DIVERGED, "exact", None, detail, notes)
    count = len(record.trace.steps)
    steps = f"{count} step" if count == 1 else f"{count} steps"
    if record.is_nominal:
        return Replay(ReplayOutcome.REPRODUCED, "exact", None, f"the same {steps} without faults", notes)
    violation = record.trace.verdict(record.contract).violation
    step = None if violation is None else violation.step
    detail = f"the same {steps}, {record.contract} violated {violation_place(step, count)}"
    return Replay(ReplayOutcome.REPRODUCED, "exact", step, detail, notes)


def why_it_hangs(record: ReplayRecord, setup: Callable[[], Workbench]) -> str:
    """Run the schedule of a record in worker processes, which can be ended; return why it was, twice.

    Args:
        record: Of a run that hung.
        setup: Makes the workbench of today's target; pickled, so a function of a module with plain arguments.

    Returns:
        Empty when the run came to an end of its own.

    Raises:
        ChaosAgentError: The run cannot be made.
    """
    from chaosagent.execution.workers.process_pool import ProcessExecutor
    from chaosagent.execution.workers.workbench import Job

    pool = ProcessExecutor(setup, workers=1, limits=record.limits)
    try:
        pool.submit(0, Job(record.task.id, record.seed, record.schedule))
        told = pool.next_finished().evaluation
    finally:
        pool.close()
    if told.status is Status.ERROR:
        raise TargetError(told.error)
    return told.detail if told.ending is Ending.HUNG else ""


def rerun_schedule(
    record: ReplayRecord,
    target: Target,
    *,
    config_name: str | None = None,
    runs_max: RunsMax = DEFAULT_RUNS_MAX,
    accepted: Container[str] = frozenset(),
    shared: NominalRuns | None = None,
    cold: ColdRunsOfTask | None = None,
    is_fixed: bool = False,
) -> Replay:
    """Inject the faults of a record into today's target, each at every call that may be the recorded one.

    A record of a run without faults is compared with today's run without faults.

    Where the target is stochastic, its pure interfaces answer from the record as long as they are asked the same;
    beyond that they answer as they do, and each schedule is run several times.

    Args:
        record: The stored counterexample.
        target: As it is today.
        config_name: One of its configurations; the record's own by default, as the target has it today.
        runs_max: How many runs may be made.
        accepted: Digests of changes that somebody has reviewed; they are not reported any more.
        shared: The runs without faults that other records of the target have needed.
        cold: Repeats runs in processes of their own before an outcome is `HELD`, as `ColdRuns.of` returns it; without
            it a fix that only works because of what earlier runs have left in the process is not noticed.
        is_fixed: The record is expected to hold; then another contract that breaks in its place is to be reviewed.

    Returns:
        `VIOLATED`, `HELD`, `DODGED`, `CHANGED`, `MOVED`, `NOT_LANDED` or `ERROR`.

    Raises:
        UsageError: The target has no such configuration.
    """
    from chaosagent.replays.nominal import replay_nominal
    from chaosagent.replays.scheduled import Options, ScheduleReplay

    target = fresh(target) if record.fresh else target
    notes = _notes_on_changes(record, target) if config_name is None else ()
    config = target.config(config_name or record.config.name, "" if config_name else "record")
    try:
        bare = bare_experiment(record, target, config)
        contract = next((one for one in bare.contracts if one.id == record.contract), None)
        if contract is None and not record.is_nominal:
            names = ", ".join(one.id for one in bare.contracts)
            detail = (
                f"no contract is called {record.contract} any more; those that the record names are called {names}. "
                f"{CONTRACT_REMEDY}"
            )
            return Replay(ReplayOutcome.ERROR, "schedule", None, detail, notes)
        if record.stochastic:
            today = today_of(replace(bare, answers=answers_of(record.answers, bare.scope)))
        else:
            today = (shared or NominalRuns()).of(bare, record)
        options = Options(runs_max, accepted, cold, is_fixed)
        if contract is None:
            replay = replay_nominal(record, today, options)
        else:
            replay = ScheduleReplay(record, contract, today, options).replay()
    except ChaosAgentError as error:
        return Replay(ReplayOutcome.ERROR, "schedule", None, str(error), notes)
    return replace(replay, notes=(*notes, *replay.notes))


def _recorded_experiment(record: ReplayRecord, target: Target) -> Experiment:
    """Return the experiment of a record as it was, with its nominal run."""
    contracts = contracts_of(record)
    task, config = full_task(record.task, target), full_config(record.config, target)
    return Experiment(target, task, config, record.seed, contracts, record.nominal, record.limits)


def _notes_on_changes(record: ReplayRecord, target: Target) -> tuple[str, ...]:
    """Say what of the target is not as it was; with a change a divergence is information, not a failure."""
    notes: list[str] = []
    known = target.configs.get(record.config.name)
    if known is None:
        notes.append(f"the target has no configuration {record.config.name!r} any more")
    elif known.digest != full_config(record.config, target).digest:
        notes.append(f"the configuration {record.config.name!r} has changed since the record was made")
    if record.task.id not in target.tasks:
        if not record.is_nominal:  # of a run without faults that is the outcome
            notes.append(f"the target has no task {record.task.id!r} any more, so that of the record is run")
    elif target.tasks[record.task.id] != full_task(record.task, target):
        notes.append(f"the task {record.task.id!r} has changed since the record was made")
    return tuple(notes)

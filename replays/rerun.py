"""Running a stored counterexample again.

`exact` serves everything outside the target from the record and asks for the same trace, bit for bit: it proves the
failure. `schedule` injects the same schedule into today's target: it tells whether today's target survives it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.contracts.contract import Contract
from chaosagent.errors import ChaosAgentError, TargetError
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.execution.frozen import AnswersInMemory, answers_of
from chaosagent.execution.process_pool import ProcessExecutor
from chaosagent.execution.served import serve
from chaosagent.execution.workbench import Job, Workbench
from chaosagent.faults.evaluation import Status
from chaosagent.faults.injection import Injection, Place
from chaosagent.replays.record import ReplayRecord
from chaosagent.statistics.intervals import wilson
from chaosagent.study.counterexample import signature_of
from chaosagent.study.minimise import violates
from chaosagent.targets.target import Target
from chaosagent.trace.diff import first_difference
from chaosagent.trace.step import Step
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Ending, Landing, SystemConfig, Verdict

DRAWS = 20


class ReplayOutcome(enum.Enum):
    """What came of a replay."""

    REPRODUCED = "REPRODUCED"
    DIVERGED = "DIVERGED"
    VIOLATED = "VIOLATED"
    HELD = "HELD"
    MOVED = "MOVED"
    NOT_LANDED = "NOT_LANDED"
    REFUSED = "REFUSED"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of a replay.

    Attributes:
        outcome: In one word.
        mode: `"exact"` or `"schedule"`.
        step: Where it differs or is violated, if it does.
        detail: In one sentence.
        notes: What else is worth knowing, a sentence each.
    """

    outcome: ReplayOutcome
    mode: str
    step: int | None
    detail: str
    notes: tuple[str, ...] = ()


def rerun_exact(record: ReplayRecord, target: Target) -> Replay:
    """Play the target against what the record holds; `REPRODUCED` when the trace is equal bit for bit."""
    notes = _changes(record, target)
    if record.has_no_trace:
        detail = "the limit of real time has ended the run, so there is no trace to reproduce; use --mode schedule"
        return Replay(ReplayOutcome.NOT_LANDED, "exact", None, detail, notes)
    try:
        experiment = _experiment(record, target, record.config)
        served = serve(experiment, record.trace, record.schedule)
    except ChaosAgentError as error:
        return Replay(ReplayOutcome.ERROR, "exact", None, str(error), notes)
    difference = served.difference or first_difference(record.trace, served.execution.trace)
    if difference is not None:
        return Replay(ReplayOutcome.DIVERGED, "exact", difference.step, str(difference), notes)
    if served.execution.trace.digest != record.trace_digest:
        detail = "the trace is equal step by step, but the record announces another digest: it was changed"
        return Replay(ReplayOutcome.DIVERGED, "exact", None, detail, notes)
    violation = record.trace.verdict(record.contract).violation
    step = None if violation is None else violation.step
    count = len(record.trace.steps)
    steps = f"{count} step" if count == 1 else f"{count} steps"
    detail = f"the same {steps}, {record.contract} violated {_place(record.trace, step)}"
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
    record: ReplayRecord, target: Target, *, config_name: str | None = None, draws: int = DRAWS
) -> Replay:
    """Inject the record's schedule into today's target.

    Where the target is stochastic, its pure interfaces answer from the record as long as they are asked the same;
    beyond that they answer as they do, and the schedule is run several times.

    Args:
        record: The stored counterexample.
        target: As it is today.
        config_name: One of its configurations; the record's own by default, as the target has it today.
        draws: How often the schedule is run where a stochastic target asks what the record cannot answer.

    Returns:
        `VIOLATED`, `HELD`, `MOVED`, `NOT_LANDED` or `ERROR`; the first injection decides whether the record still
        tests something.

    Raises:
        UsageError: The target has no such configuration.
    """
    notes = _changes(record, target) if config_name is None else ()
    config = target.config(config_name or record.config.name, "" if config_name else "record")
    try:
        experiment = _experiment(record, target, config, fresh=True)
        if not record.stochastic:
            return _judged(record, experiment, execute(experiment, record.schedule), notes)
        return _drawn(record, experiment, draws, notes)
    except ChaosAgentError as error:
        return Replay(ReplayOutcome.ERROR, "schedule", None, str(error), notes)


def _drawn(record: ReplayRecord, experiment: Experiment, draws: int, notes: tuple[str, ...]) -> Replay:
    """Run the schedule in a stochastic target: several times, unless the record answers everything.

    One that draws by itself draws anew in each run, whatever the record answers; so a run that does not go as the
    record says is made again, and all draws are made where two runs differ.
    """
    known = len(_answers(record, experiment))
    executions: list[Execution] = []
    fresh, by_itself = 0, not record.answers
    while len(executions) < _runs_wanted(record, executions, draws, by_chance=bool(fresh) or by_itself):
        answers = _answers(record, experiment)
        executions.append(execute(replace(experiment, answers=answers), record.schedule))
        fresh = max(fresh, len(answers) - known)
        by_itself = by_itself or executions[-1].trace.digest != executions[0].trace.digest
    violating = [execution for execution in executions if violates(execution.evaluation, record.contract)]
    low, high = wilson(len(violating), len(executions))
    share = f"violated in {len(violating)} of {len(executions)} runs"
    if fresh:
        told = f"{share} with fresh ones (P {low:.2f} to {high:.2f})"
        notes = (*notes, f"up to {fresh} answers a run are not in the record: {told}")
    elif by_itself:
        notes = (*notes, f"the target draws by itself: {share} (P {low:.2f} to {high:.2f})")
    return _judged(record, experiment, (violating or executions)[0], notes)


def _runs_wanted(record: ReplayRecord, executions: Sequence[Execution], draws: int, *, by_chance: bool) -> int:
    """Return how many runs tell what there is to be told."""
    if by_chance:
        return draws
    return 2 if executions and executions[0].trace.digest != record.trace_digest else 1


def _judged(record: ReplayRecord, experiment: Experiment, execution: Execution, notes: tuple[str, ...]) -> Replay:
    trace, verdict = execution.trace, execution.evaluation.verdict(record.contract)
    others = tuple(
        f"{verdict.contract} is violated, too"
        for verdict in trace.verdicts
        if verdict.verdict is Verdict.VIOLATED and verdict.contract not in (record.contract, "objective")
    )
    notes = (*notes, *others)
    if violates(execution.evaluation, record.contract):
        return _violated(record, experiment, trace, notes)
    if verdict is None:
        detail = f"{record.contract} is not among the contracts that the record names"
        return Replay(ReplayOutcome.ERROR, "schedule", None, detail, notes)
    if verdict.unfair or verdict.verdict is Verdict.UNKNOWN:
        why = "is violated, but unfairly" if verdict.unfair else "is neither violated nor does it hold"
        detail = f"{record.contract} {why}; the record no longer tests anything"
        return Replay(ReplayOutcome.NOT_LANDED, "schedule", None, detail, notes)
    return _held(record, trace, notes)


def _violated(record: ReplayRecord, experiment: Experiment, trace: Trace, notes: tuple[str, ...]) -> Replay:
    severity = next(contract.severity for contract in experiment.contracts if contract.id == record.contract)
    signature = signature_of(trace, record.contract, severity, record.schedule)
    violation = trace.verdict(record.contract).violation
    step = None if violation is None else violation.step
    reason = "" if violation is None else f": {violation.reason}"
    if violation is not None and violation.step >= len(trace.steps) and trace.crashed_at:
        reason += f" (at {trace.crashed_at})"
    landed = any(one.landing is Landing.LANDED for one in trace.landed)
    if record.schedule and not landed:
        same = "without the faults of the record, of which none landed"
    else:
        same = "the same signature" if signature == record.signature else f"another signature, {signature}"
    return Replay(
        ReplayOutcome.VIOLATED,
        "schedule",
        step,
        f"{record.contract} violated {_place(trace, step)}, {same}{reason}",
        notes,
    )


def _place(trace: Trace, step: int | None) -> str:
    return "at the end" if step is None or step >= len(trace.steps) else f"at step {step}"


def _held(record: ReplayRecord, trace: Trace, notes: tuple[str, ...]) -> Replay:
    """Tell a fix from a record that no longer tests anything."""
    fates = [_fate(injection, record.trace, trace) for injection in _in_order(record)]
    if not fates:
        return Replay(ReplayOutcome.HELD, "schedule", None, f"{record.contract} holds without any injection", notes)
    moved = [fate for fate in fates if fate.moved]
    if fates[0].step is None:
        detail = f"{fates[0].injection} was never reached; the record no longer tests anything"
        return Replay(ReplayOutcome.NOT_LANDED, "schedule", None, detail, notes)
    if moved:
        detail = f"{moved[0].injection} meets another request than the record knows: {moved[0].text}"
        return Replay(ReplayOutcome.MOVED, "schedule", moved[0].step, detail, notes)
    if not fates[0].landed:
        detail = f"{fates[0].injection} changed nothing; the record no longer tests anything"
        return Replay(ReplayOutcome.NOT_LANDED, "schedule", fates[0].step, detail, notes)
    unreached = tuple(f"{fate.injection} was not reached any more" for fate in fates if fate.step is None)
    changed = tuple(f"{fate.injection} meets a changed call: {fate.text}" for fate in fates if fate.text)
    landed = sum(fate.landed for fate in fates)
    detail = f"{record.contract} holds, {landed} of {len(fates)} injections landed"
    return Replay(ReplayOutcome.HELD, "schedule", None, detail, (*notes, *unreached, *changed))


@dataclass(frozen=True, slots=True)
class _Fate:
    """What became of one injection: the step at its hook, and whether it landed.

    It has moved when another call stands at its hook: one of another operation, or one whose place was taken, as the
    request that the record knows is made elsewhere now. A call that merely has other arguments was changed, not moved.
    """

    injection: Injection
    step: int | None
    landed: bool
    moved: bool
    text: str


def _fate(injection: Injection, recorded: Trace, now: Trace) -> _Fate:
    known, met = _step_at(injection, recorded), _step_at(injection, now)
    if met is None:
        return _Fate(injection, None, landed=False, moved=False, text="")
    landed = met.landed is not None and met.landed.landing is Landing.LANDED
    if known is None or known.request == met.request:
        return _Fate(injection, met.index, landed, moved=False, text="")
    elsewhere = any(step.interface == known.interface and step.request == known.request for step in now.steps)
    text = f"{known.operation}({known.arguments}) then, {met.operation}({met.arguments}) now"
    return _Fate(injection, met.index, landed, moved=elsewhere or met.operation != known.operation, text=text)


def _step_at(injection: Injection, trace: Trace) -> Step | None:
    for step in trace.steps:
        place = Place(step.interface, step.agent, step.occurrence, step.attempt)
        if step.boundary is not None and injection.hook.matches(place):
            return step
    return None


def _in_order(record: ReplayRecord) -> list[Injection]:
    """Return the injections in the order in which they acted when the record was made."""

    def position(injection: Injection) -> int:
        step = _step_at(injection, record.trace)
        return len(record.trace.steps) if step is None else step.index

    return sorted(record.schedule, key=position)


def _experiment(record: ReplayRecord, target: Target, config: SystemConfig, *, fresh: bool = False) -> Experiment:
    task = target.tasks.get(record.task.id, record.task) if fresh else record.task
    bare = Experiment(target, task, config, record.seed, _contracts(record), None, record.limits)
    if not fresh:
        return replace(bare, nominal=record.nominal)
    if not record.stochastic:
        return bare.with_nominal()
    return replace(bare, answers=_answers(record, bare)).with_nominal()


def _answers(record: ReplayRecord, experiment: Experiment) -> AnswersInMemory:
    return answers_of(record.answers, experiment.scope)


def _contracts(record: ReplayRecord) -> tuple[Contract, ...]:
    return tuple(parse_contract(entry, "record.contract_specs") for entry in record.contract_specs)


def _changes(record: ReplayRecord, target: Target) -> tuple[str, ...]:
    """Say what of the target is not as it was; with a change a divergence is information, not a failure."""
    notes: list[str] = []
    known = target.configs.get(record.config.name)
    if known is None:
        notes.append(f"the target has no configuration {record.config.name!r} any more")
    elif known.digest != record.config.digest:
        notes.append(f"the configuration {record.config.name!r} has changed since the record was made")
    if target.tasks.get(record.task.id) != record.task:
        notes.append(f"the task {record.task.id!r} has changed since the record was made")
    return tuple(notes)

"""Exec(task x, config κ, seed z, schedule δ): one run, its trace and what it tells a searcher."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import NamedTuple, TypeVar

from chaosagent.canonical import Plain, pack
from chaosagent.contracts.contract import Contract, Nominal, Setting, end_of
from chaosagent.errors import TargetError, UsageError
from chaosagent.event_loop.real_time_loop import RealTimeLoop
from chaosagent.event_loop.virtual_time import Deadlock, Livelock, TimeLimitReached, VirtualLoop, virtual_loop
from chaosagent.execution.crash_location import crash_location
from chaosagent.execution.failures import message_of
from chaosagent.execution.run.access_watch import watch_accesses
from chaosagent.execution.run.author_remarks import author_remarks
from chaosagent.execution.run.doors import DoorOptions
from chaosagent.execution.run.frozen import (
    DRAWING_RUNS_MAX,
    Answers,
    Frozen,
    FrozenAnswer,
    never_frozen,
    requests_digest,
)
from chaosagent.execution.run.injector import Injector
from chaosagent.execution.run.live_run import LiveRun
from chaosagent.execution.run.network_links import close_links
from chaosagent.execution.run.outcome import (
    close_unawaited,
    close_unbegun,
    effective_of,
    outcome_of,
    raise_refused,
    redacted_claims,
    redacted_verdict,
    support_of,
    suspects_of,
    unbegun_call,
    usage_of,
)
from chaosagent.execution.run.process_environment import restored_environment
from chaosagent.execution.run.recorder import Monitors, Recorder
from chaosagent.execution.run.retry_watch import watch_retries
from chaosagent.execution.run.run_state import notes_forks
from chaosagent.execution.run.undeclared import survey_of
from chaosagent.faults.evaluation import Evaluation, Fingerprinting
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.limits import RunLimits
from chaosagent.targets.target import Target
from chaosagent.trace.redact import redactor_of
from chaosagent.trace.summary import summary_of
from chaosagent.trace.trace import BEYOND, Trace
from chaosagent.vocabulary import LIMITS_REACHED, ClockKind, Ending, Outcome, SystemConfig, Task, Verdict

AnyRun = TypeVar("AnyRun", bound=LiveRun)


@dataclass(frozen=True, slots=True)
class Experiment:
    """Everything of a run but its schedule: x, κ, z and the contracts.

    Attributes:
        target: The system under test.
        task: One of its tasks.
        config: One of its configurations.
        seed: Of the run.
        contracts: What is checked.
        nominal: What the run without injections did; `None` while that run itself is made.
        limits: Of one run.
        answers: What pure interfaces have answered before and answer again; `None` when nothing is frozen.
        world: Which of several worlds of frozen answers; they share none.
        seeds: Other seeds, whose run it is as well if it does not read its own (`Evaluation.by_seed`).
        exceeded: The limit that a first run has reached, such as `"2000 steps"`; `limits` are extended then.
    """

    target: Target
    task: Task
    config: SystemConfig
    seed: int
    contracts: tuple[Contract, ...] = ()
    nominal: Nominal | None = None
    limits: RunLimits = field(default_factory=RunLimits)
    answers: Answers | None = None
    world: int = 0
    seeds: tuple[int, ...] = ()
    exceeded: str = ""

    @property
    def scope(self) -> bytes:
        """What a frozen answer may depend on besides its place and request."""
        depends: list[Plain] = [self.target.name, self.config.digest, self.task.id, self.task.input, self.seed]
        return pack([*depends, self.world] if self.world else depends)

    def beyond(self, limit: str) -> Experiment:
        """Return the experiment with extended limits, for a run that has reached one, such as `"2000 steps"`."""
        return replace(self, limits=self.limits.extended, exceeded=limit)

    def with_nominal(self) -> Experiment:
        """Return the experiment with what its run without injections did; runs it unless that is known.

        Raises:
            ChaosAgentError: The nominal run cannot be made.
        """
        if self.nominal is not None:
            return self
        return replace(self, nominal=nominal_in(execute(self, EMPTY).trace))


def nominal_in(trace: Trace) -> Nominal:
    """Return what contracts are shown of a run without injections."""
    return Nominal(trace.effects, trace.outcome)


@dataclass(frozen=True, slots=True)
class Execution:
    """One finished run.

    Attributes:
        trace: What happened.
        evaluation: What a searcher may know of it.
        answers: The frozen answers that it used.
        doors: What the target declares of the doors that it has opened; only of a run without injections.
        remarks: What the author of the target should know, a few sentences each; only of a run without injections.
    """

    trace: Trace
    evaluation: Evaluation
    answers: tuple[FrozenAnswer, ...] = ()
    doors: Mapping[str, DoorOptions] = field(default_factory=dict, compare=False)
    remarks: tuple[str, ...] = field(default=(), compare=False)


def execute(
    experiment: Experiment, schedule: Schedule, *, fingerprinting: Fingerprinting = Fingerprinting.OFF
) -> Execution:
    """Run a target once under a schedule.

    Args:
        experiment: Target, task, configuration, seed and contracts.
        schedule: What is injected.
        fingerprinting: What fingerprints at the target's checkpoints cover, for rule R3.

    A run that reaches a limit of steps, turns or virtual time is made once more with `EXTENSION` times these limits.
    The second one counts if it comes to an end of its own, or breaks what the first has not: so contracts are judged by
    all that the target does, and only `termination` and `objective` by whether it kept its limits.

    Raises:
        TargetError: The target does not keep its protocol: it returns something else than an outcome, hands over
            what is not plain data, or exceeds a limit on payloads.

    Determinism: equal arguments give traces with equal digests, in every process. With frozen answers only a run counts
    in which all of them were there before: one that drew some is made again.
    """
    first = _execute_once(experiment, schedule, fingerprinting)
    if first.trace.ending not in LIMITS_REACHED:
        return first
    longer = experiment.beyond(first.trace.ending_detail)
    second = _execute_once(longer, schedule, fingerprinting)
    settled = second.trace.ending not in LIMITS_REACHED
    if settled or _violated(second) - _violated(first):
        return second
    reads_seed = not second.evaluation.by_seed  # then the choice depends on the seed, and so does the result
    return replace(first, evaluation=replace(first.evaluation, by_seed=())) if reads_seed else first


def _violated(execution: Execution) -> set[str]:
    verdicts = execution.evaluation.verdicts
    return {verdict.contract for verdict in verdicts if verdict.verdict is Verdict.VIOLATED}


def _execute_once(experiment: Experiment, schedule: Schedule, fingerprinting: Fingerprinting) -> Execution:
    for _ in range(DRAWING_RUNS_MAX):
        run = make_run(LiveRun, experiment, schedule, fingerprinting=fingerprinting)
        execution = conduct(experiment, run, schedule)
        settled = with_answers(execution, run)
        if settled is not None:
            return settled
    raise never_frozen(experiment.target.name, experiment.task.id)


def make_run(
    kind: type[AnyRun],
    experiment: Experiment,
    schedule: Schedule,
    *,
    fingerprinting: Fingerprinting = Fingerprinting.OFF,
    injector: Injector | None = None,
) -> AnyRun:
    """Return a fresh run of some kind, with its monitors, ready for `conduct`.

    Args:
        kind: Of run.
        experiment: Target, task, configuration, seed and contracts.
        schedule: What is injected.
        fingerprinting: What fingerprints at the target's checkpoints cover.
        injector: Injects something else than the schedule.

    Raises:
        SecretsError: A secret pattern of the target is no regular expression.
        PluginError: A contract cannot make its monitor.
    """
    limits, target = experiment.limits, experiment.target
    loop: VirtualLoop | RealTimeLoop
    if target.clock is ClockKind.WALL:
        loop = RealTimeLoop(seconds_max=limits.wall_seconds_max)
    else:
        loop = virtual_loop(
            turns_max=limits.turns_max, turns_total_max=limits.turns_total_max, seconds_max=limits.virtual_seconds_max
        )
    setting = Setting(experiment.task, experiment.nominal, experiment.config.settings)
    redactor = redactor_of(target.secrets)
    run = kind(
        experiment.task,
        experiment.config,
        experiment.seed,
        loop=loop,
        injector=Injector(schedule) if injector is None else injector,
        recorder=Recorder(Monitors(experiment.contracts, setting), limits, redactor),
        synchronous=target.synchronous,
        fingerprinting=fingerprinting,
    )
    if fingerprinting is not Fingerprinting.OFF and injector is None:
        run.survey = survey_of(schedule)
    if experiment.answers is not None:
        run.frozen = Frozen(experiment.answers, experiment.scope, run.recorder.refuse)
    return run


@restored_environment()
def conduct(experiment: Experiment, run: LiveRun, schedule: Schedule) -> Execution:
    """Let a target play a run to its end and judge it.

    Raises:
        TargetError: As `execute`.
        PluginError: An operator or a contract failed.
    """
    try:
        with watch_accesses(run.recorder.redactor) as accesses, watch_retries(run.recorder), notes_forks(run):
            ending, detail, result, crashed_at = _play(experiment, run)
    except BaseException:  # an interrupt: nobody will go on with what the run has begun
        close_unawaited(run.asked)
        close_unbegun(run.loop)
        close_links(run)
        raise
    usage = usage_of(run, ending, experiment.exceeded)
    doors = {} if schedule else {interface: door.options for interface, door in run.doors.items()}
    remarks = () if schedule else author_remarks(ending, result, run.loop.tasks_left())
    _end(experiment, run, ending)
    if ending is Ending.HUNG and not schedule:
        remarks += tuple(run.author_notes)  # noted while the target was ended
    system, outcome, state = experiment.target, _NO_OUTCOME, None
    try:
        state = run.final_state()
        if ending is Ending.FINISHED:
            outcome = run.settled(outcome_of(system, experiment.task, result, state, is_faulty=run.is_faulty))
    except TargetError as error:
        if not run.is_faulty:
            raise
        if ending is Ending.FINISHED:
            said = run.recorder.inconclusive
            ending = Ending.INCONCLUSIVE if said else Ending.CRASHED
            detail = said or str(error)  # what it hands back under a fault is how it behaves
    if outcome is _NO_OUTCOME and state is not None:
        outcome = replace(outcome, state=state)
    if experiment.exceeded:
        detail = f"{detail}{'; ' if detail else ''}{BEYOND}{experiment.exceeded}"
    trace = _judged(experiment, run, _Ended(ending, detail, crashed_at, outcome))
    by_seed = trace.by_seed(() if run.has_read_seed else experiment.seeds)
    evaluation = Evaluation(
        schedule=schedule,
        effective=effective_of(run.acts, schedule),
        acts=tuple(sorted(run.acts, key=_position)),
        digest=by_seed[0][1],
        ending=ending,
        success=False if experiment.exceeded else trace.outcome.success,
        step_count=len(trace.steps),
        verdicts=trace.verdicts,
        crossings=tuple(sorted(run.crossings, key=_asked)),
        fingerprints=tuple(run.fingerprints),
        undeclared=() if run.survey is None else tuple(run.survey.found),
        support=support_of(run) if experiment.target.provenance_complete and ending is Ending.FINISHED else None,
        crashed_at=crashed_at,
        by_seed=by_seed if len(by_seed) > 1 else (),
        spent=usage.spent,
        spent_limit=usage.spent_limit,
        declares_effects=usage.declares_effects,
        suspects=() if schedule else suspects_of(trace, doors),
        accesses=tuple(accesses),
        retries=trace.retries,
        tied=usage.tied,
        detail=trace.ending_detail,
        summary=summary_of(trace),
    )
    return Execution(trace, evaluation, doors=doors, remarks=remarks)


def _end(experiment: Experiment, run: LiveRun, ending: Ending) -> None:
    """End whatever a run has left, and raise what made it worthless."""
    run.over = True
    unmade = unbegun_call(run.asked, run.loop.tasks_left())
    run.loop.end()
    close_links(run)
    unmade = close_unawaited(run.asked) or unmade
    run.let_go()
    if unmade is not None and ending is Ending.FINISHED:
        run.recorder.refuse(unmade)
    raise_refused(experiment.target.name, experiment.task.id, run.recorder)


class _Ended(NamedTuple):
    """How a run ended, and what it came to, with secrets."""

    ending: Ending
    detail: str
    crashed_at: str
    outcome: Outcome


def _judged(experiment: Experiment, run: LiveRun, ended: _Ended) -> Trace:
    """Return the trace of a run that is over, with the verdicts of all contracts and without secrets."""
    recorder, redactor = run.recorder, run.recorder.redactor
    ending, detail, crashed_at, outcome = ended
    if redactor is not None:
        detail = redactor.text(detail)
        outcome = replace(outcome, claims=redacted_claims(outcome, redactor))
    steps = tuple(recorder.steps)
    last_agent = next((step.agent for step in reversed(steps) if step.agent), "")
    end = end_of(ending, detail, outcome, len(steps), experiment.exceeded)
    verdicts = recorder.watch.end(end, last_agent)
    if redactor is not None:
        outcome = replace(outcome, message=redactor.text(outcome.message), state=redactor.value(outcome.state))
        verdicts = tuple(redacted_verdict(verdict, redactor) for verdict in verdicts)
    return Trace(
        experiment.task.id,
        experiment.config.digest,
        experiment.seed,
        steps,
        ending,
        detail,
        outcome,
        verdicts,
        crashed_at,
        tuple(recorder.links),
        recorder.retries,
    )


def with_answers(execution: Execution, run: LiveRun) -> Execution | None:
    """Return a run with the frozen answers that it used; `None` when it drew some, so that it is to be made again."""
    if run.frozen is None:
        return execution
    if run.frozen.drawn:
        return None
    evaluation = replace(execution.evaluation, asked=requests_digest(run.frozen.used))
    return replace(execution, evaluation=evaluation, answers=tuple(run.frozen.used))


_NO_OUTCOME = Outcome(success=False)
_asked, _position = attrgetter("asked"), attrgetter("position")


class _Played(NamedTuple):
    """How a target ended, one line on that, what it returned or raised, and where it crashed."""

    ending: Ending
    detail: str
    result: object = None
    crashed_at: str = ""


def _play(experiment: Experiment, run: LiveRun) -> _Played:
    """Run the target and say how it ended."""
    target, loop = experiment.target, run.loop
    try:
        result = target.run(experiment.task, run)
        if not target.synchronous:
            result = loop.run_until_complete(result)
        played = _Played(Ending.FINISHED, "", result)
    except (KeyboardInterrupt, MemoryError):
        raise  # of this process, not of the target
    except (TargetError, UsageError) as error:  # a mistake in what it says of itself, or a server that is not there
        run.recorder.refuse(error)
        played = _Played(Ending.CRASHED, str(error))
    except BaseException as error:  # whatever else a target raises is a verdict on it
        detail = f"{type(error).__name__}: {message_of(error)}"
        played = _Played(Ending.CRASHED, detail, error, crash_location(error))
    if run.recorder.inconclusive:  # also when the target has swallowed it, as with the others
        return _Played(Ending.INCONCLUSIVE, run.recorder.inconclusive)
    if loop.stopped is not None:
        ending = _ENDINGS[type(loop.stopped)] if isinstance(loop, VirtualLoop) else Ending.HUNG
        return _Played(ending, str(loop.stopped))
    if run.recorder.full:
        return _Played(Ending.STEP_LIMIT, f"{experiment.limits.steps_max} steps")
    return played


_ENDINGS = {Deadlock: Ending.DEADLOCK, Livelock: Ending.LIVELOCK, TimeLimitReached: Ending.TIME_LIMIT}

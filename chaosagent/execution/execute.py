"""Exec(task x, config κ, seed z, schedule δ): one run, its trace and what it tells a searcher."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from chaosagent.canonical import pack
from chaosagent.clock import Deadlock, Livelock, TimeLimitReached, virtual_loop
from chaosagent.contracts.contract import Contract, End, Nominal, Setting
from chaosagent.errors import ChaosAgentError, TargetError, UsageError
from chaosagent.execution.failures import message_of
from chaosagent.execution.injector import Injector
from chaosagent.execution.run import LiveRun, RunEnded
from chaosagent.execution.watch import Watch
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Injection, hook_at
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.limits import RunLimits
from chaosagent.targets.target import Target
from chaosagent.trace.redact import Redactor
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Ending, Outcome, SystemConfig, Task


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
    """

    target: Target
    task: Task
    config: SystemConfig
    seed: int
    contracts: tuple[Contract, ...] = ()
    nominal: Nominal | None = None
    limits: RunLimits = RunLimits()

    def with_nominal(self) -> Experiment:
        """Return the experiment with what its run without injections did; runs it unless that is known.

        Raises:
            ChaosAgentError: The nominal run cannot be made.
        """
        if self.nominal is not None:
            return self
        trace = execute(self, EMPTY).trace
        return replace(self, nominal=Nominal(trace.effects, trace.outcome))


@dataclass(frozen=True, slots=True)
class Execution:
    """One finished run.

    Attributes:
        trace: What happened.
        evaluation: What a searcher may know of it.
    """

    trace: Trace
    evaluation: Evaluation


def execute(experiment: Experiment, schedule: Schedule, *, wants_fingerprints: bool = False) -> Execution:
    """Run a target once under a schedule.

    Args:
        experiment: Target, task, configuration, seed and contracts.
        schedule: What is injected.
        wants_fingerprints: Take fingerprints at the target's checkpoints, for rule R3.

    Raises:
        TargetError: The target does not keep its protocol: it returns something else than an outcome, hands over what is
            not plain data, or exceeds a limit on payloads.

    Determinism: equal arguments give traces with equal digests, in every process.
    """
    limits, target = experiment.limits, experiment.target
    loop = virtual_loop(turns_max=limits.turns_max, seconds_max=limits.virtual_seconds_max)
    watch = Watch(experiment.contracts, _setting(experiment))
    run = LiveRun(
        experiment.task,
        experiment.config,
        experiment.seed,
        loop=loop,
        injector=Injector(schedule),
        watch=watch,
        limits=limits,
        synchronous=target.synchronous,
        redactor=Redactor(target.secrets) if target.secrets else None,
        wants_fingerprints=wants_fingerprints,
    )
    return conduct(experiment, run, watch, schedule)


def _setting(experiment: Experiment) -> Setting:
    return Setting(experiment.task, experiment.nominal, experiment.config.settings)


def conduct(experiment: Experiment, run: LiveRun, watch: Watch, schedule: Schedule) -> Execution:
    """Let a target play a run to its end and judge it."""
    ending, detail, outcome = _play(experiment, run)
    run.over = True
    run.loop.end()
    outcome = _judged(experiment, ending, outcome)
    steps = tuple(run.steps)
    last_agent = next((step.agent for step in reversed(steps) if step.agent), "")
    verdicts = watch.end(End(ending, detail, outcome, len(steps)), last_agent)
    trace = Trace(
        experiment.task.id,
        experiment.config.digest,
        experiment.seed,
        steps,
        ending,
        detail,
        outcome if run.redactor is None else _redacted(outcome, run.redactor),
        verdicts,
    )
    evaluation = Evaluation(
        schedule=schedule,
        effective=_effective(run.effective),
        acted=run.acted,
        digest=trace.digest,
        ending=ending,
        success=outcome.success,
        step_count=len(steps),
        verdicts=verdicts,
        crossings=tuple(sorted(run.crossings, key=lambda crossing: crossing.asked)),
        fingerprints=tuple(fingerprint for fingerprint in run.fingerprints if fingerprint.position >= run.acted),
    )
    return Execution(trace, evaluation)


def _effective(landed: Sequence[tuple[object, Injection]]) -> Schedule:
    return Schedule(
        tuple(sorted({replace(injection, hook=hook_at(place)) for place, injection in landed}, key=str))  # type: ignore[arg-type]
    )


def _play(experiment: Experiment, run: LiveRun) -> tuple[Ending, str, object]:
    target = experiment.target
    try:
        result = target.run(experiment.task, run)
        if not target.synchronous:
            result = run.loop.run_until_complete(result)
    except Deadlock as error:
        return Ending.DEADLOCK, str(error), None
    except Livelock as error:
        return Ending.LIVELOCK, str(error), None
    except TimeLimitReached as error:
        return Ending.TIME_LIMIT, str(error), None
    except RunEnded as error:
        return Ending.STEP_LIMIT, str(error), None
    except (TargetError, UsageError) as error:
        raise TargetError(f"target {target.name!r}, task {experiment.task.id!r}: {error}") from error
    except (Exception, SystemExit, BaseExceptionGroup) as error:  # whatever a target raises is a verdict on it
        return Ending.CRASHED, f"{type(error).__name__}: {message_of(error)}", None
    return Ending.FINISHED, "", result


def _judged(experiment: Experiment, ending: Ending, result: object) -> Outcome:
    """Return the outcome with its objective decided."""
    if ending is not Ending.FINISHED:
        return Outcome(success=False)
    if result is None or isinstance(result, str):
        result = Outcome(message=result or "")
    if not isinstance(result, Outcome):
        raise TargetError(
            f"target {experiment.target.name!r} returned {type(result).__name__}; "
            "it must return an Outcome, a text (the final message) or None."
        )
    try:
        pack([result.message, [claim.identity for claim in result.claims], result.state])
    except ChaosAgentError as error:
        raise TargetError(
            f"target {experiment.target.name!r} returned an outcome that is not plain data: {error}"
        ) from error
    objective = experiment.target.objective
    if result.success is None and objective is not None:
        return replace(result, success=bool(objective(experiment.task, result)))
    return result


def _redacted(outcome: Outcome, redactor: Redactor) -> Outcome:
    return replace(outcome, message=redactor.text(outcome.message))

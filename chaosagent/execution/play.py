"""One run with an online policy, which is the run of the schedule that the policy chose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chaosagent.execution.execute import (
    Execution,
    Experiment,
    conduct,
    execute,
    make_run,
    with_answers,
)
from chaosagent.execution.run.frozen import DRAWING_RUNS_MAX, never_frozen
from chaosagent.execution.run.injector import OnlineInjector
from chaosagent.execution.run.live_run import LiveRun
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.faults.online import Policy
from chaosagent.faults.schedule import EMPTY
from chaosagent.vocabulary import LIMITS_REACHED


def play(
    experiment: Experiment,
    policy: Policy,
    *,
    fingerprinting: Fingerprinting = Fingerprinting.OFF,
    on_begun: Callable[[OnlineInjector], None] | None = None,
) -> Execution:
    """Run a target once with an online policy.

    Args:
        experiment: Target, task, configuration, seed and contracts.
        policy: Chooses what is injected.
        fingerprinting: What fingerprints at the target's checkpoints cover.
        on_begun: Called with what lets the policy choose, before each run that is made.

    Returns:
        What `execute` returns for the schedule of what the policy chose; that is the schedule of the evaluation.

    Raises:
        TargetError: As `execute`.

    Source: Eq. 9 of the assurance framework.
    """
    for _ in range(DRAWING_RUNS_MAX):
        injector = OnlineInjector(policy, experiment.seed)
        if on_begun is not None:
            on_begun(injector)
        run = make_run(LiveRun, experiment, EMPTY, fingerprinting=fingerprinting, injector=injector)
        execution = conduct(experiment, run, EMPTY)
        settled = with_answers(execution, run)
        if settled is not None and settled.trace.ending in LIMITS_REACHED:
            return execute(experiment, injector.schedule, fingerprinting=fingerprinting)
        if settled is not None:
            return replace(settled, evaluation=replace(settled.evaluation, schedule=injector.schedule))
    raise never_frozen(experiment.target.name, experiment.task.id)

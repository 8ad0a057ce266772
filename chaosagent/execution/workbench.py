"""What a worker needs to run trials: the target with its configuration and contracts, and the nominal runs."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import parse_contract
from chaosagent.contracts.contract import Contract, Nominal
from chaosagent.errors import ChaosAgentError
from chaosagent.execution.answers_on_disk import AnswersOnDisk
from chaosagent.execution.chance_watch import watch_chance
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.execution.frozen import Answers, AnswersInMemory
from chaosagent.execution.judging import judge
from chaosagent.execution.online_injector import OnlineInjector
from chaosagent.execution.play import play
from chaosagent.faults.evaluation import Evaluation, Fingerprinting, Status
from chaosagent.faults.online import Policy
from chaosagent.faults.schedule import Schedule
from chaosagent.limits import RunLimits
from chaosagent.targets.loading import load_target
from chaosagent.targets.target import Target
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Ending, Outcome, SystemConfig


class Answering(enum.Enum):
    """How pure interfaces answer in a run.

    `LIVE`: as they do. `FROZEN`: as they did before, in any run of the study. `FRESH`: as they do, but the run is
    judged by the one without injections whose answers are frozen.
    """

    LIVE = "live"
    FROZEN = "frozen"
    FRESH = "fresh"


class Job(NamedTuple):
    """One schedule to be run.

    Attributes:
        task_id: Which task.
        seed: Of the run.
        schedule: What is injected.
        fingerprinting: For rule R3.
        answering: How pure interfaces answer.
        policy: Chooses what is injected, instead of a schedule.
        world: Which frozen answers, when they are: each world has its own.
        watched: Note reads of the real time and other chance (`Evaluation.reads`); the run takes several times as long.
    """

    task_id: str
    seed: int
    schedule: Schedule
    fingerprinting: Fingerprinting = Fingerprinting.OFF
    answering: Answering = Answering.LIVE
    policy: Policy | None = None
    world: int = 0
    watched: bool = False


@dataclass(slots=True)
class Workbench:
    """Runs jobs on one target and configuration; makes each nominal run once.

    Attributes:
        target: The system under test.
        config: One of its configurations.
        contracts: What is checked in every run.
        limits: Of one run.
        answers: Where frozen answers are kept.
    """

    target: Target
    config: SystemConfig
    contracts: tuple[Contract, ...]
    limits: RunLimits = field(default_factory=RunLimits)
    answers: Answers = field(default_factory=AnswersInMemory)
    _nominal: dict[tuple[str, int, bool, int], Nominal] = field(default_factory=dict)

    def bare(self, task_id: str, seed: int, answering: Answering = Answering.LIVE, world: int = 0) -> Experiment:
        """Return a task and seed without what its nominal run did.

        Raises:
            ChaosAgentError: The task is unknown.
        """
        answers = None if answering is Answering.LIVE else self.answers
        task = self.target.task(task_id)
        return Experiment(self.target, task, self.config, seed, self.contracts, None, self.limits, answers, world)

    def experiment(self, task_id: str, seed: int, answering: Answering = Answering.LIVE, world: int = 0) -> Experiment:
        """Return a task and seed with what its nominal run did.

        Raises:
            ChaosAgentError: The task is unknown, or its nominal run cannot be made.
        """
        known = self.nominal_of(task_id, seed, answering, world)
        full = replace(self.bare(task_id, seed, answering, world), nominal=known).with_nominal()
        if full.nominal is not None:
            self._nominal[task_id, seed, answering is not Answering.LIVE, world] = full.nominal
        return replace(full, answers=None) if answering is Answering.FRESH else full

    def nominal_of(
        self, task_id: str, seed: int, answering: Answering = Answering.LIVE, world: int = 0
    ) -> Nominal | None:
        """Return what the nominal run of a task and seed did, `None` when it was not made yet."""
        return self._nominal.get((task_id, seed, answering is not Answering.LIVE, world))

    def execute(self, job: Job, on_begun: Callable[[OnlineInjector], None] | None = None) -> Execution:
        """Run a job and return its trace; errors of target and harness are raised.

        Args:
            job: What to run.
            on_begun: Called with what lets the policy of the job choose, before each run that is made.
        """
        experiment = self.experiment(job.task_id, job.seed, job.answering, job.world)
        if job.policy is not None:
            return play(experiment, job.policy, fingerprinting=job.fingerprinting, on_begun=on_begun)
        if not job.watched:
            return execute(experiment, job.schedule, fingerprinting=job.fingerprinting)
        package = str(getattr(inspect.unwrap(self.target.run), "__module__", "")).partition(".")[0]
        with watch_chance(package) as reads:
            execution = execute(experiment, job.schedule, fingerprinting=job.fingerprinting)
        return replace(execution, evaluation=replace(execution.evaluation, reads=tuple(reads)))

    def hung(self, job: Job, cause: str) -> Execution:
        """Return what a run comes to that the limit of real time has ended twice: no step of it is known.

        Args:
            job: What was run.
            cause: Which limit has ended it.
        """
        experiment = self.experiment(job.task_id, job.seed, job.answering, job.world)
        task, outcome = experiment.task, Outcome(success=False)
        bare = Trace(task.id, experiment.config.digest, job.seed, (), Ending.HUNG, cause, outcome, ())
        trace = replace(bare, verdicts=judge(bare, self.contracts, task, experiment.nominal))
        told = replace(hung(job.schedule, cause), digest=trace.digest, verdicts=trace.verdicts)
        return Execution(trace, told)

    def evaluate(self, job: Job) -> Evaluation:
        """Run a job and return what it told; whatever goes wrong becomes an evaluation with status `ERROR`."""
        begun: list[OnlineInjector] = []
        try:
            return self.execute(job, begun.append).evaluation
        except ChaosAgentError as error:
            text = str(error)
        except Exception as error:  # the worker is a seam: a fault of the harness is an outcome with what is known
            text = f"{type(error).__name__}: {error}"
        return failed(begun[-1].schedule if begun else job.schedule, text)


def load_workbench(
    reference: str,
    config_name: str,
    contract_specs: tuple[Plain, ...],
    *,
    limits: RunLimits | None = None,
    folder: Path | None = None,
    answers: Path | None = None,
) -> Workbench:
    """Make a workbench from names alone, as a worker process does.

    Args:
        reference: Of the target; see `chaosagent.targets.loading.load_target`.
        config_name: One of its configurations.
        contract_specs: The contracts, as study files name them.
        limits: Of one run.
        folder: Where a relative file is looked for; the working directory by default.
        answers: The file of frozen answers that all workers share; by default each keeps its own.

    Raises:
        ChaosAgentError: Something of that name does not exist or cannot be loaded.
    """
    target = load_target(reference, folder=folder)
    contracts = tuple(parse_contract(entry) for entry in contract_specs)
    kept: Answers = AnswersInMemory() if answers is None else AnswersOnDisk(answers)
    return Workbench(target, target.config(config_name), contracts, limits or RunLimits(), kept)


def failed(schedule: Schedule, error: str) -> Evaluation:
    """Return the evaluation of a run that could not be executed."""
    return Evaluation(schedule, Status.ERROR, error[:2_000] or "unknown error")


def hung(schedule: Schedule, cause: str) -> Evaluation:
    """Return the evaluation of a run that the limit of real time has ended, twice.

    What landed nobody knows, so all of it counts; `Workbench.hung` adds what contracts say.
    """
    return Evaluation(schedule, effective=schedule, ending=Ending.HUNG, detail=cause)

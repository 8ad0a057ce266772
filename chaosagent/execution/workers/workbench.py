"""What a worker needs to run trials: the target with its configuration and contracts, and the nominal runs."""

from __future__ import annotations

import contextlib
import enum
import inspect
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import parse_contract
from chaosagent.contracts.contract import Contract, Nominal
from chaosagent.errors import ChaosAgentError
from chaosagent.execution.answers_on_disk import AnswersOnDisk
from chaosagent.execution.execute import Execution, Experiment, execute, nominal_in
from chaosagent.execution.hidden_state.chance_watch import watch_chance
from chaosagent.execution.hidden_state.file_watch import watch_files
from chaosagent.execution.hidden_state.module_state import changed_between, state_of_modules
from chaosagent.execution.judging import judge
from chaosagent.execution.play import play
from chaosagent.execution.run.author_remarks import noted_origins
from chaosagent.execution.run.frozen import Answers, AnswersInMemory, FrozenAnswer, answers_of, key_of
from chaosagent.execution.run.injector import OnlineInjector
from chaosagent.execution.workers.own_process import in_own_process, refuse_threads, threads_of_others
from chaosagent.faults.evaluation import Evaluation, Fingerprinting, Status
from chaosagent.faults.online import Policy
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.faults.written_file import WrittenFile
from chaosagent.limits import RunLimits
from chaosagent.targets.loading import load_target
from chaosagent.targets.target import Target
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Ending, Outcome, SystemConfig

SEEDS_SHOWN = 8
"""So many equal seeds are named."""


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
        files_noted: Note files that are written, at little cost.
        watched: Note reads of the real time and other chance (`Evaluation.reads`), and files that are written
            (`Evaluation.written`); the run takes several times as long.
        surveyed: Note the variables of modules that the run changes (`Evaluation.changed`).
        alone: Make the run in a process of its own.
        nominal: What the run without injections did, for a worker that is not to make it first; `None` to make it.
        answers: What pure interfaces answer as long as they are asked the same, instead of by `answering`.
        seeds: Other seeds, whose run it is as well if it does not read its own (`Evaluation.by_seed`).
    """

    task_id: str
    seed: int
    schedule: Schedule
    fingerprinting: Fingerprinting = Fingerprinting.OFF
    answering: Answering = Answering.LIVE
    policy: Policy | None = None
    world: int = 0
    watched: bool = False
    files_noted: bool = False
    surveyed: bool = False
    alone: bool = False
    nominal: Nominal | None = None
    answers: tuple[FrozenAnswer, ...] | None = None
    seeds: tuple[int, ...] = ()


@dataclass(slots=True)
class Workbench:
    """Runs jobs on one target and configuration; makes each nominal run once.

    Attributes:
        target: The system under test.
        config: One of its configurations.
        contracts: What is checked in every run.
        limits: Of one run.
        answers: Where frozen answers are kept.
        fresh: Each run has a process of its own.
        opened: Databases that the target has opened while it was loaded.
        megabytes_max: Resident memory that such a process may have, in units of 10⁶ bytes; `None` for no limit.
    """

    target: Target
    config: SystemConfig
    contracts: tuple[Contract, ...]
    limits: RunLimits = field(default_factory=RunLimits)
    answers: Answers = field(default_factory=AnswersInMemory)
    fresh: bool = False
    opened: tuple[WrittenFile, ...] = ()
    megabytes_max: float | None = None
    _nominal: dict[tuple[str, int, bool, int], Nominal] = field(default_factory=dict)
    _modules: Mapping[str, bytes] | None = None
    _written: dict[str, dict[WrittenFile, None]] = field(default_factory=dict)
    _interfaces: set[str] = field(default_factory=set)
    _agents: set[str] = field(default_factory=set)
    _remarks: dict[str, dict[str, None]] = field(default_factory=dict)
    _seeds: dict[str, dict[int, str]] = field(default_factory=dict)

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
        bare = self.bare(task_id, seed, answering, world)
        known = self.nominal_of(task_id, seed, answering, world)
        if known is None:
            execution = self.run(bare, EMPTY)
            self.note_written(task_id, execution.evaluation.written)
            key = task_id, seed, answering is not Answering.LIVE, world
            known = self._nominal[key] = nominal_in(execution.trace)
        return replace(bare, nominal=known, answers=None if answering is Answering.FRESH else bare.answers)

    def run(
        self, experiment: Experiment, schedule: Schedule, fingerprinting: Fingerprinting = Fingerprinting.OFF
    ) -> Execution:
        """Run an experiment as it is, in a process of its own where each run has one; errors are raised."""
        with contextlib.nullcontext() if schedule else noted_origins():
            execution = self._made(experiment, lambda: self._noting_files(experiment, schedule, fingerprinting))
        if not schedule:
            self._remarks.setdefault(experiment.task.id, {}).update(dict.fromkeys(execution.remarks))
            seeds = self._seeds.setdefault(experiment.task.id, {})
            if experiment.seed not in seeds and not experiment.world:
                seeds[experiment.seed] = replace(execution.trace, seed=0).digest
            places = [crossing.place for crossing in execution.evaluation.crossings]
            self._interfaces.update(execution.doors, (place.interface for place in places))
            self._agents.update(place.agent for place in places)
        return execution

    @property
    def interfaces(self) -> frozenset[str]:
        """The interfaces that runs without injections have opened here, whether or not they called them."""
        return frozenset(self._interfaces)

    @property
    def agents(self) -> frozenset[str]:
        """The agents that have acted in these runs."""
        return frozenset(self._agents)

    def note_written(self, task_id: str, files: Iterable[WrittenFile]) -> None:
        """Remember files that runs of a task have written: often only the first run does."""
        self._written.setdefault(task_id, {}).update(dict.fromkeys(files))

    def written_in(self, task_id: str) -> tuple[WrittenFile, ...]:
        """Return the files that noted runs of a task have written, here and where others have noted them."""
        return tuple(self._written.get(task_id, ()))

    def remarks_on(self, task_id: str) -> tuple[str, ...]:
        """Return what the author of the target should know after the runs of a task without injections."""
        return (*self._remarks.get(task_id, ()), *_equal_seeds(self._seeds.get(task_id, {})))

    def _noting_files(self, experiment: Experiment, schedule: Schedule, fingerprinting: Fingerprinting) -> Execution:
        with watch_files() as written:
            execution = execute(experiment, schedule, fingerprinting=fingerprinting)
        files = (*self.opened, *written)
        return replace(execution, evaluation=replace(execution.evaluation, written=files)) if files else execution

    def _made(self, experiment: Experiment, call: Callable[[], Execution], *, alone: bool = False) -> Execution:
        return run_experiment(experiment, call, alone=alone or self.fresh, megabytes_max=self.megabytes_max)

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
        # Here, where the next job finds what looking at modules has cached, and before a nominal run that fills caches.
        before = self._state_of_modules() if job.surveyed else {}
        if job.nominal is None:
            experiment = self.experiment(job.task_id, job.seed, job.answering, job.world)
        else:
            experiment = replace(self.bare(job.task_id, job.seed, job.answering, job.world), nominal=job.nominal)
        experiment = replace(experiment, seeds=job.seeds) if job.seeds else experiment
        if job.answers is not None:
            experiment = replace(experiment, answers=answers_of(job.answers, experiment.scope))
        if job.surveyed:
            execution = self._made(experiment, lambda: self._surveyed(experiment, job, before), alone=job.alone)
        else:
            execution = self._made(experiment, lambda: self._observed(experiment, job, on_begun), alone=job.alone)
        earlier = self.written_in(job.task_id)  # such as by the run without injections, before this one
        if not (earlier and (job.watched or job.files_noted)):
            return execution
        written = tuple(dict.fromkeys((*execution.evaluation.written, *earlier)))
        return replace(execution, evaluation=replace(execution.evaluation, written=written))

    def _state_of_modules(self) -> Mapping[str, bytes]:
        """Return what the user's modules hold; it is read anew when a run was made in this process since."""
        if self._modules is None:
            self._modules = state_of_modules(self.target)
        return self._modules

    def _surveyed(self, experiment: Experiment, job: Job, before: Mapping[str, bytes]) -> Execution:
        """Run a job, and note which variables of modules are not what they were before."""
        execution = self._observed(experiment, job, None)
        changed = changed_between(before, state_of_modules(self.target))
        return replace(execution, evaluation=replace(execution.evaluation, changed=changed))

    def _observed(
        self, experiment: Experiment, job: Job, on_begun: Callable[[OnlineInjector], None] | None
    ) -> Execution:
        """Run a job, and note what it asks to be noted."""
        policy, fingerprinting = job.policy, job.fingerprinting
        if policy is not None:
            return play(experiment, policy, fingerprinting=fingerprinting, on_begun=on_begun)
        if job.watched:
            package = str(getattr(inspect.unwrap(self.target.run), "__module__", "")).partition(".")[0]
            with watch_chance(package) as reads, watch_files() as written:
                execution = execute(experiment, job.schedule, fingerprinting=fingerprinting)
            observed = replace(execution.evaluation, reads=tuple(reads), written=(*self.opened, *written))
            return replace(execution, evaluation=observed)
        if job.files_noted:
            return self._noting_files(experiment, job.schedule, fingerprinting)
        return execute(experiment, job.schedule, fingerprinting=fingerprinting)

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
        told = replace(hung_evaluation(job.schedule, cause), digest=trace.digest, verdicts=trace.verdicts)
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
        return failed_evaluation(begun[-1].schedule if begun else job.schedule, text)


def _equal_seeds(digests: Mapping[int, str]) -> Iterator[str]:
    """Yield a remark for each group of seeds whose runs without injections differ in nothing but the seed.

    It is advice and no rule: code that only a fault leads to, such as a retry, may still draw from the seed.
    """
    for digest in dict.fromkeys(digests.values()):
        equal = sorted(seed for seed, one in digests.items() if one == digest)
        if len(equal) > 1:
            listed = ", ".join(map(str, equal[:SEEDS_SHOWN])) + (" and more" if len(equal) > SEEDS_SHOWN else "")
            yield (
                f"{len(equal)} seeds give the same run without faults: {listed}. Runs that do not read their seed are "
                "made once for all of them. If no other depends on it either, one seed finds as much in less time: "
                f"`seeds: [{equal[0]}]`."
            )


def run_experiment(
    experiment: Experiment, call: Callable[[], Execution], *, alone: bool, megabytes_max: float | None = None
) -> Execution:
    """Make a run of an experiment.

    Args:
        experiment: Of the run.
        call: Makes it.
        alone: In a process of its own.
        megabytes_max: Resident memory that this process may have; `None` for no limit.
    """
    if not alone:
        return call()
    execution = in_own_process(lambda: _without_functions(call()), megabytes_max=megabytes_max)
    if experiment.answers is not None:  # what was drawn there was kept there
        for known in execution.answers:
            experiment.answers.keep(key_of(experiment.scope, known.place, known.request), known.response)
    return execution


def _without_functions(execution: Execution) -> Execution:
    """Return a run that can be sent to another process: what its doors declare is left out where it cannot."""
    doors = {
        name: options._replace(effects=dict(options.effects), errors=dict(options.errors))
        for name, options in execution.doors.items()
    }
    try:
        pickle.dumps(doors)
    except Exception:  # of functions without a name of their own
        doors = {}
    return replace(execution, doors=doors)


def load_workbench(
    reference: str,
    config_name: str,
    contract_specs: tuple[Plain, ...],
    *,
    limits: RunLimits | None = None,
    folder: Path | None = None,
    answers: Path | None = None,
    fresh: bool = False,
) -> Workbench:
    """Make a workbench from names alone, as a worker process does.

    Args:
        reference: Of the target; see `chaosagent.targets.loading.load_target`.
        config_name: One of its configurations.
        contract_specs: The contracts, as study files name them.
        limits: Of one run.
        folder: Where a relative file is looked for; the working directory by default.
        answers: The file of frozen answers that all workers share; by default each keeps its own.
        fresh: Each run has a process of its own; also when the target says so.

    Raises:
        ChaosAgentError: Something of that name does not exist or cannot be loaded.
    """
    before = threads_of_others()
    with watch_files(databases_only=True) as opened:
        target = load_target(reference, folder=folder)
    fresh = fresh or target.fresh
    if fresh:
        refuse_threads(before, target.name)
    contracts = tuple(parse_contract(entry) for entry in contract_specs)
    kept: Answers = AnswersInMemory() if answers is None else AnswersOnDisk(answers)
    return Workbench(target, target.config(config_name), contracts, limits or RunLimits(), kept, fresh, tuple(opened))


def failed_evaluation(schedule: Schedule, error: str) -> Evaluation:
    """Return the evaluation of a run that could not be executed."""
    return Evaluation(schedule, Status.ERROR, error[:2_000] or "unknown error")


def hung_evaluation(schedule: Schedule, cause: str) -> Evaluation:
    """Return the evaluation of a run that the limit of real time has ended, twice.

    What landed nobody knows, so all of it counts; `Workbench.hung` adds what contracts say.
    """
    return Evaluation(schedule, effective=schedule, ending=Ending.HUNG, detail=cause)

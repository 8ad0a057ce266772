"""What is stored of a counterexample, or of a run without faults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from chaosagent.canonical import Plain, digest, digest_of, pack_plain
from chaosagent.contracts.contract import Contract, Nominal
from chaosagent.execution.execute import Execution, Experiment
from chaosagent.execution.run.frozen import FrozenAnswer
from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.limits import RunLimits
from chaosagent.replays.declarations import Declaration, declarations_of
from chaosagent.replays.stored_inputs import stored_config, stored_task
from chaosagent.study.chance.confirmation import Confirmation
from chaosagent.study.counterexample import Counterexample, Signature, signature_of
from chaosagent.trace.trace import Trace
from chaosagent.version import version
from chaosagent.vocabulary import Ending, Severity, SystemConfig, Task

if TYPE_CHECKING:
    from chaosagent.study.plan import Plan

FORMAT_VERSION = 4
"""Since 2, what a run that a limit has ended does not break is unknown, and does not hold. Since 3 a record knows the
calls of the run without injections, and the declarations of effects and contracts. Since 4 a record may be of a run
without faults."""
SESSION_REFERENCE = "chaosagent.proxy.session:SESSION"
"""How records of sessions of `chaosagent proxy` name their target."""
SUFFIX = ".replay"
NAME_BYTES_MAX = 180
"""Of the readable part of a file's name, of which all may have 255 bytes."""
NO_SIGNATURE = Signature("", Severity.HARD, "end", "run", "none", ())
"""Of a run without faults: nothing is violated at its end."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What was proved when the record was made.

    Attributes:
        certified: Nothing cheaper breaks the contract in the declared space.
        lower_bound: Nothing cheaper than this does.
        text: The certificate in words.
        necessity: For each injection, in text form, what the run without it did.
    """

    certified: bool
    lower_bound: float
    text: str
    necessity: tuple[tuple[str, str], ...]


class NominalRun(NamedTuple):
    """The run without injections, as far as a replay needs it.

    Attributes:
        digest: Of its steps; equal digests, equal steps.
        ending: How it ended.
        calls: Interface and operation of everything that it called, sorted, each once.
        committing: The same of what has committed an effect.
    """

    digest: str
    ending: Ending
    calls: tuple[tuple[str, str], ...]
    committing: tuple[tuple[str, str], ...]


class Named(NamedTuple):
    """How others find what a single run is of.

    Attributes:
        target: As `ReplayRecord.target_reference`.
        contracts: As `ReplayRecord.contract_specs`.
        origin: Where the run comes from, in words.
        costs: What injections cost.
    """

    target: str
    contracts: tuple[Plain, ...]
    origin: str = "a single run; nothing is proved of cheaper schedules"
    costs: CostModel = CostModel()


@dataclass(frozen=True, slots=True)
class ReplayRecord:
    """A stored counterexample, or run without faults: all that is needed to run it again, offline.

    Attributes:
        target_reference: How the target was named: a registered name, `module:attribute` or `file.py:attribute`.
        target_name: The target's own name.
        task: The task instance.
        config: The configuration.
        seed: Of the run.
        contract: Id of the violated contract; empty for a run without faults, which breaks none.
        contract_specs: All contracts that were checked, as study files name them.
        limits: Of the run.
        schedule: Decisions, not seeds.
        cost: Of the schedule.
        signature: What kind of failure it is.
        nominal: What the run without injections did.
        trace: Every crossing with request and answer, verdicts, outcome.
        trace_digest: Of that trace.
        proof: What was proved.
        provenance: Study, searcher and versions; information only.
        answers: What pure interfaces of a stochastic target answered in this run and in the one without injections;
            none when the target declares secrets.
        confirmation: How often it happened with fresh answers; `None` when the target is deterministic, or the study
            was interrupted.
        undisturbed: The calls of the run without injections; `None` in records of versions before 3.
        declarations: Of the effects and contracts; `None` in records of versions before 3.
        fresh: Each run of the study had a process of its own.
    """

    target_reference: str
    target_name: str
    task: Task
    config: SystemConfig
    seed: int
    contract: str
    contract_specs: tuple[Plain, ...]
    limits: RunLimits
    schedule: Schedule
    cost: float
    signature: Signature
    nominal: Nominal
    trace: Trace
    trace_digest: str
    proof: Proof
    provenance: Mapping[str, str] = field(default_factory=dict)
    answers: tuple[FrozenAnswer, ...] = ()
    confirmation: Confirmation | None = None
    undisturbed: NominalRun | None = None
    declarations: tuple[Declaration, ...] | None = None
    fresh: bool = False

    @property
    def stochastic(self) -> bool:
        """Whether some answers came by chance."""
        return self.confirmation is not None or bool(self.answers)

    @property
    def has_no_trace(self) -> bool:
        """Whether the limit of real time has ended the run with its worker process, so that no step of it is known."""
        return self.trace.ending is Ending.HUNG and not self.trace.steps

    @property
    def is_nominal(self) -> bool:
        """Whether it is of a run without faults that breaks no contract: a recording, and no finding."""
        return not self.contract

    @property
    def is_session(self) -> bool:
        """Whether it is of a session of `chaosagent proxy`: a recording, and no finding."""
        return self.target_reference == SESSION_REFERENCE

    @property
    def id(self) -> str:
        """Short and stable: the same counterexample of the same target has the same one."""
        return digest_of(
            [self.task.id, self.seed, self.config.name, self.contract, self.schedule.text, self.trace.config_digest]
        )[:12]

    @property
    def file_name(self) -> str:
        """The name under which it is stored."""
        of = f"{self.task.id}-{self.contract or 'nominal'}"
        safe = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in of)[:80]
        safe = safe.encode("utf-8", "replace")[:NAME_BYTES_MAX].decode("utf-8", "ignore")
        return f"{'_' if safe.startswith('-') else ''}{safe}-{self.id}{SUFFIX}"  # else a shell takes it for an option


def record_of(counterexample: Counterexample, plan: Plan) -> ReplayRecord:
    """Return the record of a counterexample.

    Args:
        counterexample: What a study found.
        plan: Of the study.
    """
    certificate = counterexample.certificate
    necessity = tuple((str(row.injection), row.fate(counterexample.contract)) for row in counterexample.necessity)
    nominal_run, objective = counterexample.undisturbed, plan.target.objective
    return ReplayRecord(
        target_reference=plan.target_reference,
        target_name=plan.target.name,
        task=stored_task(plan.target.task(counterexample.task_id), plan.target),
        config=stored_config(plan.config, plan.target),
        seed=counterexample.seed,
        contract=counterexample.contract,
        contract_specs=plan.contract_specs,
        limits=plan.run_limits,
        fresh=plan.fresh,
        schedule=counterexample.schedule,
        cost=counterexample.cost,
        signature=counterexample.signature,
        nominal=counterexample.nominal,
        trace=counterexample.trace,
        trace_digest=counterexample.trace.digest,
        proof=Proof(certificate.certified, certificate.lower_bound, str(certificate), necessity),
        provenance={
            "study": plan.digest,
            "searcher": plan.searcher,
            "chaosagent": version(),
        },
        answers=() if plan.target.secrets else counterexample.answers,
        confirmation=counterexample.confirmation,
        undisturbed=None if nominal_run is None else nominal_run_in(nominal_run.trace),
        declarations=None if nominal_run is None else declarations_of(plan.contracts, nominal_run.doors, objective),
    )


def record_of_run(
    experiment: Experiment, undisturbed: Execution, run: Trace, schedule: Schedule, *, contract: Contract, named: Named
) -> ReplayRecord:
    """Return the record of one run that breaks a contract; nothing is proved of it.

    Args:
        experiment: Target, task, configuration and seed, compared with the run without injections.
        undisturbed: That run.
        run: The one that breaks the contract.
        schedule: What was injected.
        contract: What is broken.
        named: How others find target and contracts, and where the run comes from.
    """
    nominal = experiment.nominal
    assert nominal is not None, "a run is judged by the one without injections"
    return replace(
        record_of_nominal_run(experiment, undisturbed, named),
        contract=contract.id,
        schedule=schedule,
        cost=schedule.declared_cost(named.costs),
        signature=signature_of(run, contract.id, contract.severity, schedule),
        nominal=nominal,
        trace=run,
        trace_digest=run.digest,
    )


def record_of_nominal_run(experiment: Experiment, undisturbed: Execution, named: Named) -> ReplayRecord:
    """Return the record of a run without faults.

    Args:
        experiment: Target, task, configuration and seed.
        undisturbed: The run.
        named: How others find target and contracts, and where the run comes from.
    """
    target, trace = experiment.target, undisturbed.trace
    return ReplayRecord(
        target_reference=named.target,
        target_name=target.name,
        task=stored_task(experiment.task, target),
        config=stored_config(experiment.config, target),
        seed=experiment.seed,
        contract="",
        contract_specs=named.contracts,
        limits=experiment.limits,
        schedule=EMPTY,
        cost=0.0,
        signature=NO_SIGNATURE,
        nominal=Nominal(trace.effects, trace.outcome),
        trace=trace,
        trace_digest=trace.digest,
        proof=Proof(certified=False, lower_bound=0.0, text=named.origin, necessity=()),
        provenance={"chaosagent": version()},
        undisturbed=nominal_run_in(trace),
        declarations=declarations_of(experiment.contracts, undisturbed.doors, target.objective),
        fresh=target.fresh,
    )


def nominal_run_in(trace: Trace) -> NominalRun:
    """Return what a replay needs of the run without injections."""
    calls = {(step.interface, step.operation) for step in trace.steps if step.boundary is not None}
    committing = {(step.interface, step.operation) for step in trace.steps if step.effects}
    return NominalRun(digest_of_steps(trace), trace.ending, tuple(sorted(calls)), tuple(sorted(committing)))


def digest_of_steps(trace: Trace) -> str:
    """Return a digest of all that happened in a run, whatever contracts say of it."""
    return digest(pack_plain([step.canonical() for step in trace.steps]))

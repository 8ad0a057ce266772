"""Counterexamples: a schedule, the contract it breaks, and the proof that comes with it."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.canonical import digest_of
from chaosagent.contracts.contract import Nominal
from chaosagent.execution.execute import Execution
from chaosagent.execution.run.frozen import FrozenAnswer
from chaosagent.faults.schedule import Schedule
from chaosagent.study.certificate import Certificate
from chaosagent.study.chance.confirmation import Confirmation
from chaosagent.study.shrinking.minimise import Necessity
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Impact, Severity


@dataclass(frozen=True, slots=True)
class Signature:
    """What kind of failure it is (1.8 of the specification); equal signatures, equal kinds of failure.

    Attributes:
        contract: The first violated contract.
        severity: Hard or soft.
        operation: What was being done at the violating step, `"end"` when only the end of the run showed it.
        interface: The class of the interface of that step.
        risk: The highest impact of an effect committed at that step, `"none"` without effects.
        operators: The families of the operators, sorted.
    """

    contract: str
    severity: Severity
    operation: str
    interface: str
    risk: str
    operators: tuple[str, ...]

    def __str__(self) -> str:
        operators = "+".join(self.operators) or "nothing"
        return f"{self.contract} at {self.interface} {self.operation} ({self.risk}) by {operators}"


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A minimal schedule that breaks a contract.

    Attributes:
        task_id: Which task.
        seed: Of the run.
        config: Name of the configuration.
        contract: Id of the contract.
        schedule: Its injections all land, each at one place.
        cost: Of the schedule.
        trace: Of the run.
        nominal: What the run without injections did.
        signature: What kind of failure it is.
        necessity: For each injection the run without it.
        certificate: What is proved about cheaper ones.
        confirmed: A fresh run gave the same trace digest.
        answers: The frozen answers that the run used, for a stochastic target.
        confirmation: How often it happens with answers that are not frozen, for a stochastic target.
        undisturbed: The run without injections, with the declarations of its doors; `None` where it could not be made.
        world: Of frozen answers, in which it was seen.
    """

    task_id: str
    seed: int
    config: str
    contract: str
    schedule: Schedule
    cost: float
    trace: Trace
    nominal: Nominal
    signature: Signature
    necessity: tuple[Necessity, ...]
    certificate: Certificate
    confirmed: bool
    answers: tuple[FrozenAnswer, ...] = ()
    confirmation: Confirmation | None = None
    undisturbed: Execution | None = None
    world: int = 0

    @property
    def id(self) -> str:
        """Short and stable: the same counterexample of the same target has the same one."""
        return digest_of(
            [self.task_id, self.seed, self.config, self.contract, self.schedule.text, self.trace.config_digest]
        )[:12]

    @property
    def minimal(self) -> bool:
        """Whether for each injection the run without it passes."""
        return len(self.necessity) == len(self.schedule)


def signature_of(trace: Trace, contract: str, severity: Severity, schedule: Schedule) -> Signature:
    """Return the signature of a violation in a trace."""
    violation = trace.verdict(contract).violation
    operators = tuple(sorted({injection.operator_name for injection in schedule}))
    if violation is None or violation.step >= len(trace.steps):
        return Signature(contract, severity, "end", "run", "none", operators)
    step = trace.steps[violation.step]
    ranks = [Impact.HARMLESS, Impact.COMPENSATING, Impact.HIGH]
    impacts = sorted((effect.impact for effect in step.effects), key=ranks.index)
    risk = impacts[-1].value if impacts else "none"
    boundary = "note" if step.boundary is None else step.boundary.value
    return Signature(contract, severity, step.operation, boundary, risk, operators)

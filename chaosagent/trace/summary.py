"""What tables need of a run, so that nothing is run again to print one."""

from __future__ import annotations

from typing import NamedTuple

from chaosagent.canonical import digest_of
from chaosagent.trace.step import StepKind
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Mediation

SOFT_ERROR = "soft error"


class FailureMet(NamedTuple):
    """A failure that an agent was given.

    Attributes:
        call: Interface and operation, such as `"service:crm get"`.
        kind: Such as `"timeout"`; `"soft error"` of an answer that `failed_when` calls a failed call.
        recovered: A later call of the same operation had an answer.
    """

    call: str
    kind: str
    recovered: bool


class MediatorDecision(NamedTuple):
    """An action that the mediator did not let pass as it was.

    Attributes:
        call: Interface and operation.
        decision: `"rewrite"` or `"block"`.
        reason: The mediator's.
    """

    call: str
    decision: str
    reason: str


class ViolationAt(NamedTuple):
    """Where a contract was first broken.

    Attributes:
        contract: Its id.
        step: Index in the trace.
        role: Of the agent that acted at that step; empty where there is none.
    """

    contract: str
    step: int
    role: str


class RunSummary(NamedTuple):
    """A run in short.

    Attributes:
        path: The calls in the order of the trace, each as interface and operation.
        effects: The kinds of what was committed to the world, in order.
        refused: The target declined the task.
        virtual_seconds: When the last agent had its answer.
        failures: That agents were given, in order.
        decisions: Of the mediator, other than to allow.
        notes: What the target reported, each as its operation.
        violations: Of each contract that is broken.
        tokens: Reserved, `None` until tokens are counted.
    """

    path: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    refused: bool = False
    virtual_seconds: float = 0.0
    failures: tuple[FailureMet, ...] = ()
    decisions: tuple[MediatorDecision, ...] = ()
    notes: tuple[str, ...] = ()
    violations: tuple[ViolationAt, ...] = ()
    tokens: int | None = None

    @property
    def path_digest(self) -> str:
        """Runs with equal paths have equal ones."""
        return digest_of(list(self.path))

    @property
    def calls(self) -> dict[str, int]:
        """How often each operation was called, by interface and operation."""
        return {call: self.path.count(call) for call in dict.fromkeys(self.path)}


def summary_of(trace: Trace) -> RunSummary:
    """Return a run in short; what is secret in the trace is redacted in it, too."""
    path, failed, decisions, notes = [], [], [], []
    answered: dict[str, int] = {}
    for step in trace.steps:
        if step.kind is StepKind.NOTE:
            notes.append(step.operation)
            continue
        call = f"{step.interface} {step.operation}"
        if step.kind is StepKind.CALL:
            path.append(call)
            if not step.has_failed:
                answered[call] = step.index
            else:
                kind = SOFT_ERROR if step.failure is None else step.failure.kind
                failed.append((call, kind, step.index))
        if step.decision.mediation is not Mediation.ALLOW:
            decisions.append(MediatorDecision(call, step.decision.mediation._value_, step.decision.reason))
    steps = trace.steps
    return RunSummary(
        tuple(path),
        tuple([effect.kind for effect in trace.effects]),
        trace.outcome.refused,
        steps[-1].arrived_at if steps else 0.0,
        tuple([FailureMet(call, kind, answered.get(call, -1) > index) for call, kind, index in failed]),
        tuple(decisions),
        tuple(notes),
        tuple(
            [
                ViolationAt(one.contract, at.step, steps[at.step].role if at.step < len(steps) else "")
                for one in trace.verdicts
                if (at := one.violation) is not None
            ]
        ),
    )

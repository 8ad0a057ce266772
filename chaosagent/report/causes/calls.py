"""The calls of a run without faults, as far as another run is compared with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from chaosagent.faults.dry import RecordedCrossing
from chaosagent.trace.step import Step, StepKind
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Boundary, Mediation

BOX = ":inbox"
END = "end"
"""The first difference of a run that makes the same calls with the same answers, as far as they are compared."""


class Call(NamedTuple):
    """One call of a run.

    Attributes:
        hook: In text form, such as `"service:crm[2]@planner"`.
        request: Canonical bytes of operation and arguments.
        response: Canonical bytes of what the agent was given; empty where that was nothing.
    """

    hook: str
    request: bytes
    response: bytes


Calls: TypeAlias = Sequence[Call]


def calls_in_trace(trace: Trace) -> tuple[Call, ...]:
    """Return the calls of a trace, in the order of their answers.

    Left out is what the store of a study does not keep of a run without faults: notes, calls that the mediator has
    blocked, messages taken out of a box, and requests that reached the world after their crossing. So a study and its
    folder agree.
    """
    return tuple(Call(step.hook, step.request, step.response) for step in trace.steps if is_call(step))


def calls_in_store(crossings: Iterable[RecordedCrossing]) -> tuple[Call, ...]:
    """Return the calls of a stored run without faults, in the order in which they were asked."""
    return tuple(
        Call(str(one.place), one.request, one.response)
        for one in crossings
        if not _is_box(one.boundary, one.place.interface)
    )


def is_call(step: Step) -> bool:
    """Whether a step is compared with the run without faults."""
    asked = step.kind in (StepKind.CALL, StepKind.CANCELLED) and not _is_box(step.boundary, step.interface)
    return asked and step.boundary is not None and step.decision.mediation is not Mediation.BLOCK


def _is_box(boundary: Boundary | None, interface: str) -> bool:
    """Whether a call takes a message out of a box: nothing can be injected there, so no store has it."""
    return boundary is Boundary.MESSAGE and interface.endswith(BOX)


def by_hook(calls: Calls) -> Mapping[str, Call]:
    """Return calls by their hooks."""
    return {call.hook: call for call in calls}


def first_difference(trace: Trace, nominal: Calls | None) -> Step | None:
    """Return the first step that the run without faults does not have at the same hook.

    Calls are compared by operation, arguments, answer and failure, and not by time or order.

    Args:
        trace: Of the run under faults.
        nominal: The calls of the run without; `None` where they are not known: then it is the first step at which an
            injection landed.

    Returns:
        The step; `None` where there is none before the end of the run.
    """
    if nominal is None:
        return next((step for step in trace.steps if step.landed is not None), None)
    known = by_hook(nominal)
    for step in trace.steps:
        if is_call(step) and known.get(step.hook) != Call(step.hook, step.request, step.response):
            return step
    return None

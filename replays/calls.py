"""The calls of today's run at which a fault of a record may be placed.

A fault belongs to a call, not to a count. A call that may be the recorded one is of the recorded interface and
operation, whatever its arguments (it is the fault's own), or of an interface and operation that the record does not
have (it is new). Where no own call is left, any call at the same boundary may have taken its place.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from chaosagent.canonical import Plain
from chaosagent.execution.run.doors import DoorOptions
from chaosagent.faults.dry import RecordedCrossing, unpack_request
from chaosagent.faults.injection import Injection, Place, injection_at
from chaosagent.replays.record import ReplayRecord
from chaosagent.trace.redact import redactor_of
from chaosagent.trace.step import Step, StepKind
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Boundary

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
ARGUMENTS_SHOWN_MAX = 300


class CallRelation(enum.Enum):
    """How a call of today's run is related to a recorded one."""

    OWN = "the same interface and operation"
    NEW = "an interface and operation that the record does not have"
    NEW_READ = "a new call that commits nothing, while the recorded call committed an effect"
    OTHER = "another call at the same boundary"


class Call(NamedTuple):
    """A call of one of today's runs.

    Attributes:
        place: Where it is made.
        boundary: The class of the interface.
        operation: What is asked.
        request: Canonical bytes of operation and arguments, without secrets.
        asked: Position of the ask among everything that acted in the run.
        number: How many-th call of this interface and operation it is, from 1.
    """

    place: Place
    boundary: Boundary
    operation: str
    request: bytes
    asked: int
    number: int

    @property
    def pair(self) -> tuple[str, str]:
        """Interface and operation."""
        return self.place.interface, self.operation

    @property
    def arguments(self) -> Mapping[str, Plain]:
        """What it is asked with."""
        return unpack_request(self.request).arguments

    def __str__(self) -> str:
        name = self.place.interface.partition(":")[2]
        agent = f" of {self.place.agent}" if self.place.agent else ""
        count = ORDINALS[self.number - 1] if self.number <= len(ORDINALS) else f"{self.number}th"
        return f"`{name}.{self.operation}`, {count} call{agent}"


class Fault(NamedTuple):
    """An injection of a record, and the call that it disturbed there.

    Attributes:
        injection: As the record has it.
        step: The recorded call; `None` where the record does not show it.
    """

    injection: Injection
    step: Step | None

    @property
    def stays(self) -> bool:
        """Whether it is not placed anew: it is at several places, or the record does not show its call."""
        return self.step is None or not self.injection.hook.single

    @property
    def pair(self) -> tuple[str, str]:
        """Interface and operation of the recorded call; no operation where it is not known."""
        return self.injection.hook.interface, "" if self.step is None else self.step.operation


class Candidate(NamedTuple):
    """A call at which a fault is placed.

    An injection at several places stays as it is, and so does one whose call the record does not show.

    Attributes:
        fault: What is placed.
        call: Where; `None` for an injection that stays as it is.
        relation: How the call is related to the recorded one.
        is_recorded: It is the recorded call itself: the same request, at the recorded place where there are several.
    """

    fault: Fault
    call: Call | None
    relation: CallRelation
    is_recorded: bool

    @property
    def injection(self) -> Injection:
        """The injection at that call."""
        return self.fault.injection if self.call is None else injection_at(self.call.place, self.fault.injection)


@dataclass(frozen=True, slots=True)
class RecordedCalls:
    """What a record knows of its calls.

    Attributes:
        faults: In the order in which they acted.
        pairs: Interface and operation of all its calls, with and without faults.
        committing: Interface and operation of calls that committed an effect.
        undisturbed: The interfaces that are called without faults, `None` where that is not known.
    """

    faults: tuple[Fault, ...]
    pairs: frozenset[tuple[str, str]]
    committing: frozenset[tuple[str, str]]
    undisturbed: frozenset[str] | None


def recorded_calls(record: ReplayRecord) -> RecordedCalls:
    """Return what a record knows of its calls."""
    steps = [step for step in record.trace.steps if step.kind in (StepKind.CALL, StepKind.CANCELLED)]
    faults = [_fault(injection, steps) for injection in record.schedule]
    faults.sort(key=lambda fault: len(record.trace.steps) if fault.step is None else fault.step.index)
    calls, committing = ((), ()) if record.undisturbed is None else record.undisturbed[2:]
    return RecordedCalls(
        tuple(faults),
        frozenset([*calls, *((step.interface, step.operation) for step in steps)]),
        frozenset([*committing, *((step.interface, step.operation) for step in record.trace.steps if step.effects)]),
        None if record.undisturbed is None else frozenset(interface for interface, _ in calls),
    )


def _fault(injection: Injection, steps: Iterable[Step]) -> Fault:
    return Fault(injection, next((step for step in steps if injection.hook.matches(place_of(step))), None))


def calls_of(crossings: Iterable[RecordedCrossing], secrets: tuple[str, ...]) -> list[Call]:
    """Return the calls of a run in the order of asking, without their secrets, as the steps of a record are.

    Args:
        crossings: Those of the run, with their secrets.
        secrets: The patterns of the target.
    """
    redactor = redactor_of(secrets)
    numbers: Counter[tuple[str, str]] = Counter()
    calls = []
    for crossing in crossings:
        operation = unpack_request(crossing.request).operation
        pair = crossing.place.interface, operation
        numbers[pair] += 1
        request = crossing.request if redactor is None else redactor.packed(crossing.request)
        calls.append(Call(crossing.place, crossing.boundary, operation, request, crossing.asked, numbers[pair]))
    return calls


def candidates(
    fault: Fault,
    calls: Sequence[Call],
    recorded: RecordedCalls,
    *,
    taken: Container[Place],
    doors: Mapping[str, DoorOptions] | None,
) -> list[Candidate]:
    """Return the calls at which a fault is to be placed, the likeliest first.

    Args:
        fault: The fault.
        calls: Those of the run with the faults before it.
        recorded: What the record knows of its calls.
        taken: Where other faults are.
        doors: What today's target declares, where its run without faults commits what the record's does. Then, if a
            call that committed an effect is not made any more, only one that may commit something has replaced it.
    """
    if fault.stays:
        return [Candidate(fault, None, CallRelation.OWN, is_recorded=True)]
    boundary = fault.injection.hook.boundary
    near = [call for call in calls if call.boundary is boundary and call.place not in taken]
    own = [call for call in near if call.pair == fault.pair]
    elsewhere = [call for call in near if call.pair != fault.pair]
    if own:
        elsewhere = [call for call in elsewhere if call.pair not in recorded.pairs]
    else:
        elsewhere = [call for call in elsewhere if _may_replace(call, fault, recorded, doors)]
    found = _recorded_among(fault, own)
    own.sort(key=lambda call: (call is not found, call.asked))
    return [
        *(Candidate(fault, call, CallRelation.OWN, call is found) for call in own),
        *(Candidate(fault, call, _relation(call, fault, recorded, doors), is_recorded=False) for call in elsewhere),
    ]


def changed_arguments(candidate: Candidate) -> str:
    """Say that a call has other arguments than the recorded one, empty if it has not."""
    fault, call = candidate.fault, candidate.call
    if call is None or fault.step is None or call.request == fault.step.request:
        return ""
    known = f"{fault.step.arguments}"[:ARGUMENTS_SHOWN_MAX]
    now = f"{call.arguments}"[:ARGUMENTS_SHOWN_MAX]
    changed = f"{call.operation}({known}) then, {call.operation}({now}) now"
    return f"{fault.injection} acts on a call with other arguments: {changed}"


def notes_on_new_calls(recorded: RecordedCalls, undisturbed: Trace, run: Trace) -> list[str]:
    """Say which calls a run under faults makes in vain, as far as is declared, that nothing else has shown.

    What such a call really does, nobody has declared: it may be what the recorded call did.

    Args:
        recorded: What the record knows of its calls.
        undisturbed: Today's run without faults.
        run: One with them.
    """
    boundaries = {fault.injection.hook.boundary for fault in recorded.faults if fault.pair in recorded.committing}
    known = recorded.pairs | {(step.interface, step.operation) for step in undisturbed.steps}
    names = {
        f"`{step.interface.partition(':')[2]}.{step.operation}`": None
        for step in run.steps
        if step.kind is StepKind.CALL
        and step.boundary in boundaries
        and not (step.effects or step.failure)
        and (step.interface, step.operation) not in known
    }
    return [
        f"under the faults the target calls {name}, which the record does not have and which declares no effect here; "
        "if it changes anything, declare that and replay again"
        for name in names
    ]


def _relation(
    call: Call, fault: Fault, recorded: RecordedCalls, doors: Mapping[str, DoorOptions] | None
) -> CallRelation:
    if call.pair in recorded.pairs:
        return CallRelation.OTHER
    return CallRelation.NEW if _may_replace(call, fault, recorded, doors) else CallRelation.NEW_READ


def _may_replace(call: Call, fault: Fault, recorded: RecordedCalls, doors: Mapping[str, DoorOptions] | None) -> bool:
    """Whether a call may have taken the place of the recorded one, by what the two commit."""
    if doors is None or fault.pair not in recorded.committing:
        return True
    options = doors.get(call.place.interface)
    return options is None or options.committed is not None or call.operation in options.effects


def _recorded_among(fault: Fault, own: Sequence[Call]) -> Call | None:
    """Return the call that is the recorded one by its request, at the recorded place where there are several."""
    if fault.step is None:
        return None
    same = [call for call in own if call.request == fault.step.request]
    return next((call for call in same if call.place == place_of(fault.step)), same[0] if same else None)


def place_of(step: Step) -> Place:
    """Return where a step was asked."""
    return Place(step.interface, step.agent, step.occurrence, step.attempt)

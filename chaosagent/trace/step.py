"""One entry of a trace (r_t of Eq. 6 and 7)."""

from __future__ import annotations

import enum
from typing import NamedTuple, cast

from chaosagent.canonical import Plain, pack_plain, plain, unpack
from chaosagent.vocabulary import Boundary, Effect, Failure, Landing, Mediation


class StepKind(enum.Enum):
    """What a step tells of.

    `CALL` is a crossing whose answer was delivered, `CANCELLED` one that the target gave up on before or that was open
    when the run ended, `LATE` something that reached the world after its crossing had been answered, `NOTE` what the
    target itself reports.
    """

    CALL = "call"
    CANCELLED = "cancelled"
    LATE = "late"
    NOTE = "note"


class Landed(NamedTuple):
    """What one injection did at a step."""

    injection: str
    operator: str
    landing: Landing
    description: str


class Decision(NamedTuple):
    """What the mediator decided, why, and, after a rewrite, the canonical bytes of what the agent had proposed."""

    mediation: Mediation
    reason: str = ""
    proposed: bytes = b""


ALLOWED = Decision(Mediation.ALLOW)


class Link(NamedTuple):
    """A provenance link between two trace artifacts, named by their ids.

    Attributes:
        source: Id of the one that is related, such as a hook in text form.
        relation: Such as supports, returns or derived_from.
        target: Id of the other.
    """

    source: str
    relation: str
    target: str


CANONICAL_FIELDS = (
    "kind", "agent", "role", "interface", "occurrence", "attempt", "operation", "arguments", "decision", "decision",
    "decision", "failure", "answer", "asked_at", "arrived_at", "landed", "effects", "links", "egress",
    "inside", "soft_error",
)  # fmt: skip
"""The attributes of a step, as `Step.canonical` has them; a decision has three parts, and no soft error none."""


class Step:
    """One entry of a trace; not changed after its monitors have seen it.

    While monitors look at it, `arguments` and `answer` are the raw values; afterwards they are what is
    stored, with secrets redacted.

    Attributes:
        index: Place in the trace, from 0.
        kind: What the step tells of.
        agent: Who acted, empty for a target without named agents.
        role: The role of that agent.
        boundary: The class of the interface; `None` for a note.
        interface: Such as `"service:crm"`; `"note"` for a note.
        occurrence: How many-th call of this agent through the interface, from 1.
        attempt: 0, or the number of the retry made by a layer below the agent.
        operation: What was asked of the interface.
        request: Canonical bytes of operation and arguments, as the mediator let them pass.
        response: Canonical bytes of the answer and the failure that the agent was given; empty when it was given
            neither.
        failure: What the agent was given instead of an answer.
        soft_error: Why the answer that the agent was given is a failed call, as `failed_when` says; empty when it is
            none.
        asked_at: Virtual seconds at which it was asked.
        arrived_at: Virtual seconds at which the agent had its answer.
        decision: The mediator's.
        landed: What the injection at this hook did, if there was one.
        effects: What was committed to the world in the course of this crossing.
        egress: The target declares that what is sent through the interface leaves the organisation.
        links: Provenance that the target declared since the step before.
        inside: The hook of the crossing whose world asked this, empty when the target itself did.
        raw: Monitors are looking at it.
    """

    __slots__ = (
        "_answer",
        "_arguments",
        "agent",
        "arrived_at",
        "asked_at",
        "attempt",
        "boundary",
        "decision",
        "effects",
        "egress",
        "failure",
        "index",
        "inside",
        "interface",
        "kind",
        "landed",
        "links",
        "occurrence",
        "operation",
        "raw",
        "request",
        "response",
        "role",
        "soft_error",
    )

    index: int
    kind: StepKind
    agent: str
    role: str
    boundary: Boundary | None
    interface: str
    occurrence: int
    attempt: int
    operation: str
    request: bytes
    response: bytes
    failure: Failure | None
    asked_at: float
    arrived_at: float
    decision: Decision
    landed: Landed | None
    effects: tuple[Effect, ...]
    egress: bool
    links: tuple[Link, ...]
    inside: str
    soft_error: str
    raw: bool
    _arguments: object
    _answer: object

    @property
    def arguments(self) -> dict[str, Plain]:
        """The arguments of the request."""
        if self.raw and self._arguments is not None:
            return cast("dict[str, Plain]", self._arguments)
        _, arguments = cast("list[Plain]", unpack(self.request))
        if self.raw:
            self._arguments = arguments  # several monitors look
        return cast("dict[str, Plain]", arguments)

    @property
    def answer(self) -> Plain:
        """What the agent was told; `None` when it was given a failure."""
        if self.raw:
            return cast(Plain, self._answer)
        return cast("list[Plain]", unpack(self.response))[0] if self.response else None

    @property
    def has_failed(self) -> bool:
        """Whether the agent was given a failure, or an answer that says that the call has failed."""
        return self.failure is not None or bool(self.soft_error)

    @property
    def hook(self) -> str:
        """The hook in text form, such as `"service:crm[2]@planner"`."""
        attempt = f".{self.attempt}" if self.attempt else ""
        agent = f"@{self.agent}" if self.agent else ""
        return f"{self.interface}[{self.occurrence}{attempt}]{agent}"

    def show(self, arguments: object, answer: object) -> None:
        """Let monitors see raw values until `seal`; arguments that are `None` are read from the request on demand."""
        self.raw = True
        self._arguments, self._answer = arguments, answer

    def seal(self) -> None:
        """Drop the raw values."""
        self.raw, self._arguments, self._answer = False, None, None

    def canonical(self) -> tuple[object, ...]:
        """Everything that a trace digest covers, as plain data in the order of `CANONICAL_FIELDS`."""
        failure, landed, decision = self.failure, self.landed, self.decision
        fields = (
            self.kind._value_,
            self.agent,
            self.role,
            self.interface,
            self.occurrence,
            self.attempt,
            self.operation,
            self.request,
            decision.mediation._value_,
            decision.reason,
            decision.proposed,
            failure,
            self.response,
            self.asked_at,
            self.arrived_at,
            None if landed is None else (landed.injection, landed.operator, landed.landing.value, landed.description),
            [pack_plain((kind, plain(identity), impact._value_)) for kind, identity, impact in self.effects]
            if self.effects
            else (),
            self.links,
            self.egress,
            self.inside,
        )
        return (*fields, self.soft_error) if self.soft_error else fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Step) and self.index == other.index and self.canonical() == other.canonical()

    def __hash__(self) -> int:
        return hash((self.index, self.request, self.response))

    def __repr__(self) -> str:
        what = self.failure.kind if self.failure is not None else self.soft_error or "answered"
        return f"<step {self.index}: {self.hook} {self.operation} {what}>"

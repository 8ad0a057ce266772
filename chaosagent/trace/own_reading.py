"""Steps and ends of runs out of the `chaosagent.*` attributes of spans; untrusted input, taken with its types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, TypeVar

from chaosagent.canonical import Plain, pack, unpack_untrusted
from chaosagent.errors import UsageError
from chaosagent.trace.genai_names import OWN
from chaosagent.trace.own_attributes import ITEMS_MAX, JSON_SUFFIX
from chaosagent.trace.step import Decision, Landed, Link, Step, StepKind
from chaosagent.trace.tagged import from_tagged
from chaosagent.trace.trace import ContractVerdict, Trace, Violation
from chaosagent.vocabulary import (
    Boundary,
    Claim,
    Effect,
    Ending,
    Failure,
    Impact,
    Landing,
    Mediation,
    Outcome,
    Verdict,
)

T = TypeVar("T")


def is_own_step(attributes: Mapping[str, Plain]) -> bool:
    """Whether the span of these attributes was exported from a step."""
    return f"{OWN}kind" in attributes


def is_own_run(attributes: Mapping[str, Plain]) -> bool:
    """Whether the span of these attributes was exported from a whole trace."""
    return f"{OWN}ending" in attributes


class OwnFacts:
    """The `chaosagent.*` attributes of a span, each taken with its type.

    Args:
        attributes: Of the span.
        where: What messages call it.
    """

    def __init__(self, attributes: Mapping[str, Plain], where: str) -> None:
        self._attributes, self._where = attributes, where

    def raw(self, name: str) -> Plain:
        """Return a value, `None` when it is not there."""
        key = f"{OWN}{name}"
        if key in self._attributes:
            return self._attributes[key]
        text = self._attributes.get(key + JSON_SUFFIX)
        return None if text is None else self._parsed(name, text)

    def text(self, name: str) -> str:
        """Return a text."""
        value = self.raw(name)
        return "" if value is None else value if isinstance(value, str) else self.refuse(name, "a text", value)

    def whole(self, name: str) -> int:
        """Return a whole number."""
        value = self.raw(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        return self.refuse(name, "a whole number", value)

    def number(self, name: str) -> float:
        """Return a number; it stays whole if it is."""
        value = self.raw(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        return self.refuse(name, "a number", value)

    def data(self, name: str) -> Plain:
        """Return what stands there as tagged JSON, `None` when nothing does."""
        text = self.raw(name)
        return None if text is None else self._parsed(name, text)

    def items(self, name: str) -> list[Plain]:
        """Return a list."""
        value = self.data(name)
        return [] if value is None else value if isinstance(value, list) else self.refuse(name, "a list", value)

    def packed(self, name: str) -> bytes:
        """Return canonical bytes."""
        match self.data(name):
            case None:
                return b""
            case [value]:
                return pack(value)
            case {"$packed": bytes() as data}:
                return data
            case other:
                return self.refuse(name, "a request or an answer", other)

    def word(self, name: str, kind: type[T], value: Plain) -> T:
        """Return a member of a closed set."""
        try:
            return kind(value)  # type: ignore[call-arg]  # an enum is called with a value
        except ValueError:
            return self.refuse(name, f"a {kind.__name__}", value)

    def _parsed(self, name: str, text: Plain) -> Plain:
        if not isinstance(text, str):
            return self.refuse(name, "tagged JSON", text)
        try:
            return from_tagged(text)
        except UsageError as error:
            raise UsageError(f"{self._where}: {OWN}{name}: {error}") from error

    def refuse(self, name: str, expected: str, value: object) -> NoReturn:
        """Raise the `UsageError` of a value of another type."""
        raise UsageError(
            f"{self._where}: {OWN}{name} must be {expected}, and is {value!r:.80}. Export the trace again, or leave it "
            "out with --skip-broken."
        )


def read_step(attributes: Mapping[str, Plain], where: str) -> Step:
    """Return the step that attributes describe.

    Raises:
        UsageError: An attribute is of another type than those that are exported.
    """
    facts, step = OwnFacts(attributes, where), Step()
    step.index = facts.whole("index")
    step.kind = facts.word("kind", StepKind, facts.raw("kind"))
    step.agent, step.role = facts.text("agent"), facts.text("role")
    boundary = facts.raw("boundary")
    step.boundary = None if boundary is None else facts.word("boundary", Boundary, boundary)
    step.interface, step.operation = facts.text("interface"), facts.text("operation")
    step.occurrence, step.attempt = facts.whole("occurrence"), facts.whole("attempt")
    step.request, step.response = facts.packed("request"), facts.packed("response")
    _check_pairs(step, facts)
    step.failure = _failure(facts)
    step.asked_at, step.arrived_at = facts.number("asked_at"), facts.number("arrived_at")
    step.decision, step.landed = _decision(facts), _landed(facts)
    step.effects = tuple(_effect(facts, item) for item in facts.items("effects"))
    step.links = tuple(_link(facts, item) for item in facts.items("links"))
    step.egress, step.inside = facts.raw("egress") is True, facts.text("inside")
    step.soft_error = facts.text("soft_error")
    step.seal()
    return step


def _check_pairs(step: Step, facts: OwnFacts) -> None:
    """Refuse requests and responses that monitors could not look into."""
    if step.request and not _is_pair(step.request, dict, 1):
        facts.refuse("request", "an operation and its arguments", step.request)
    if step.response and not _is_pair(step.response, object, 0):
        facts.refuse("response", "an answer and a failure", step.response)


def _is_pair(data: bytes, kind: type, part: int) -> bool:
    try:
        value = unpack_untrusted(data, items_max=ITEMS_MAX)
    except (UsageError, ValueError):
        return False
    return isinstance(value, list) and len(value) == 2 and isinstance(value[part], kind)


def _failure(facts: OwnFacts) -> Failure | None:
    match facts.data("failure"):
        case None:
            return None
        case [
            str() as kind,
            str() as message,
            int() | None as status,
            int() | float() | None as retry_after,
            str() as name,
            list() as arguments,
            dict() | None as attributes,
        ]:
            return Failure(kind, message, status, retry_after, name, tuple(arguments), attributes)
        case other:
            return facts.refuse("failure", "a failure", other)


def _decision(facts: OwnFacts) -> Decision:
    match facts.data("decision"):
        case [str() as mediation, str() as reason, bytes() as proposed]:
            return Decision(facts.word("decision", Mediation, mediation), reason, proposed)
        case other:
            return facts.refuse("decision", "a decision", other)


def _landed(facts: OwnFacts) -> Landed | None:
    match facts.data("landed"):
        case None:
            return None
        case [str() as injection, str() as operator, str() as landing, str() as description]:
            return Landed(injection, operator, facts.word("landed", Landing, landing), description)
        case other:
            return facts.refuse("landed", "what an injection did", other)


def _effect(facts: OwnFacts, value: Plain) -> Effect:
    match value:
        case [str() as kind, dict() as identity, str() as impact]:
            return Effect(kind, identity, facts.word("effects", Impact, impact))
        case _:
            return facts.refuse("effects", "a list of effects", value)


def _link(facts: OwnFacts, value: Plain) -> Link:
    match value:
        case [str() as source, str() as relation, str() as target]:
            return Link(source, relation, target)
        case _:
            return facts.refuse("links", "a list of links", value)


class RunFacts:
    """What the span of a whole run says of it.

    Args:
        attributes: Of the span.
        where: What messages call it.

    Raises:
        UsageError: An attribute is of another type than those that are exported.
    """

    def __init__(self, attributes: Mapping[str, Plain], where: str) -> None:
        facts = OwnFacts(attributes, where)
        self.step_count = facts.whole("step_count")
        self._facts = facts
        self._ending = facts.word("ending", Ending, facts.raw("ending"))
        self._outcome = _outcome(facts)
        self._verdicts = tuple(_verdict(facts, item) for item in facts.items("verdicts"))
        self._links = tuple(_link(facts, item) for item in facts.items("links"))
        self._seed = facts.whole("seed")

    def trace(self, steps: tuple[Step, ...]) -> Trace:
        """Return the trace of that run with these steps."""
        facts = self._facts
        return Trace(
            task_id=facts.text("task_id"),
            config_digest=facts.text("config_digest"),
            seed=self._seed,
            steps=steps,
            ending=self._ending,
            ending_detail=facts.text("ending_detail"),
            outcome=self._outcome,
            verdicts=self._verdicts,
            crashed_at=facts.text("crashed_at"),
            links=self._links,
        )


def _outcome(facts: OwnFacts) -> Outcome:
    match facts.data("outcome"):
        case {
            "message": str() as message,
            "success": bool() | None as success,
            "claims": list() as claims,
            "state": state,
            "refused": bool() as refused,
        }:
            return Outcome(message, success, tuple(_claim(facts, item) for item in claims), state, refused)
        case other:
            return facts.refuse("outcome", "an outcome", other)


def _claim(facts: OwnFacts, value: Plain) -> Claim:
    match value:
        case [str() as kind, dict() as identity, str() as evidence]:
            return Claim(kind, identity, evidence)
        case _:
            return facts.refuse("outcome", "an outcome with claims", value)


def _verdict(facts: OwnFacts, value: Plain) -> ContractVerdict:
    match value:
        case [str() as contract, int() as verdict, int() | float() as margin, violation, bool() as unfair]:
            where = _violation(facts, violation)
            return ContractVerdict(contract, facts.word("verdicts", Verdict, verdict), margin, where, unfair)
        case _:
            return facts.refuse("verdicts", "a list of verdicts", value)


def _violation(facts: OwnFacts, value: Plain) -> Violation | None:
    match value:
        case None:
            return None
        case [int() as step, str() as agent, str() as reason]:
            return Violation(step, agent, reason)
        case _:
            return facts.refuse("verdicts", "a list of verdicts", value)

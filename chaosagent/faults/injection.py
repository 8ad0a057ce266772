"""Hooks and injections: one operator with parameters at one place of a run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from chaosagent.faults.operator import Operator, ParameterValue, bind, parameters_of
from chaosagent.vocabulary import Boundary


class Place(NamedTuple):
    """Where a crossing happens in a run.

    Attributes:
        interface: Such as `"service:crm"`.
        agent: Who asks, empty for a target without named agents.
        occurrence: How many-th call of this agent through the interface, from 1, in the order of asking.
        attempt: 0, or the number of the retry made by a layer below the agent.
    """

    interface: str
    agent: str
    occurrence: int
    attempt: int = 0

    def __str__(self) -> str:
        attempt = f".{self.attempt}" if self.attempt else ""
        agent = f"@{self.agent}" if self.agent else ""
        return f"{self.interface}[{self.occurrence}{attempt}]{agent}"


class Hook(NamedTuple):
    """A place, or several: `service:crm[*]` is every call, `service:crm[2..4]` a burst.

    Attributes:
        interface: Such as `"service:crm"`.
        agent: Whose calls; empty means whoever calls.
        first: First occurrence, from 1.
        last: Last occurrence; `None` for no end.
        attempt: 0, or the number of the retry; with `*` or a burst every attempt is meant.
    """

    interface: str
    agent: str
    first: int
    last: int | None
    attempt: int = 0

    @property
    def single(self) -> bool:
        """Whether it names one place."""
        return self.first == self.last

    @property
    def boundary(self) -> Boundary:
        """The class of the interface."""
        return Boundary(self.interface.partition(":")[0])

    def matches(self, place: Place) -> bool:
        """Whether a place is one of those meant."""
        return (
            self.interface == place.interface
            and (not self.agent or self.agent == place.agent)
            and self.first <= place.occurrence
            and (self.last is None or place.occurrence <= self.last)
            and (not self.single or self.attempt == place.attempt)
        )

    def overlaps(self, other: Hook) -> bool:
        """Whether some place could be meant by both."""
        return (
            self.interface == other.interface
            and (not self.agent or not other.agent or self.agent == other.agent)
            and (other.last is None or self.first <= other.last)
            and (self.last is None or other.first <= self.last)
            and (not self.single or not other.single or self.attempt == other.attempt)
        )

    def __str__(self) -> str:
        agent = f"@{self.agent}" if self.agent else ""
        if self.single:
            attempt = f".{self.attempt}" if self.attempt else ""
            return f"{self.interface}[{self.first}{attempt}]{agent}"
        inside = "*" if self.first == 1 and self.last is None else f"{self.first}..{self.last or ''}"
        return f"{self.interface}[{inside}]{agent}"


def hook_at(place: Place) -> Hook:
    """Return the hook that means exactly one place."""
    return Hook(place.interface, place.agent, place.occurrence, place.occurrence, place.attempt)


def injection_at(place: Place, injection: Injection) -> Injection:
    """Return an injection as one at a single place, among those that its hook means."""
    hook = hook_at(place)
    return injection if injection.hook == hook else replace(injection, hook=hook)


@dataclass(frozen=True, slots=True, order=True)
class Injection:
    """One operator with parameters at one hook.

    Attributes:
        hook: Where.
        operator_name: Which operator.
        parameters: All its parameters, sorted by name.
    """

    hook: Hook
    operator_name: str
    parameters: tuple[tuple[str, ParameterValue], ...] = ()
    # Searchers look injections and schedules up dozens of times a trial, so what they cost is worked out once. Hashes
    # of texts differ from process to process: see `__reduce__`.
    _hash: int = field(default=0, init=False, repr=False, compare=False)
    _text: str = field(default="", init=False, repr=False, compare=False)
    _operator: Operator | None = field(default=None, init=False, repr=False, compare=False)
    _place: Place | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def place(self) -> Place:
        """The one place at which it acts, or the first of those of a burst."""
        known = self._place
        if known is None:
            hook = self.hook
            known = Place(hook.interface, hook.agent, hook.first, hook.attempt)
            object.__setattr__(self, "_place", known)
        return known

    @property
    def operator(self) -> Operator:
        """The operator with its parameters."""
        known = self._operator
        if known is None:
            known = bind(self.operator_name, self.parameters)
            object.__setattr__(self, "_operator", known)
        return known

    def __str__(self) -> str:
        if not self._text:
            inside = ", ".join(f"{name}={format_value(value)}" for name, value in self.parameters)
            text = f"{self.hook} {self.operator_name}" + (f"({inside})" if inside else "")
            object.__setattr__(self, "_text", text)
        return self._text

    def __hash__(self) -> int:
        if not self._hash:
            object.__setattr__(self, "_hash", hash((self.hook, self.operator_name, self.parameters)))
        return self._hash

    def __reduce__(self) -> tuple[type[Injection], tuple[object, ...]]:
        return Injection, (self.hook, self.operator_name, self.parameters)


def place_of(injection: Injection) -> Place:
    """Return the place at which an injection for one place acts; `hook_at` the other way round."""
    return injection.place


def inject(hook: Hook, operator: Operator) -> Injection:
    """Return the injection of an operator at a hook."""
    return Injection(hook, operator.name, parameters_of(operator))


_NOT_BARE = frozenset({"true", "false", "nan", "inf", "infinity"})
"""Words that would be read as something else than a text."""


def format_value(value: ParameterValue) -> str:
    """Return a parameter value as people type it in a schedule."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        bare = value.isascii() and value.replace("-", "a").replace("_", "a").isalnum() and value[:1].isalpha()
        if bare and value.lower() not in _NOT_BARE:
            return value
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        return '"' + "".join(_escape(character) for character in escaped) + '"'
    return repr(value)


def _escape(character: str) -> str:
    code = ord(character)
    if code < 32 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or 0x200B <= code < 0x2070 or code == 0xFEFF:
        return f"\\u{code:04x}"
    return character

"""Schedules (δ): the injections of one run, and their text form.

    service:payments[1]@action service.timeout(when=after, seconds=30.0)
    service:crm[2] error_status(status=503); retrieval:kb[*] retrieval.truncate

One injection a line, or several separated by `;`. The boundary of the operator may be left out where the hook
gives it, `#` begins a comment.
"""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from chaosagent.canonical import digest
from chaosagent.errors import UnknownNameError, UsageError
from chaosagent.faults.injection import Hook, Injection, inject
from chaosagent.faults.operator import COST_DECIMALS, OPERATORS, CostModel, ParameterValue, bind
from chaosagent.vocabulary import Boundary

INJECTIONS_MAX = 1_000
TEXT_MAX = 1_000_000
_HOOK = re.compile(
    r"(?P<interface>[a-z]+:[^\s\[\]@;#]+)\[(?:(?P<all>\*)|(?P<first>\d{1,9})(?:\.(?P<attempt>\d{1,9})|(?P<burst>\.\.)(?P<last>\d{1,9})?)?)\]"
    r"(?:@(?P<agent>[^\s;#@\[\]]+))?"
)
_OPERATOR = re.compile(r"(?P<name>[A-Za-z][\w./-]*)")
_PARAMETER = re.compile(r"\s*(?P<name>[a-z_]\w*)\s*=\s*(?P<value>\"(?:[^\"\\\n]|\\.)*\"|[^\s,()\";]+)\s*(?P<end>[,)])")
_GAP = re.compile(r"(?:\s|;|#[^\n]*)*")


@dataclass(frozen=True, slots=True)
class Schedule:
    """A canonical, ordered set of injections, at most one at a place.

    Make it with `schedule(...)` or `parse(...)`, which sort and check.
    """

    injections: tuple[Injection, ...] = ()
    _hash: int = field(default=0, init=False, repr=False, compare=False)  # as those of an injection
    _text: str | None = field(default=None, init=False, repr=False, compare=False)

    def __iter__(self) -> Iterator[Injection]:
        return iter(self.injections)

    def __len__(self) -> int:
        return len(self.injections)

    def __str__(self) -> str:
        known = self._text
        if known is None:
            known = "; ".join([str(injection) for injection in self.injections])
            object.__setattr__(self, "_text", known)
        return known

    def __eq__(self, other: object) -> bool:
        if self is other:  # as it mostly is, for searchers compare what they have asked for
            return True
        return self.injections == other.injections if isinstance(other, Schedule) else NotImplemented

    def __hash__(self) -> int:
        if not self._hash:
            object.__setattr__(self, "_hash", hash(self.injections))
        return self._hash

    def __reduce__(self) -> tuple[type[Schedule], tuple[tuple[Injection, ...]]]:
        return Schedule, (self.injections,)

    @property
    def text(self) -> str:
        """The text form, one injection a line."""
        return "\n".join(str(injection) for injection in self.injections)

    @property
    def digest(self) -> str:
        """The digest of the text form."""
        return digest(self.text.encode("utf-8", "surrogatepass"))

    def declared_cost(self, model: CostModel) -> float:
        """Return what the schedule costs when each injection lands once (Eq. 8): the sum of its parts."""
        return round(sum(model.of(injection.operator) for injection in self.injections), COST_DECIMALS)

    def with_injection(self, injection: Injection) -> Schedule:
        """Return the schedule with one more injection.

        Raises:
            UsageError: It could act at the same place as another.
        """
        own, hook = self.injections, injection.hook
        for other in own:
            if hook.interface == other.hook.interface and hook.overlaps(other.hook):
                return schedule((*own, injection))  # refuses it, or knows it
        at = bisect(own, str(injection), key=str)
        return Schedule((*own[:at], injection, *own[at:]))

    def without(self, injection: Injection) -> Schedule:
        """Return the schedule without one of its injections."""
        return Schedule(tuple(kept for kept in self.injections if kept != injection))


EMPTY = Schedule()


def schedule(injections: Iterable[Injection]) -> Schedule:
    """Return the canonical schedule of some injections.

    Raises:
        UsageError: Two injections could act at the same place.
    """
    ordered = sorted(set(injections), key=str)
    for position, injection in enumerate(ordered):
        for other in ordered[position + 1 :]:
            if injection.hook.overlaps(other.hook):
                raise UsageError(
                    f"schedule: {injection} and {other} could act at the same place; "
                    "at most one injection can. Remove one of them, or name other occurrences."
                )
    return Schedule(tuple(ordered))


def parse(text: str, where: str = "schedule") -> Schedule:
    """Return the schedule that a text describes.

    Args:
        text: The text form.
        where: What messages call it: a file, or an option.

    Raises:
        UsageError: The text is no schedule; the message names the line, the place and what is expected.
    """
    if len(text) > TEXT_MAX:
        raise UsageError(f"{where}: {len(text)} characters; a schedule has at most {TEXT_MAX}.")
    injections: list[Injection] = []
    position = _skip(text, 0)
    while position < len(text):
        injection, position = _parse_injection(text, position, where)
        injections.append(injection)
        if len(injections) > INJECTIONS_MAX:
            raise UsageError(f"{where}: more than {INJECTIONS_MAX} injections. Use `[*]` or `[n..m]` for bursts.")
        position = _skip(text, position)
    return schedule(injections)


def _parse_injection(text: str, position: int, where: str) -> tuple[Injection, int]:
    found = _HOOK.match(text, position)
    if found is None:
        raise _error(text, position, where, "a hook such as service:crm[2], service:crm[2.1]@planner or service:crm[*]")
    hook = _hook(found, text, where)
    position = found.end()
    if text[position : position + 1] not in (" ", "\t"):
        raise _error(text, position, where, "a blank and then the operator, such as service.timeout")
    position = len(text) - len(text[position:].lstrip(" \t"))
    named = _OPERATOR.match(text, position)
    if named is None:
        raise _error(text, position, where, "an operator such as service.timeout(seconds=30)")
    name = _full_name(named["name"], hook, f"{where}, line {_line(text, position)}")
    values, end = _parse_parameters(text, named.end(), where)
    try:
        operator = bind(name, tuple(sorted(values.items())))
    except UsageError as error:
        raise UsageError(f"{where}, line {_line(text, position)}: {error}") from None
    if hook.boundary not in operator.boundaries:
        allowed = ", ".join(sorted(boundary.value for boundary in operator.boundaries))
        raise UsageError(
            f"{where}, line {_line(text, position)}: {name} acts on {allowed} interfaces, not on {hook.interface}. "
            "See `chaosagent list operators`."
        )
    return inject(hook, operator), end


def _hook(found: re.Match[str], text: str, where: str) -> Hook:
    interface = found["interface"]
    kinds = [boundary.value for boundary in Boundary]
    if interface.partition(":")[0] not in kinds:
        raise UnknownNameError(
            "boundary", interface.partition(":")[0], kinds, f"{where}, line {_line(text, found.start())}"
        )
    agent = found["agent"] or ""
    if found["all"]:
        return Hook(interface, agent, 1, None)
    first = int(found["first"])
    if first < 1:
        raise _error(text, found.start("first"), where, "an occurrence from 1")
    if found["burst"]:
        last = int(found["last"]) if found["last"] else None
        if last is not None and last < first:
            raise _error(text, found.start("last"), where, f"an occurrence from {first}")
        return Hook(interface, agent, first, last)
    return Hook(interface, agent, first, first, int(found["attempt"] or 0))


def _full_name(name: str, hook: Hook, where: str) -> str:
    if name in OPERATORS:
        return name
    full = f"{hook.boundary.value}.{name}"
    if full in OPERATORS:
        return full
    OPERATORS.get(full if "." not in name else name, where)
    return name


def _parse_parameters(text: str, position: int, where: str) -> tuple[dict[str, ParameterValue], int]:
    values: dict[str, ParameterValue] = {}
    if text[position : position + 1] != "(":
        return values, position
    position += 1
    if text[position : position + 1] == ")":
        return values, position + 1
    while True:
        found = _PARAMETER.match(text, position)
        if found is None:
            raise _error(text, position, where, "name=value, and then a comma or a closing parenthesis")
        if found["name"] in values:
            raise _error(text, found.start("name"), where, f"each parameter once, and {found['name']} was there")
        values[found["name"]] = _value(found["value"], text, found.start("value"), where)
        position = found.end()
        if found["end"] == ")":
            return values, position


def _value(text: str, whole: str, position: int, where: str) -> ParameterValue:
    if text.startswith('"'):
        try:
            return str(json.loads(text, strict=False))
        except ValueError:
            raise _error(whole, position, where, "a text in double quotes") from None
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _skip(text: str, position: int) -> int:
    found = _GAP.match(text, position)
    return found.end() if found is not None else position


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _error(text: str, position: int, where: str, expected: str) -> UsageError:
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    got = text[position : position + 30].partition("\n")[0]
    return UsageError(
        f"{where}, line {_line(text, position)}, column {column}: expected {expected}; got "
        f"{got!r}{'' if got else ' (the end)'}."
    )

"""`failed_when`: which answers are failed calls, though the agent gets them as answers.

Real tools return `"Error: ..."` as text. A call with such an answer commits nothing, and its step says why it failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from chaosagent.canonical import Plain
from chaosagent.effects.condition import KEYS, Condition, ConditionForm, Loader, condition_from
from chaosagent.errors import UnknownNameError

EVERY = "*"
"""Stands for all operations, or tools, that are not named."""
FailedWhenForm: TypeAlias = "ConditionForm | Mapping[str, ConditionForm] | FailedWhen"
"""What users write: conditions by operation, or by tool; or one condition for all, unless that is a mapping."""


@dataclass(frozen=True, slots=True)
class FailedWhen:
    """Which answers are failed calls.

    Attributes:
        conditions: By operation, or by tool; `"*"` stands for all that are not named.
    """

    conditions: Mapping[str, Condition] = field(default_factory=lambda: MappingProxyType({}))

    def __bool__(self) -> bool:
        return bool(self.conditions)

    def __reduce__(self) -> tuple[type[FailedWhen], tuple[dict[str, Condition]]]:
        return type(self), (dict(self.conditions),)

    def condition(self, operation: str) -> Condition | None:
        """Return the condition for an operation, `None` if it has none."""
        found = self.conditions.get(operation)
        return self.conditions.get(EVERY) if found is None else found

    def why(self, operation: str, arguments: Mapping[str, Plain], answer: Plain) -> str:
        """Return in a few words why an answer is a failed call, empty when it is none.

        Args:
            operation: That was asked, or the tool.
            arguments: Of the request.
            answer: Plain data.

        Raises:
            Exception: Whatever a function of the user's raises.
        """
        condition = self.condition(operation)
        return "" if condition is None else condition.why(arguments, answer)

    def of_one(self, name: str, operation: str) -> FailedWhen:
        """Return the condition for one tool, in the form that its own door takes.

        Args:
            name: Of the tool.
            operation: By which its door is asked.
        """
        condition = self.condition(name)
        return NOTHING if condition is None else FailedWhen({operation: condition})

    def check(self, known: Iterable[str], where: str, kind: str = "operation") -> None:
        """Refuse conditions for operations that are not there.

        Args:
            known: Those that are.
            where: What messages call the place.
            kind: What they are called.

        Raises:
            UnknownNameError: There is one; with the nearest.
        """
        names = [*known, EVERY]
        for name in self.conditions:
            if name in names:
                continue
            hint = f"; one condition for all is {{'{EVERY}': {{{name}: ...}}}}" if name in KEYS else ""
            raise UnknownNameError(kind, name, names, f"{where}{hint}")


NOTHING = FailedWhen()


def failed_when_from(given: object, where: str, load: Loader | None = None) -> FailedWhen:
    """Return which answers are failed calls.

    Args:
        given: See `FailedWhenForm`; nothing when `None`.
        where: What messages call its place.
        load: Loads functions that are named; `None` where functions are handed over as they are.

    Raises:
        UsageError: It is none of the forms.
    """
    if given is None:
        return NOTHING
    if isinstance(given, FailedWhen):
        return given
    if not isinstance(given, Mapping):
        return FailedWhen({EVERY: condition_from(given, where, load)})
    return FailedWhen({str(name): condition_from(one, f"{where}.{name}", load) for name, one in given.items()})

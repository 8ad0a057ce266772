"""A domain of words of which a search tries only some."""

from __future__ import annotations

from chaosagent.errors import UsageError
from chaosagent.faults.operator import ParameterValue


class Words:
    """One of a few words; those that are rarely worth a run are allowed and not searched.

    Args:
        levels: The searched words, weakest first.
        also: More words that a schedule or a study file may name.
    """

    def __init__(self, *levels: str, also: tuple[str, ...]) -> None:
        self.levels: tuple[ParameterValue, ...] = levels
        self.words = (*levels, *also)

    def check(self, operator: str, parameter: str, value: ParameterValue) -> ParameterValue:
        """Return the value.

        Raises:
            UsageError: It is none of the words.
        """
        if value not in self.words:
            raise UsageError(f"{operator}({parameter}={value!r}): {parameter} must be {self.describe()}.")
        return value

    def describe(self) -> str:
        """List the words."""
        return "one of " + ", ".join(self.words)

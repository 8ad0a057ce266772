"""Reading plain data that somebody else wrote: whatever is missing or of another type counts as empty."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from chaosagent.canonical import Plain


def text_of(facts: Plain, name: str) -> str:
    """Return a text, empty if there is none under that name."""
    value = facts.get(name) if type(facts) is dict or isinstance(facts, Mapping) else None
    return value if isinstance(value, str) else ""


def number_of(facts: Plain, name: str) -> int:
    """Return a whole number, 0 if there is none under that name."""
    value = facts.get(name) if type(facts) is dict or isinstance(facts, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def truth_of(facts: Plain, name: str) -> bool:
    """Return whether a name stands for `True`, and nothing that merely looks so."""
    return isinstance(facts, Mapping) and facts.get(name) is True


def list_of(facts: Plain, name: str) -> list[Plain]:
    """Return a list, empty if there is none under that name."""
    value = facts.get(name) if type(facts) is dict or isinstance(facts, Mapping) else None
    return list(value) if isinstance(value, list | tuple) else []


def facts_of(facts: Plain, name: str) -> Mapping[str, Plain]:
    """Return a mapping, empty if there is none under that name."""
    value = facts.get(name) if type(facts) is dict or isinstance(facts, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def days_between(earlier: str, later: str) -> int | None:
    """Return the days between two ISO dates, `None` when one of them is no date."""
    try:
        return (date.fromisoformat(later) - date.fromisoformat(earlier)).days
    except ValueError:
        return None

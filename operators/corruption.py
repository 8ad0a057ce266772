"""Wrong values for a field: what bugs, bad memory and bad encodings make of one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from chaosagent.canonical import Plain
from chaosagent.operators.fields import Field, Path, is_number


def corruptions(kind: str, matching: Sequence[Field]) -> list[dict[Path, Plain]]:
    """Return every change of a kind that makes a difference, as `with_values` takes it.

    Args:
        kind: `zero` (a number becomes 0), `negated` (its sign, or a truth value, is turned), `garbled` (neighbouring
            letters of a text are exchanged), `swapped` (with the next field of the same type) or `null`.
        matching: The fields that may be changed, in their order.
    """
    if kind == "swapped":
        return [
            {one.path: other.value, other.path: one.value}
            for one, other in pairwise(matching)
            if type(one.value) is type(other.value) and one.value != other.value
        ]
    changed = ((field, _corrupted(kind, field.value)) for field in matching)
    return [{field.path: value} for field, value in changed if _differs(value, field.value)]


def _corrupted(kind: str, value: Plain) -> Plain:
    if kind == "null":
        return None
    if kind == "garbled" and isinstance(value, str):
        return garble(value)
    if kind == "negated" and isinstance(value, bool):
        return not value
    if is_number(value):
        if kind == "negated":
            return -value
        if kind == "zero":
            return type(value)(0)
    return value


def _differs(one: Plain, other: Plain) -> bool:
    # Not a number differs from itself, and 0 from false; only the first must not count as a change.
    return type(one) is not type(other) or (one != other and one is not other)


def garble(text: str) -> str:
    """Return a text of the same length with neighbouring letters exchanged, different unless it is empty."""
    exchanged = "".join(text[start : start + 2][::-1] for start in range(0, len(text), 2))
    return exchanged if exchanged != text else "\N{REPLACEMENT CHARACTER}" * len(text)

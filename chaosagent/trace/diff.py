"""The first place at which two traces differ."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest

from chaosagent.canonical import pack, pack_plain
from chaosagent.trace.step import CANONICAL_FIELDS, Step
from chaosagent.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference of two traces.

    Attributes:
        step: Index of the first differing step.
        field: What differs there: a field of the step, `"steps"` when one trace ends earlier, or a field of the end.
        expected: Of the first trace, as text.
        got: Of the second trace, as text.
        place: The hook of the step, where it is known.
    """

    step: int
    field: str
    expected: str
    got: str
    place: str = ""

    def __str__(self) -> str:
        at = f" at {self.place}" if self.place else ""
        return f"step {self.step}{at}, {self.field}: expected {self.expected}, got {self.got}"


def first_difference(expected: Trace, got: Trace) -> Difference | None:
    """Return the first difference of two traces, `None` when they are equal.

    The wording of a violation's reason does not count, nor does it for digests: an older version may have told the same
    in other words.
    """
    if expected.digest == got.digest:
        return _field_difference(expected, got, ("verdicts",))  # the digest leaves out how close they were
    for one, other in zip(expected.steps, got.steps, strict=False):
        found = _step_difference(one, other)
        if found is not None:
            return found
    count = min(len(expected.steps), len(got.steps))
    if len(expected.steps) != len(got.steps):
        longer, name = (expected, "expected") if len(expected.steps) > count else (got, "got")
        text = repr(longer.steps[count])
        return Difference(count, "steps", *((text, "the end") if name == "expected" else ("the end", text)))
    return _field_difference(
        expected, got, ("task_id", "seed", "config_digest", "ending", "ending_detail", "outcome", "verdicts", "links")
    )


def _field_difference(expected: Trace, got: Trace, fields: Iterable[str]) -> Difference | None:
    for field in fields:
        if pack(_compared(expected, field)) != pack(_compared(got, field)):  # by bytes: a NaN differs from itself
            step = min(len(expected.steps), len(got.steps))
            return Difference(step, field, _short(getattr(expected, field)), _short(getattr(got, field)))
    return None


def _compared(trace: Trace, field: str) -> object:
    """Return a field of a trace, verdicts without the wording of their reasons."""
    if field != "verdicts":
        return getattr(trace, field)
    return [
        (one.contract, int(one.verdict), one.margin, one.unfair, None if one.violation is None else one.violation[:2])
        for one in trace.verdicts
    ]


def _step_difference(one: Step, other: Step) -> Difference | None:
    if pack_plain(one.canonical()) == pack_plain(other.canonical()):
        return None
    pairs = zip_longest(CANONICAL_FIELDS, one.canonical(), other.canonical(), fillvalue="")  # no soft error, no part
    field = next((str(field) for field, expected, got in pairs if pack(expected) != pack(got)), None)
    if field is None:
        return None
    return Difference(one.index, field, _short(getattr(one, field)), _short(getattr(other, field)), one.hook)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}... {len(text) - 300} more characters"

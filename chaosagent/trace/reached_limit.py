"""The limit that has ended a run, or that a run went beyond, in words and as a key of the study file.

Traces hold what stopped the run, such as `"the next timer is at 691200 s, the limit is 604800 s"`. That text is part of
their digests and of stored records, so it stays as it is, and is read here.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_PATTERNS = (
    (re.compile(r"the next timer is at \S+ s, the limit is (\S+) s"), "s of virtual time", "run.virtual_seconds"),
    (re.compile(r"(\d+) steps"), "steps", "run.steps"),
    (re.compile(r"(\d+) turns of the event loop in one run"), "turns of the event loop", "run.turns_total"),
    (
        re.compile(r"(\d+) turns of the event loop without any time passing"),
        "turns of the event loop without any time passing",
        "run.turns",
    ),
)


class ReachedLimit(NamedTuple):
    """A limit of one run.

    Attributes:
        text: The limit with its unit, such as `"604800 s of virtual time"`.
        key: Of the study file, such as `"run.virtual_seconds"`; empty when the text is not known.
    """

    text: str
    key: str

    def __str__(self) -> str:
        return f"{self.text} ({self.key})" if self.key else self.text


def reached_limit(detail: str) -> ReachedLimit:
    """Return the limit that the detail of an ending, or `Trace.exceeded`, describes; an unknown text stays as it is."""
    for pattern, unit, key in _PATTERNS:
        found = pattern.fullmatch(detail)
        if found is not None:
            return ReachedLimit(f"{_plain(found[1])} {unit}", key)
    return ReachedLimit(detail, "")


def _plain(number: str) -> str:
    """Return a number without an exponent: `6.048e+06` is `6048000`."""
    return f"{float(number):.0f}" if "e+" in number else number

"""What the outcome of a run was derived from, as far as the target has declared it with links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from chaosagent.trace.step import Link

OUTCOME = "outcome"
"""The id of the outcome: `run.link("outcome", "derived_from", run.artifact())`."""

_FORWARD = frozenset({"supports", "returns"})
"""Relations in which the target is derived from the source; in all others it is the other way round."""


def origins(links: Iterable[Link], artifact: str = OUTCOME) -> frozenset[str]:
    """Return the ids of everything from which an artifact was derived, directly or through others.

    Args:
        links: That the target has declared.
        artifact: Id of the artifact; it is not among what is returned, unless it was derived from itself.
    """
    sources: defaultdict[str, list[str]] = defaultdict(list)
    for source, relation, target in links:
        derived, origin = (target, source) if relation in _FORWARD else (source, target)
        sources[derived].append(origin)
    found: set[str] = set()
    open_ = list(sources[artifact])
    while open_:
        origin = open_.pop()
        if origin not in found:
            found.add(origin)
            open_ += sources[origin]
    return frozenset(found)

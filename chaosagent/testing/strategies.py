"""Hypothesis strategies for hooks, operators, injections and schedules; needs the extra `testing`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaosagent.canonical import Plain
from chaosagent.extras import require
from chaosagent.faults.injection import Hook, Injection, inject
from chaosagent.faults.operator import OPERATORS, Domain, Levels, Operator, ParameterValue, Text
from chaosagent.faults.schedule import Schedule, schedule
from chaosagent.vocabulary import Boundary

if TYPE_CHECKING:
    from hypothesis import strategies as st
else:
    st = require("hypothesis.strategies", extra="testing", needed_by="chaosagent.testing.strategies")

OCCURRENCE_MAX = 999_999_999
"""The greatest occurrence or attempt that the text form of a hook can name."""


def names() -> st.SearchStrategy[str]:
    """Return a strategy for names of interfaces and agents as a hook can hold them."""
    characters = st.characters(exclude_categories=("C", "Z"), exclude_characters="[]@;#")
    return st.text(characters, min_size=1, max_size=12)


def hooks(boundary: Boundary | None = None) -> st.SearchStrategy[Hook]:
    """Return a strategy for hooks of every form: one place, a retry, a burst, every call; with and without agent.

    Args:
        boundary: The class of the interface; any when `None`.
    """
    boundaries = st.sampled_from(Boundary) if boundary is None else st.just(boundary)
    interfaces = st.builds(lambda kind, name: f"{kind.value}:{name}", boundaries, names())
    agents = st.just("") | names()
    occurrences = st.integers(1, 5) | st.integers(1, OCCURRENCE_MAX)
    attempts = st.just(0) | st.integers(0, OCCURRENCE_MAX)
    one = st.builds(
        lambda interface, agent, first, attempt: Hook(interface, agent, first, first, attempt),
        interfaces,
        agents,
        occurrences,
        attempts,
    )
    # A burst of one call is written, and read, as that call.
    burst = st.builds(
        lambda interface, agent, first, more: Hook(interface, agent, first, min(first + more, OCCURRENCE_MAX)),
        interfaces,
        agents,
        st.integers(1, OCCURRENCE_MAX - 1),
        st.integers(1, 5),
    )
    open_end = st.builds(
        lambda interface, agent, first: Hook(interface, agent, first, None), interfaces, agents, occurrences
    )
    return one | burst | open_end


def values(domain: Domain) -> st.SearchStrategy[ParameterValue]:
    """Return a strategy for the values of a parameter: its levels, and others inside its domain."""
    searched = st.sampled_from((*domain.levels, *getattr(domain, "words", ())))
    if isinstance(domain, Text):
        return searched | st.text(st.characters(), max_size=min(domain.characters_max, 40))
    if isinstance(domain, Levels):
        low, high = domain.limits
        if all(isinstance(level, int) for level in domain.levels):
            return searched | st.integers(int(low), int(high))
        return searched | st.floats(low, high)
    return searched


def operators(boundary: Boundary | None = None) -> st.SearchStrategy[Operator]:
    """Return a strategy for operators with parameters inside their bounds.

    Args:
        boundary: Where they act; anywhere when `None`.
    """
    kinds = [OPERATORS.get(name) for name in OPERATORS]
    fitting = [kind for kind in kinds if boundary is None or boundary in kind.boundaries]
    return st.sampled_from(fitting).flatmap(
        lambda kind: st.builds(kind, **{parameter: values(domain) for parameter, domain in kind.parameters.items()})
    )


def injections() -> st.SearchStrategy[Injection]:
    """Return a strategy for injections: an operator at a hook where it can act."""
    return st.sampled_from(Boundary).flatmap(lambda boundary: st.builds(inject, hooks(boundary), operators(boundary)))


def schedules(injections_max: int = 5) -> st.SearchStrategy[Schedule]:
    """Return a strategy for schedules, the empty one among them.

    Args:
        injections_max: The most injections in one.
    """
    return st.lists(injections(), max_size=injections_max).map(_without_overlaps)


def plain_data() -> st.SearchStrategy[Plain]:
    """Return a strategy for what can cross a boundary."""
    atoms: st.SearchStrategy[Plain] = (
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(max_size=20)
    )
    return st.recursive(
        atoms, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    )


def _without_overlaps(drawn: list[Injection]) -> Schedule:
    kept: list[Injection] = []
    for injection in drawn:
        if not any(injection.hook.overlaps(other.hook) for other in kept):
            kept.append(injection)
    return schedule(kept)

"""Hypothesis strategies for the small targets of `chaosagent.testing.programs`; needs the extra `testing`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaosagent.extras import require
from chaosagent.testing.programs import (
    Fallback,
    Hear,
    Hurry,
    Keep,
    Pay,
    Program,
    Read,
    Recall,
    Search,
    Statement,
    Tell,
    Together,
    Wait,
)

if TYPE_CHECKING:
    from hypothesis import strategies as st
else:
    st = require("hypothesis.strategies", extra="testing", needed_by="chaosagent.testing.random_programs")

_names = st.sampled_from(["a", "b"])


def reads() -> st.SearchStrategy[Read]:
    """Return a strategy for lookups, with and without retries and time-outs."""
    return st.builds(
        Read,
        st.integers(0, 1),
        st.sampled_from(["x", "yy"]),
        _names,
        st.sampled_from([0, 0, 1]),
        st.sampled_from([0.0, 0.0, 2.0, 5.0]),
    )


def payments() -> st.SearchStrategy[Pay]:
    """Return a strategy for payments, with and without retries and idempotency keys."""
    return st.builds(Pay, _names, st.just("") | _names, st.integers(0, 1))


def _single() -> st.SearchStrategy[Statement]:
    return (
        reads()
        | payments()
        | st.builds(Keep, st.just("k"), _names, st.booleans())
        | st.builds(Recall, st.just("k"), _names)
        | st.builds(Tell, _names)
        | st.builds(Search, _names)
        | st.builds(Hear, st.sampled_from(["Refund it. Now."]), _names)
        | st.builds(Wait, st.sampled_from([1.0, 3.0]))
    )


def statements() -> st.SearchStrategy[Statement]:
    """Return a strategy for statements: single ones, and some at the same time, in a hurry, or as a fallback."""
    single = _single()
    body = st.lists(single, min_size=1, max_size=2).map(tuple)
    return (
        single
        | st.builds(Together, st.lists(body, min_size=2, max_size=2).map(tuple), st.booleans())
        | st.builds(Hurry, st.sampled_from([1.0, 2.0, 4.0]), body)
        | st.builds(Fallback, _names, single)
    )


def programs(statements_max: int = 3) -> st.SearchStrategy[Program]:
    """Return a strategy for programs of a few statements.

    Args:
        statements_max: The most at the outermost level.
    """
    listed = st.lists(statements(), min_size=1, max_size=statements_max).map(tuple)
    return st.builds(
        _program,
        listed,
        st.sampled_from([(0.0, 0.0), (0.0, 1.0), (2.0, 1.0)]),
        st.booleans(),
        st.booleans(),
        st.booleans(),
    )


def _program(
    listed: tuple[Statement, ...],
    latencies: tuple[float, float],
    counting: bool,  # noqa: FBT001  # drawn by position
    honest: bool,  # noqa: FBT001
    timed: bool,  # noqa: FBT001
) -> Program:
    return Program(listed, latencies, counting, honest, _tells(listed), timed)


def _tells(listed: tuple[Statement, ...]) -> bool:
    """Whether somebody is told something, so that a clerk must listen."""
    for statement in listed:
        match statement:
            case Tell():
                return True
            case Together(branches):
                if any(_tells(branch) for branch in branches):
                    return True
            case Hurry(_, body):
                if _tells(body):
                    return True
            case Fallback(_, body):
                if _tells((body,)):
                    return True
    return False

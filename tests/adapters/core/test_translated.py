"""Exceptions that become others on their way through a door."""

from __future__ import annotations

import pytest

from chaosagent.adapters.core.translated import translate_exceptions


def _timeout_as_connection(error: Exception) -> Exception:
    return ConnectionError(f"instead of {error}") if isinstance(error, TimeoutError) else error


def test_what_is_made_of_an_exception_is_raised_with_that_as_its_cause() -> None:
    late = TimeoutError("late")

    with (
        pytest.raises(ConnectionError, match="instead of late") as raised,
        translate_exceptions(_timeout_as_connection),
    ):
        raise late

    assert raised.value.__cause__ is late


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt("mine"), StopIteration("mine")])
def test_another_one_is_raised_as_it_was(error: BaseException) -> None:
    with pytest.raises(type(error), match="mine") as raised, translate_exceptions(_timeout_as_connection):
        raise error

    assert raised.value is error
    assert raised.value.__cause__ is None

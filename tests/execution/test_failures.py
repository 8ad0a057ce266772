"""Exceptions as data and back."""

import pytest

from chaosagent.execution.failures import MESSAGE_MAX, exception_of, failure_of, message_of
from chaosagent.vocabulary import ActionBlocked, Failure, ServiceFault, StatusError


class _Own(Exception):
    pass


class _Demanding(Exception):
    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)


class _Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("mute")


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (TimeoutError("slow"), Failure("timeout", "slow")),
        (ConnectionResetError("reset"), Failure("connection", "reset")),
        (StatusError(429, "busy", 2.0), Failure("status", "busy", 429, 2.0)),
        (ActionBlocked("no"), Failure("blocked", "no")),
        (KeyError("order"), Failure("KeyError", "order")),
        (_Own("odd"), Failure("_Own", "odd")),
    ],
)
def test_a_failure_and_its_exception_are_each_other_s_inverse(error: Exception, failure: Failure) -> None:
    known = {"_Own": _Own}

    assert failure_of(error) == failure
    assert failure_of(exception_of(failure, known)) == failure
    assert isinstance(error, type(exception_of(failure, known)))


def test_an_exception_whose_class_nobody_declared_keeps_its_text() -> None:
    found = exception_of(Failure("Odd", "gone"), {})

    assert type(found) is ServiceFault
    assert str(found) == "Odd: gone"


def test_an_exception_that_cannot_be_made_from_a_text_keeps_its_text() -> None:
    found = exception_of(Failure("_Demanding", "7 gone"), {"_Demanding": _Demanding})

    assert str(found) == "_Demanding: 7 gone"


def test_an_exception_that_cannot_say_what_it_is_is_a_failure_all_the_same() -> None:
    assert failure_of(_Mute(1, 2)) == Failure("_Mute", "no text: its __str__ raised RuntimeError")


def test_a_status_error_with_odd_facts_is_a_failure_of_plain_data() -> None:
    odd = StatusError("five hundred", ["busy"], "soon")  # type: ignore[arg-type]  # as some client might

    assert failure_of(odd) == Failure("status", "five hundred ['busy']", 500, None)


def test_a_failure_without_a_status_is_a_server_error() -> None:
    found = exception_of(Failure("status", "broken"), {})

    assert isinstance(found, StatusError)
    assert (found.status, found.message, found.retry_after) == (500, "broken", None)


def test_addresses_which_differ_from_process_to_process_are_left_out() -> None:
    assert message_of(ValueError(f"{object()!r} and 0x1f")) == "<object object at 0x...> and 0x1f"


def test_messages_are_cut() -> None:
    assert len(message_of(ValueError("x" * 10_000))) == MESSAGE_MAX

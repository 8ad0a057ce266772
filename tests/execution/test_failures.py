"""Exceptions as data and back."""

import json
import math
from http import HTTPStatus

import pytest

from chaosagent.execution.failures import MESSAGE_MAX, exception_of, failure_of, message_of
from chaosagent.faults.crossing import Response
from chaosagent.faults.dry import pack_response, unpack_response
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
        (ConnectionResetError("reset"), Failure("connection", "reset", name="ConnectionResetError")),
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
    assert type(error) is type(exception_of(failure, known))


def test_a_note_on_a_raised_exception_does_not_get_into_the_failure_that_it_was_made_of() -> None:
    noted = KeyError("order")
    noted.add_note("first")
    failure = failure_of(noted)

    exception_of(failure, {}).add_note("second")

    assert failure.attributes == {"__notes__": ["first"]}


class _Slow(TimeoutError):
    pass


class _Busy(StatusError):
    def __init__(self, message: str, queue: list[int]) -> None:
        super().__init__(429, message)
        self.queue = queue


def _undecodable() -> Exception:
    with pytest.raises(json.JSONDecodeError, match="Expecting value") as raised:
        json.loads('{"a": }')
    return raised.value


@pytest.mark.parametrize(
    "error",
    [
        _Demanding(7, "gone"),
        _Slow("too slow"),
        _Busy("busy", [1, 2]),
        _undecodable(),
        ConnectionResetError(104, "reset"),
        TimeoutError(110, "timed out"),
        FileExistsError(17, "exists", "/a"),
        OSError(28, "full"),
        AssertionError(),
        OverflowError("too large"),
        KeyError(5),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_exception_comes_out_of_a_trace_as_it_went_in(error: Exception) -> None:
    known = {kind.__name__: kind for kind in (_Demanding, _Slow, _Busy)}

    stored = unpack_response(pack_response(Response(None, failure_of(error)))).failure
    assert stored is not None
    found = exception_of(stored, known)

    assert (type(found), found.args, str(found), vars(found)) == (type(error), error.args, str(error), vars(error))
    assert getattr(found, "errno", None) == getattr(error, "errno", None)
    assert getattr(found, "filename", None) == getattr(error, "filename", None)
    assert failure_of(found) == failure_of(error) == stored


def test_a_subclass_that_nobody_declared_is_raised_as_what_it_is_a_kind_of() -> None:
    found = exception_of(failure_of(_Slow("too slow")), {})

    assert type(found) is TimeoutError
    assert str(found) == "too slow"


def test_what_an_exception_was_made_from_is_left_out_when_it_is_too_much_or_no_plain_data() -> None:
    assert failure_of(ValueError(object())).args == ()
    assert failure_of(ValueError("x" * 30_000, 1)).args == ()


def test_addresses_in_what_an_exception_was_made_from_are_left_out() -> None:
    assert failure_of(_Demanding(7, f"{object()!r}")).args == (7, "<object object at 0x...>")


def test_an_exception_whose_class_nobody_declared_keeps_its_text() -> None:
    found = exception_of(Failure("Odd", "gone"), {})

    assert type(found) is ServiceFault
    assert str(found) == "Odd: gone"


class _Made(Exception):
    def __new__(cls, *, code: int) -> "_Made":
        return super().__new__(cls, code)


def test_an_exception_that_cannot_be_made_from_what_is_kept_keeps_its_text() -> None:
    found = exception_of(Failure("_Made", "7 gone"), {"_Made": _Made})

    assert str(found) == "_Made: 7 gone"


def test_an_exception_that_cannot_say_what_it_is_is_a_failure_all_the_same() -> None:
    assert failure_of(_Mute(1, 2)) == Failure("_Mute", "no text: its __str__ raised RuntimeError", args=(1, 2))


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


@pytest.mark.parametrize("after", [math.nan, math.inf, -math.inf, 10**400, True, "soon", 1e300])
def test_a_retry_after_that_is_no_number_of_seconds_is_none(after: object) -> None:
    failure = failure_of(StatusError(429, "busy", after))  # type: ignore[arg-type]  # as some client might

    assert failure == Failure("status", "busy", 429, None)


@pytest.mark.parametrize(
    ("status", "stored"), [(HTTPStatus.NOT_FOUND, 404), (10**30, 500), (True, 1), ("404", 500), (404, 404)]
)
def test_a_status_is_stored_as_a_plain_number(status: object, stored: int) -> None:
    failure = failure_of(StatusError(status, "no", 2))  # type: ignore[arg-type]  # as some client might

    assert failure.status == stored
    assert type(failure.status) is int
    assert (failure.retry_after, type(failure.retry_after)) == (2, int)
    assert unpack_response(pack_response(Response(failure=failure))).failure == failure

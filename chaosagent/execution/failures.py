"""Exceptions as data and back: what a failure is in a trace, and what the agent sees raised."""

from __future__ import annotations

import builtins
import re
from asyncio import CancelledError, current_task
from collections.abc import Mapping, Sequence
from json import JSONDecodeError
from typing import cast

from chaosagent.canonical import Plain, copy_plain, pack_plain, plain
from chaosagent.errors import UsageError
from chaosagent.event_loop.virtual_time import VirtualTimeError
from chaosagent.vocabulary import ActionBlocked, Failure, ServiceFault, StatusError

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_KINDS: dict[str, type[Exception]] = {
    "timeout": TimeoutError,
    "connection": ConnectionError,
    "status": StatusError,
    "blocked": ActionBlocked,
}
_KNOWN: dict[str, type[Exception] | type[SystemExit]] = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Exception | SystemExit)
}
_KNOWN |= {kind.__name__: kind for kind in (ServiceFault, StatusError, ActionBlocked, JSONDecodeError)}
MESSAGE_MAX = 2_000
FACTS_BYTES_MAX = 20_000
SECONDS_MAX = 1e15


class RunEnded(BaseException):
    """The run is over or has reached a limit; not an `Exception`, so that no target swallows it."""


def is_answer(error: BaseException) -> bool:
    """Whether what the world raises is its answer, as a tool's `sys.exit` is, and not the end of call or run."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(is_answer, error.exceptions))
    if isinstance(error, CancelledError):  # the target gives up on the call; a world may also raise it itself
        task = current_task()
        return task is None or task.cancelling() == 0
    return not isinstance(error, KeyboardInterrupt | GeneratorExit | RunEnded | VirtualTimeError)


def failure_of(error: BaseException) -> Failure:
    """Return what an exception of the world is in a trace.

    What it was made from and its attributes are kept, unless they are not plain data or more than `FACTS_BYTES_MAX`.
    """
    own, message = type(error), message_of(error)
    kind = next((kind for kind, plain_class in _KINDS.items() if isinstance(error, plain_class)), own.__name__)
    name = "" if kind == own.__name__ or own is _KINDS[kind] else own.__name__
    status: int | None = None
    after: float | None = None
    if isinstance(error, StatusError):
        given = cast("tuple[object, object, object]", (error.status, error.message, error.retry_after))
        message = given[1] if type(given[1]) is str else message
        status, after = _status_of(given[0]), _seconds_of(given[2])
        if own is StatusError:
            return Failure(kind, message, status, after)
    args, attributes = _facts(error, message)
    return Failure(kind, message, status, after, name, args, attributes)


def _status_of(value: object) -> int:
    """Return a status as a plain number: of a member of an enum, too, and 500 for what is none."""
    return int(value) if isinstance(value, int) and abs(value) < 2**31 else 500


def _seconds_of(value: object) -> float | None:
    """Return a number of seconds; `None` for what is none, as not-a-number is not: it is equal to nothing."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= SECONDS_MAX:
        return None
    return int(value) if isinstance(value, int) else float(value)


def _facts(error: BaseException, message: str) -> tuple[tuple[Plain, ...], dict[str, Plain] | None]:
    """Return what an exception was made from, as far as its message does not say it, and its attributes."""
    raw, attributes = error.args, vars(error)
    if not attributes and len(raw) == 1 and type(raw[0]) is str and raw[0] == message:
        return (), None
    if isinstance(error, OSError) and len(raw) == 2 and error.filename is not None:
        raw = (*raw, error.filename)
    try:
        args = cast("list[Plain]", _without_addresses(plain(raw)))
        known = {name: _without_addresses(plain(value)) for name, value in sorted(attributes.items())}
        if len(pack_plain((args, known))) > FACTS_BYTES_MAX:
            return (), None
    except (UsageError, RecursionError):
        return (), None
    return tuple(args) if args != [message] else (), known or None


def _without_addresses(value: Plain) -> Plain:
    if isinstance(value, str):
        return _ADDRESS.sub("0x...", value)
    if isinstance(value, list):
        return [_without_addresses(item) for item in value]
    if isinstance(value, dict):
        return {name: _without_addresses(item) for name, item in value.items()}
    return value


def exception_of(failure: Failure, known: Mapping[str, type[Exception]]) -> BaseException:
    """Return what the agent sees raised.

    Args:
        failure: As an operator or a replay record has it.
        known: Exception classes that the door declares, by name.
    """
    if failure.kind == CancelledError.__name__:
        return CancelledError(*failure.args or ((failure.message,) if failure.message else ()))
    name, plain_class = failure.name or failure.kind, _KINDS.get(failure.kind)
    kind = known.get(name) or _KNOWN.get(name) or (None if failure.name else plain_class)
    if kind is not None and (kind is not StatusError or failure.args):
        made = _made(kind, failure)
        if made is not None:
            return made
    if failure.kind == "status":
        return StatusError(failure.status or 500, failure.message, failure.retry_after)
    return ServiceFault(f"{name}: {failure.message}") if plain_class is None else plain_class(failure.message)


def known_by_name(errors: Sequence[type[Exception]]) -> dict[str, type[Exception]]:
    """Return the exception classes that a door declares as `exception_of` looks for them."""
    return {error.__name__: error for error in errors} if errors else {}


def _made(kind: type[BaseException], failure: Failure) -> BaseException | None:
    """Return an exception as it was; its class's own `__init__` is passed by, as it may want what nobody has kept."""
    args = failure.args or ((failure.message,) if failure.message else ())
    builtin = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    try:
        made = kind.__new__(kind, *args)
        builtin.__init__(made, *args)  # type: ignore[misc]  # on purpose not the class's own
        vars(made).update(copy_plain(failure.attributes or {}))  # a framework may add notes
    except Exception:  # a class that is made in some way of its own
        return None
    return made


def message_of(error: BaseException) -> str:
    """Return the text of an exception without addresses, which differ from process to process."""
    if isinstance(error, RecursionError):  # Python says what it was about to do, by chance
        return "maximum recursion depth exceeded"
    try:
        text = str(error.args[0]) if len(error.args) == 1 and isinstance(error.args[0], str) else str(error)
    except Exception as broken:  # an exception of the world that cannot say what it is
        text = f"no text: its __str__ raised {type(broken).__name__}"
    return _ADDRESS.sub("0x...", text)[:MESSAGE_MAX]

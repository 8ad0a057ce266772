"""What `@target` refuses to make a target of, with the place in the file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from chaosagent.errors import UsageError
from chaosagent.lists import list_of
from chaosagent.vocabulary import Task

F = TypeVar("F", bound=Callable[..., Any])
_CHECK = "chaosagent_check"


def check_function(name: str, function: Callable[..., Any]) -> None:
    """Refuse a function that cannot be called with a task and a run, or that yields.

    Args:
        name: Of the target.
        function: What was decorated; an object that says nothing of its arguments is taken as it is.

    Raises:
        UsageError: It is such a function.
    """
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(
            f"target {called(name, function)} yields values. Let it return one chaosagent.Outcome at its end."
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(object(), object())
    except TypeError as error:
        raise UsageError(
            f"target {called(name, function)} takes {signature}, and is called with a task and a run ({error}). "
            f"Write `def {name}(task, run)`."
        ) from None


def check_tasks(name: str, tasks: Iterable[object]) -> None:
    """Refuse tasks that are none.

    Raises:
        UsageError: There is such a one.
    """
    odd = next((task for task in tasks if not isinstance(task, Task)), None)
    if odd is not None:
        example = odd if isinstance(odd, str) else "late-parcel"
        raise UsageError(
            f"target {name!r} has {odd!r:.80} among its tasks, which is no task. "
            f"Write chaosagent.Task({example!r}, input=...)."
        )


def checked_secrets(name: str, secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns of a target's secrets; no message shows one.

    Raises:
        UsageError: They are no list of texts.
    """
    listed = list_of(secrets, "secrets", f"target {name!r}")
    for number, pattern in enumerate(listed, start=1):
        if not isinstance(pattern, str):
            kind = type(pattern).__name__
            raise UsageError(f"target {name!r}: pattern {number} of secrets is of type {kind}; write it as a text.")
    return listed


def needs(check: Callable[[], None]) -> Callable[[F], F]:
    """Have something checked before a target is searched, and not when a record of it is read; below `@target`.

    Args:
        check: Raises `MissingExtraError` where what the target needs is not installed.
    """

    def decorate(function: F) -> F:
        vars(function)[_CHECK] = check
        return function

    return decorate


def check_needs(run: object) -> None:
    """Check what the function of a target needs.

    Raises:
        MissingExtraError: It is not installed.
    """
    check = getattr(run, _CHECK, None)
    if check is not None:
        check()


def called(name: str, function: object) -> str:
    """Return the name of a target, with the file and line of its function where they are known."""
    code = getattr(function, "__code__", None)
    return repr(name) if code is None else f"{name!r} ({Path(code.co_filename).name}:{code.co_firstlineno})"

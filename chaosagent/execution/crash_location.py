"""Where in the user's code an exception was raised that ended a run."""

from __future__ import annotations

import enum
import functools
import sysconfig
from collections.abc import Mapping
from pathlib import PurePath
from types import FrameType

from chaosagent.execution.failures import message_of

PACKAGE = "chaosagent"
NOT_OURS = f"{PACKAGE}.experiments"
_PACKAGES = frozenset({"site-packages", "dist-packages"})
GROUPS_MAX = 16
"""Levels of exception groups that are looked into."""


RAISED = (Exception, SystemExit)
"""What the user's code outside of a run may raise by mistake, as an objective or a contract that ends the program."""


class Owner(enum.Enum):
    """Whose code it is: chaosagent's, Python's standard library's, an installed package's, or the user's own."""

    OURS = "ours"
    PYTHON = "python"
    INSTALLED = "installed"
    USER = "user"


def crash_location(error: BaseException) -> str:
    """Return the innermost place in the user's code that an exception passed, as `agent.py:117 in pay`.

    Frames of chaosagent, the standard library and installed packages are passed over; where there are no others, those
    of installed packages count. Of a group of exceptions the first one's place is told. Empty when no frame is left.
    The name of the file comes without its folders: it is the same on every machine.
    """
    for _ in range(GROUPS_MAX):
        if not isinstance(error, BaseExceptionGroup):
            break
        error = error.exceptions[0]
    users = installed = ""
    is_too_deep = isinstance(error, RecursionError)  # how deep Python came depends on what has called
    traceback = error.__traceback__
    while traceback is not None:
        owner = owner_of(traceback.tb_frame)
        if owner in (Owner.USER, Owner.INSTALLED):
            place = place_in(traceback.tb_frame, traceback.tb_lineno)
            users, installed = (place, installed) if owner is Owner.USER else (users, place)
            if users and is_too_deep:
                return users
        traceback = traceback.tb_next
    return users or installed


def with_place(error: BaseException) -> str:
    """Return an exception of the user's code in one line, with its place."""
    place = crash_location(error)
    return f"{type(error).__name__}: {message_of(error)}" + (f" (at {place})" if place else "")


def place_in(frame: FrameType, line: int) -> str:
    """Return a place in code, as `agent.py:117 in pay`."""
    code = frame.f_code
    return f"{PurePath(code.co_filename).name}:{line} in {code.co_name}"


def owner_of(frame: FrameType) -> Owner:
    """Return whose code a frame runs."""
    return owner_of_code(str(frame.f_globals.get("__name__", "")), frame.f_code.co_filename)


def package_of(frame: FrameType) -> str:
    """Return the installed package whose code a frame runs."""
    parts = PurePath(frame.f_code.co_filename).parts
    at = max(place for place, part in enumerate(parts) if part in _PACKAGES)
    return parts[at + 1].removesuffix(".py")


def owner_of_code(module: str, file: str) -> Owner:
    """Return whose code stands in a file, as the module of that name."""
    if f"{module}.".startswith(f"{PACKAGE}.") and not f"{module}.".startswith(f"{NOT_OURS}."):
        return Owner.OURS
    return _owner_of_file(file)


def is_users_module(variables: Mapping[str, object]) -> bool:
    """Whether a module is the user's own, by its variables."""
    name, file = variables.get("__name__"), variables.get("__file__")
    return isinstance(name, str) and isinstance(file, str) and owner_of_code(name, file) is Owner.USER


@functools.cache
def _owner_of_file(file: str) -> Owner:
    if file.startswith("<"):  # code without a file
        return Owner.PYTHON
    path = PurePath(file)
    if not _PACKAGES.isdisjoint(path.parts):
        return Owner.INSTALLED
    standard = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
    return Owner.PYTHON if any(path.is_relative_to(folder) for folder in standard) else Owner.USER

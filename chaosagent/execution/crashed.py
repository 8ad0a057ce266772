"""Where in the user's code an exception that ended a run came from."""

from __future__ import annotations

import functools
import sysconfig
from pathlib import PurePath
from types import FrameType

from chaosagent.execution.failures import message_of

PACKAGE = "chaosagent"
NOT_OURS = f"{PACKAGE}.experiments"
GROUPS_MAX = 16
"""Levels of exception groups that are looked into."""


def place_of_crash(error: BaseException) -> str:
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
    traceback = error.__traceback__
    while traceback is not None:
        kind = _kind_of(traceback.tb_frame)
        if kind != "other":
            code = traceback.tb_frame.f_code
            place = f"{PurePath(code.co_filename).name}:{traceback.tb_lineno} in {code.co_name}"
            users, installed = (place, installed) if kind == "user" else (users, place)
        traceback = traceback.tb_next
    return users or installed


def with_place(error: BaseException) -> str:
    """Return an exception of the user's code in one line, with its place."""
    place = place_of_crash(error)
    return f"{type(error).__name__}: {message_of(error)}" + (f" (at {place})" if place else "")


def is_users(frame: FrameType) -> bool:
    """Whether a function is the user's: neither chaosagent's nor Python's, nor of an installed package."""
    return _kind_of(frame) == "user"


def _kind_of(frame: FrameType) -> str:
    module = str(frame.f_globals.get("__name__", ""))
    if f"{module}.".startswith(f"{PACKAGE}.") and not f"{module}.".startswith(f"{NOT_OURS}."):
        return "other"
    return _kind_of_file(frame.f_code.co_filename)


@functools.cache
def _kind_of_file(file: str) -> str:
    """Return `"user"`, `"installed"` for an installed package, and `"other"` for what comes with Python."""
    if file.startswith("<"):  # code without a file
        return "other"
    path = PurePath(file)
    if "site-packages" in path.parts or "dist-packages" in path.parts:
        return "installed"
    standard = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
    return "other" if any(path.is_relative_to(folder) for folder in standard) else "user"

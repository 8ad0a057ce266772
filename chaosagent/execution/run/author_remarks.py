"""What a run without injections shows of the target that its author may not know, and that is in no trace."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from chaosagent import errors
from chaosagent.execution.crash_location import Owner, owner_of_code
from chaosagent.vocabulary import Ending

CALLERS_MAX = 12
"""Among so many callers of a coroutine the place in the target is looked for."""
TASKS_MAX = 3
"""So many tasks are named."""

NOTE_MAX = 20_000
"""Characters of a note on a crash that are kept, the last ones."""

_PACKAGE = Path(errors.__file__).parent


@contextlib.contextmanager
def noted_origins() -> Iterator[None]:
    """Have coroutines keep where they were made, for `author_remarks`; this costs less than a microsecond each."""
    depth = sys.get_coroutine_origin_tracking_depth()
    sys.set_coroutine_origin_tracking_depth(max(depth, CALLERS_MAX))
    try:
        yield
    finally:
        sys.set_coroutine_origin_tracking_depth(depth)


def author_remarks(ending: Ending, result: object, tasks: Iterable[asyncio.Task[object]]) -> tuple[str, ...]:
    """Return what the author of a target should know after a run without injections, a few sentences each.

    Args:
        ending: How the run ended.
        result: What the target returned; of a crash, the exception.
        tasks: Those that had not ended then, in the order of making.
    """
    if ending is Ending.CRASHED:
        return tuple(str(note)[-NOTE_MAX:] for note in getattr(result, "__notes__", ()))
    if ending is not Ending.FINISHED:
        return ()
    remarks: list[str] = []
    running = [described for task in tasks if not task.cancelling() and (described := _described(task))]
    if running:
        more = f" and {len(running) - TASKS_MAX} more" if len(running) > TASKS_MAX else ""
        number = "a task was" if len(running) == 1 else f"{len(running)} tasks were"
        named = f"{', '.join(running[:TASKS_MAX])}{more}"
        remarks.append(
            f"{number} still running when the target returned, and ended there: {named}. "
            "Await or cancel such tasks in the target, unless they do nothing that matters."
        )
    return tuple(remarks)


def _described(task: asyncio.Task[object]) -> str:
    """Return the name of a task's coroutine and where it was created; empty for a task of chaosagent's own."""
    coroutine = task.get_coro()
    if not inspect.iscoroutine(coroutine) or _is_ours(coroutine.cr_code.co_filename):
        return ""
    own = f"{Path(coroutine.cr_code.co_filename).name}:{coroutine.cr_code.co_firstlineno}"
    installed = ""
    for file, line, function in coroutine.cr_origin or ():
        if _is_ours(file):
            continue
        owner, place = owner_of_code("", file), f"{Path(file).name}:{line} in {function}"
        if owner is Owner.USER:
            return f"{coroutine.__qualname__}, created at {place}"
        installed = installed or (place if owner is Owner.INSTALLED else "")
    return f"{coroutine.__qualname__}, created at {installed}" if installed else f"{coroutine.__qualname__} ({own})"


def _is_ours(file: str) -> bool:
    path = Path(file)
    return path.is_relative_to(_PACKAGE) and not path.is_relative_to(_PACKAGE / "experiments")

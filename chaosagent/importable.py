"""Importing a user's own modules: from their folder, and scripts only up to the point where they start a search."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

_STOPPED = "__chaosagent_stopped__"
_LOADING: ContextVar[str] = ContextVar("chaosagent_loading", default="")


class SearchReachedError(BaseException):
    """A module that is being loaded calls `chaosagent.search`: what it defines above that call is all that is needed.

    No `Exception`, so that a script that handles errors of its search does not swallow it.
    """


def make_importable(folder: Path) -> None:
    """Let modules of a folder be imported; behind everything installed, so that they shadow nothing."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def stop_if_loading() -> None:
    """Stop the module that is being loaded for its target or contracts; do nothing in a program that runs.

    Raises:
        SearchReachedError: A module is being loaded.
    """
    if _LOADING.get():
        raise SearchReachedError(_LOADING.get())


def execute_module(spec: ModuleSpec, module: ModuleType) -> None:
    """Execute a module that is in `sys.modules` already, up to its first `chaosagent.search`, `replay` or `check`.

    So a script needs no `__main__` guard for its target to be loaded in another process.

    Raises:
        BaseException: Whatever else the module raises.
    """
    assert spec.loader is not None
    try:
        with _loading(spec.name):
            spec.loader.exec_module(module)
    except SearchReachedError:
        setattr(module, _STOPPED, True)


def stop_hint(module: ModuleType) -> str:
    """Return what to do if something is missing in a module that was executed up to its first search; else nothing."""
    if not hasattr(module, _STOPPED):
        return ""
    return (
        " It was loaded up to its first search: define everything that is searched above that, or put the searches "
        'below `if __name__ == "__main__":`.'
    )


def import_module(name: str) -> ModuleType:
    """Import a module by its dotted name, a script only up to its first search.

    The file that runs as the program is not executed a second time: it is returned as it is.

    Raises:
        ImportError: There is no such module.
        BaseException: Whatever the module raises.
    """
    if name in sys.modules:
        return sys.modules[name]
    spec = _spec_of(name)
    if spec is None or spec.loader is None or spec.origin is None:
        return importlib.import_module(name)  # it knows best what is wrong
    program = program_in(Path(spec.origin))
    if program is not None:
        return program
    # Not by `importlib.import_module`, which forgets a module that it could not execute to its end.
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    try:
        execute_module(spec, module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    module = sys.modules.get(name, module)
    package, _, own_name = name.rpartition(".")
    if package:
        setattr(sys.modules[package], own_name, module)
    return module


def _spec_of(name: str) -> ModuleSpec | None:
    """Return where a module is found; `None` when it is not."""
    package = name.rpartition(".")[0]
    try:
        if package:
            import_module(package)
        return importlib.util.find_spec(name)
    except (ModuleNotFoundError, ValueError):
        return None


def program_in(path: Path) -> ModuleType | None:
    """Return the module of the running program if it is the script at a path; `None` if it is another."""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    return main if isinstance(file, str) and Path(file).resolve() == path.resolve() else None


@contextlib.contextmanager
def _loading(name: str) -> Iterator[None]:
    token = _LOADING.set(name)
    try:
        yield
    finally:
        _LOADING.reset(token)

"""Which variables of the user's modules change from one checkpoint of a run to the next.

What a module holds outlives runs: a counter or a cache may have any value when a run begins, and which one depends on
what was run before it. Whether a variable has changed since the last checkpoint mostly does not depend on that. So the
change is noted and not the value.
"""

from __future__ import annotations

import dis
import sys
import types
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import PurePath
from typing import Any, NamedTuple

from chaosagent.execution.crashed import is_users_module
from chaosagent.execution.value_reader import ValueReader

VALUES_MAX = 1_000
"""Values that are looked at in all modules at one checkpoint; what is found behind them is not compared."""

VALUES_OF_ONE_MAX = 64
"""The same in one variable, which then is not compared: most tables of data are larger, and they do not change."""

MODULES_MAX = 16

Globals = dict[str, Any]
_CHANGEABLE = (list, dict, set, deque, bytearray)
_REBINDS = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"})


class Module(NamedTuple):
    """A module of the user.

    Attributes:
        globals: Its variables.
        size: How many there were when it was looked at.
        changeable: Which of them may change, with the name of the file: containers, objects of the user, and what
            functions rebind.
        context: Which are context variables.
        imported: The variables of the user's modules from which it has something, or of which it names one.
    """

    globals: Globals
    size: int
    changeable: tuple[tuple[str, str], ...]
    context: tuple[tuple[str, str], ...]
    imported: tuple[Globals, ...]


_known: dict[str, Module] = {}


class ModuleChanges:
    """Compares the variables of modules with what they were at the last checkpoint."""

    def __init__(self) -> None:
        self._before: Mapping[str, bytes] | None = None

    def look(self, modules: Iterable[Module]) -> list[str]:
        """Return the names of what has changed since this was called last.

        Args:
            modules: That are compared.
        """
        reader = ValueReader(values_max=VALUES_MAX, values_of_one_max=VALUES_OF_ONE_MAX)
        for module in modules:
            for name, full_name in module.changeable:
                if name in module.globals:
                    reader.read_whole(full_name, module.globals[name])
        before, now = self._before, reader.digests()
        self._before = now
        return [] if before is None else [name for name, found in now.items() if before.get(name, found) != found]


def context_variables(modules: Iterable[Module]) -> Iterator[tuple[str, ContextVar[Any]]]:
    """Yield the context variables of modules, each with its name.

    A run has a context of its own, so what these hold does not outlive it.
    """
    for module in modules:
        for name, full_name in module.context:
            if isinstance(variable := module.globals.get(name), ContextVar):
                yield full_name, variable


def modules_of(functions: Iterable[types.FrameType]) -> list[Module]:
    """Return the modules in which some functions of the user stand, and those that these have imported from."""
    found: dict[str, Module] = {}
    for frame in functions:
        own = frame.f_globals
        if own["__name__"] not in found and is_users_module(own):
            found[own["__name__"]] = _module(own)
    for module in list(found.values()):
        for imported in module.imported:
            if imported["__name__"] not in found:
                found[imported["__name__"]] = _module(imported)
    return list(found.values())[:MODULES_MAX]


def _module(own: Globals) -> Module:
    known = _known.get(own["__name__"])
    if known is None or known.globals is not own or known.size != len(own):
        known = _known[own["__name__"]] = _looked_at(own)
    return known


def _looked_at(own: Globals) -> Module:
    values = {name: value for name, value in list(own.items()) if not name.startswith("__")}
    functions = [value for value in values.values() if isinstance(value, types.FunctionType)]
    rebound = _rebound_by(function.__code__ for function in functions if function.__globals__ is own)
    named = [vars(value) for value in values.values() if isinstance(value, types.ModuleType)]
    others = [one for one in (*named, *(function.__globals__ for function in functions)) if one is not own]
    file = PurePath(str(own["__file__"])).name
    return Module(
        own,
        len(own),
        tuple((name, f"{name} in {file}") for name, value in values.items() if name in rebound or _may_change(value)),
        tuple((name, f"{name} in {file}") for name, value in values.items() if isinstance(value, ContextVar)),
        tuple({one["__name__"]: one for one in others if is_users_module(one)}.values()),
    )


def _may_change(value: object) -> bool:
    if isinstance(value, type | types.ModuleType | types.FunctionType):
        return False
    module = sys.modules.get(type(value).__module__)
    return isinstance(value, _CHANGEABLE) or (module is not None and is_users_module(vars(module)))


def _rebound_by(codes: Iterable[types.CodeType]) -> set[str]:
    """Return the names of module variables that functions, or those inside them, assign to."""
    found, left = set[str](), list(codes)
    while left:
        code = left.pop()
        left += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        found.update(str(one.argval) for one in dis.get_instructions(code) if one.opname in _REBINDS)
    return found

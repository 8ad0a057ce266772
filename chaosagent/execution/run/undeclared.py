"""Variables that a run's future could depend on at a checkpoint and that the checkpoint does not declare."""

from __future__ import annotations

import asyncio
import dis
import re
import sys
import types
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from itertools import islice
from pathlib import PurePath
from typing import Any, NamedTuple
from zlib import crc32

from chaosagent.execution.crash_location import Owner, is_users_module, owner_of
from chaosagent.execution.hidden_state.value_reader import ValueReader, frame_of
from chaosagent.execution.run.run_state import RunState
from chaosagent.faults.evaluation import Undeclared, Variable
from chaosagent.faults.schedule import Schedule

VALUES_MAX = 16_000
"""Values that are looked at in one checkpoint; what is found behind them is not compared."""

VALUES_OF_ONE_MAX = 4_000
"""The same in one variable, which then is not compared."""

ONE_IN, ONE_IN_DENSE = 16, 4
"""Of the runs with several injections one in so many is surveyed, and each with one or none: it takes time. A dense run
shows as much as many others; some searchers make few but dense ones."""

DENSE = 4
"""Injections of a dense run."""

FRAMES_MAX = 64
VARIABLES_MAX = 64

_DEFAULT_NAME = re.compile(r"Task-\d+")
"""What asyncio calls a task: it counts through all runs."""

STARTED_BY = "chaosagent.execution.execute"
"""Who calls a function of this module is not in the run."""


class Survey:
    """Finds the variables that the checkpoints of one run do not declare.

    Args:
        is_nominal: Nothing is injected; else only checkpoints behind what acts are of interest.

    Attributes:
        found: What was found, in the order of checkpoints.
    """

    def __init__(self, *, is_nominal: bool) -> None:
        self.found: list[Undeclared] = []
        self._is_nominal = is_nominal
        self._passed = 0
        self._changes = ModuleChanges()
        self._has_begun = False

    def begin(self, caller: types.FrameType) -> None:
        """Look at modules when something is asked for the first time.

        Args:
            caller: A function that those of the user have called.
        """
        if not self._has_begun:
            self._has_begun = True
            with suppress(Exception):  # as below
                self._changes.look(modules_of(_frames(caller, ())))

    def look(self, run: RunState, place: str, state: object, caller: types.FrameType | None) -> None:
        """Look at a checkpoint whose fingerprint was just taken; of many only at some.

        Args:
            run: Whose it is.
            place: That it names.
            state: That it declares; also where this is two levels deep in lists and mappings it is left out.
            caller: The function that has come there; those that wait for it are found from there.
        """
        with suppress(Exception):  # of objects that answer in their own way, or change meanwhile; they are the target's
            modules = modules_of(_frames(caller, ()))
            changed = self._changes.look(modules)
            if self._is_nominal or run.acts:
                surroundings = [*context_variables(modules), *((name, "changed") for name in changed)]
                self._look(run, place, state, caller, surroundings)

    def _look(
        self,
        run: RunState,
        place: str,
        state: object,
        caller: types.FrameType | None,
        surroundings: Iterable[tuple[str, object]],
    ) -> None:
        self._passed += 1
        if not self._is_nominal and self._passed.bit_count() > 1:
            return  # the first, the second, the fourth, and so on: what matters later is mostly still there
        known = [state, *run.streams.values()]
        reader = ValueReader(known, values_max=VALUES_MAX, values_of_one_max=VALUES_OF_ONE_MAX)
        tasks = run.loop.tasks_left()
        for frame in islice(_frames(caller, tasks), FRAMES_MAX):
            reader.read_frame(frame)
        for task in tasks:
            reader.read("name of a task", _DEFAULT_NAME.sub("Task", task.get_name()))
        for name, value in surroundings:
            reader.read(name, value)
        variables = [Variable(name, digest) for name, digest in islice(reader.digests().items(), VARIABLES_MAX)]
        self.found.append(Undeclared(len(run.fingerprints) - 1, place, tuple(variables)))


def survey_of(schedule: Schedule) -> Survey | None:
    """Return what looks for variables in a run of a schedule; `None` for most of those with several injections."""
    one_in = 1 if len(schedule) <= 1 else ONE_IN if len(schedule) < DENSE else ONE_IN_DENSE
    if crc32(str(schedule).encode("utf-8", "surrogatepass")) % one_in:
        return None
    return Survey(is_nominal=not schedule)


def _frames(frame: types.FrameType | None, tasks: Iterable[asyncio.Task[Any]]) -> Iterator[types.FrameType]:
    """Yield the functions of the user that are running in the run, or wait."""
    running: set[types.FrameType] = set()
    while frame is not None and frame.f_globals.get("__name__") != STARTED_BY:
        running.add(frame)
        if owner_of(frame) is Owner.USER:
            yield frame
        frame = frame.f_back
    for task in tasks:
        awaited: Any = task.get_coro()
        while (waiting := frame_of(awaited)) is not None and waiting not in running:
            if owner_of(waiting) is Owner.USER:
                yield waiting
            awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None)


MODULE_VALUES_MAX = 1_000
"""Values that are looked at in all modules at one checkpoint; what is found behind them is not compared."""

VALUES_OF_ONE_MODULE_MAX = 64
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
        reader = ValueReader(values_max=MODULE_VALUES_MAX, values_of_one_max=VALUES_OF_ONE_MODULE_MAX)
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

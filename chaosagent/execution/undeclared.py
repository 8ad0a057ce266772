"""What the future of a target could depend on at a checkpoint, as Python sees it: the variables of its functions.

A checkpoint declares a state, and rule R3 takes two runs for equal from there on when they declare the same. Whether
something was forgotten cannot be seen in the state. It can be guessed from the variables that the target's functions
may still read: where one differs although the declared states do not, the audit looks first.

Besides the variables of functions these are the context variables that they can reach (of the task that has come to
the checkpoint), the names that tasks were given, and which variables of the user's modules have changed since the
checkpoint before (`module_changes`).

It is a guess in both directions: what differs may not matter, and what matters may be invisible to it (in a database, a
C extension, a context variable of another task). So a difference alone proves nothing.
"""

from __future__ import annotations

import asyncio
import re
import types
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any
from zlib import crc32

from chaosagent.execution.crashed import Owner, owner_of
from chaosagent.execution.module_changes import ModuleChanges, context_variables, modules_of
from chaosagent.execution.run_state import RunState
from chaosagent.execution.value_reader import ValueReader, frame_of
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

"""Tasks and futures of a run are iterated in an order that follows from the run, not from addresses.

`hash()` of a task is its address by default, so a set of tasks is iterated in another order in every run: `TaskGroup`
would cancel its children, and `asyncio.wait` return what is done, in an order of chance. Two means prevent it.

* In the loop of a run, the tasks and futures that the loop makes are hashed by a number. The order of a set follows
  from the hashes of its elements and from the order in which they came and left, so equal runs iterate equal sets
  equally, also those that the target or a framework makes itself. Numbers alone are not enough: they say nothing of
  coroutines, of futures made without the loop, or of the cancel scopes of anyio, all of which are put into sets.
  `asyncio.all_tasks` copies a set of the tasks of all loops, whose collisions depend on earlier runs. And a set of
  numbers is a table of 8, 32 or more places, in which 7, 8, 9 are iterated as 8, 9, 7: an order that changes with the
  number of tasks that were made before.
* So the sets that asyncio and anyio make within the loop of a run are `OrderedSet`s, and `all_tasks` lists tasks by
  their numbers. Their modules find the name `set` (and `list`) among their own globals before the built-in one. That
  reaches `wait` or `as_completed` wherever they were imported to, and before; replacing the functions would not. For
  other event loops of the process the name makes plain sets, as before.

What a run looks like must not depend on what only chaosagent or the world does, or a proof or replay that leaves the
world out would be wrong. So whoever makes tasks counts for himself: the target from 1, and the world behind each
call from -1 down, as does chaosagent for what it makes itself. At a checkpoint the target's count starts again behind
the tasks that are open, so that a run which has made more tasks before can continue like one which has made fewer.

Nothing can order the coroutines of a set that a target itself iterates, or unpacks for `gather`. `as_completed` takes
those of a set in the order of their functions and arguments. Futures that a target makes by calling `asyncio.Future`
are hashed as ever; asyncio puts them into ordered sets like all others.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from chaosagent.event_loop.ordered_set import OrderedSet

ANYIO = "anyio._backends._asyncio"
_CHAOSAGENT = "chaosagent"
_SLEEP = asyncio.sleep.__code__


class RunTask(asyncio.Task[Any]):
    """A task that is hashed by its number."""

    __slots__ = ("number",)
    number: int

    def __hash__(self) -> int:
        return self.number


class RunFuture(asyncio.Future[Any]):
    """A future that is hashed by a number, which it is given when it is hashed first: few ever are."""

    __slots__ = ("number",)
    number: int

    def __hash__(self) -> int:
        return _number_of_future(self)


class OrderedLoop(asyncio.AbstractEventLoop):
    """An event loop whose tasks and futures are iterated in an order that follows from the run.

    Attributes:
        origin: Returns who makes tasks now; something false for the target.
    """

    origin: Callable[[], object] = str  # the empty text
    _tasks_made = _tasks_numbered = _futures_numbered = 0

    def __init__(self) -> None:
        super().__init__()
        keep_order()
        self._tasks: dict[int, asyncio.Task[Any]] = {}
        self._numbers_of_others: dict[object, int] = {}

    def create_task(self, coro: Any, *, name: str | None = None, context: Any = None, **options: Any) -> Any:
        if origin := self.origin():
            number = self._number_of_other(origin)
        else:
            number = self._tasks_numbered = self._tasks_numbered + 1
        task = RunTask.__new__(RunTask)
        task.number = number  # before asyncio puts it into its set of all tasks
        task.__init__(coro, loop=self, name=name or f"task-{number}", context=context, **options)  # type: ignore[misc]
        self._tasks_made += 1
        self._tasks[self._tasks_made] = task
        return task

    def create_own_task(self, coro: Any) -> asyncio.Task[Any]:
        """Make a task that no target may notice: chaosagent counts its own for itself."""
        origin, self.origin = self.origin, lambda: _CHAOSAGENT
        try:
            task: asyncio.Task[Any] = self.create_task(coro)
        finally:
            self.origin = origin
        return task

    def create_future(self) -> asyncio.Future[Any]:
        if sys._getframe(1).f_code is _SLEEP:  # nobody sees it, and plain ones are awaited in less time
            return asyncio.Future(loop=self)
        return RunFuture(loop=self)

    def _number_of_other(self, origin: object) -> int:
        number = self._numbers_of_others[origin] = self._numbers_of_others.get(origin, 0) - 1
        return number

    def tasks_left(self) -> list[asyncio.Task[Any]]:
        """Return the tasks that have not ended, in the order of making."""
        return [task for task in self._tasks.values() if not task.done()]

    def forget_ended(self) -> None:
        """Let go of the tasks that have ended."""
        self._tasks = {made: task for made, task in self._tasks.items() if not task.done()}

    def renumber(self) -> list[int]:
        """Count the target's tasks from the last open one again, and return what later orders depend on."""
        numbers, ended = [], []
        for made, task in self._tasks.items():
            if task.done():
                ended.append(made)
            elif type(task) is RunTask and task.number > 0:
                numbers.append(task.number)
        for made in ended:
            del self._tasks[made]
        numbers.sort()
        self._tasks_numbered = numbers[-1] if numbers else 0
        if len(numbers) <= 1:  # nobody else waits for a future
            self._futures_numbered = 0
        return [*numbers, self._futures_numbered]

    def number_future(self) -> int:
        """Return the number of a future that is hashed for the first time."""
        if origin := self.origin():
            return self._number_of_other(origin)
        self._futures_numbered += 1
        return self._futures_numbered


class _SetHere(set[Any]):
    """What `set` means in asyncio and anyio: an ordered set in the loop of a run, elsewhere a plain one."""

    def __new__(cls, elements: Iterable[Any] = ()) -> set[Any]:  # type: ignore[misc]  # never one of its own
        if isinstance(asyncio._get_running_loop(), OrderedLoop):
            return OrderedSet(_in_order(elements))
        return set(elements)


def _in_order(elements: Iterable[Any]) -> Iterable[Any]:
    """Order the elements of a plain set: tasks by number, and coroutines by function and arguments."""
    return sorted(elements, key=_place_of) if type(elements) in (set, frozenset) else elements


def _place_of(element: object) -> tuple[int, tuple[str, ...]]:
    """Return a number, and of a coroutine the name and the arguments of what is called, as far as they are plain."""
    if not inspect.iscoroutine(element):
        return (_number_of(element), ())
    arguments = {} if element.cr_frame is None else element.cr_frame.f_locals
    code = element.cr_code
    called = (code.co_qualname, str(code.co_firstlineno))
    return (0, (*called, *(f"{name}={_text(arguments[name])}" for name in arguments)))


def _text(value: object) -> str:
    """Return a text without addresses."""
    if value is None or isinstance(value, str | bytes | int | float):
        return repr(value)
    if isinstance(value, dict):
        return str([(_text(key), _text(item)) for key, item in value.items()])
    if isinstance(value, list | tuple):
        return str([_text(item) for item in value])
    return type(value).__qualname__


class _ListHere(list[Any]):
    """What `list` means in `asyncio.tasks`, which uses it for sets of tasks alone: by their numbers."""

    def __new__(cls, elements: Iterable[Any] = ()) -> list[Any]:  # type: ignore[misc]  # never one of its own
        return sorted(elements, key=_number_of)


def _number_of(element: object) -> int:
    return hash(element) if isinstance(element, RunTask | RunFuture) else 0


def _number_of_future(future: Any) -> int:
    """Return the number of a future, also of one that `gather` has made; its address in other loops."""
    try:
        number: int = future.number
    except AttributeError:
        loop = future.get_loop()
        number = loop.number_future() if isinstance(loop, OrderedLoop) else object.__hash__(future)
        future.number = number
    return number


@cache
def keep_order() -> None:
    """Let asyncio and anyio make ordered sets in the loops of runs; anyio as soon as it is imported."""
    for module in (asyncio.tasks, sys.modules["asyncio.taskgroups"]):
        _order_sets_of(module)
    vars(asyncio.tasks)["list"] = _ListHere
    asyncio.tasks._GatheringFuture.__hash__ = _number_of_future  # type: ignore[attr-defined]  # not in the stubs
    anyio = sys.modules.get(ANYIO)
    if anyio is None:
        sys.meta_path.insert(0, _AnyioFinder())
    else:
        _order_sets_of(anyio)


def _order_sets_of(module: ModuleType) -> None:
    vars(module)["set"] = _SetHere


class _AnyioFinder(MetaPathFinder):
    """Lets the sets of anyio be ordered once it is imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname == ANYIO else None
        loader = None if spec is None else spec.loader
        if loader is not None:
            load = loader.exec_module

            def load_with_order(module: ModuleType) -> None:
                load(module)
                _order_sets_of(module)

            loader.exec_module = load_with_order  # type: ignore[method-assign]  # of this one loader
        return spec

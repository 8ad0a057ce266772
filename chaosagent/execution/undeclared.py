"""What the future of a target could depend on at a checkpoint, as Python sees it: the variables of its functions.

A checkpoint declares a state, and rule R3 takes two runs for equal from there on when they declare the same. Whether
something was forgotten cannot be seen in the state. It can be guessed from the variables that the target's functions
may still read: where one differs although the declared states do not, the audit looks first.

It is a guess in both directions: what differs may not matter, and what matters may be out of sight (in a database, a
variable of a module, a C extension). So a difference alone proves nothing.
"""

from __future__ import annotations

import asyncio
import enum
import functools
import inspect
import marshal
import random
import sys
import types
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any
from zlib import crc32

from chaosagent.canonical import pack_plain
from chaosagent.execution.crashed import Owner, owner_of
from chaosagent.execution.liveness import names_read_after
from chaosagent.faults.evaluation import Undeclared, Variable
from chaosagent.faults.schedule import Schedule

if TYPE_CHECKING:
    from chaosagent.execution.run import LiveRun

ONE_IN = 16
"""Of the runs with several injections one in so many is surveyed, and each with one or none: it takes time."""

NODES_MAX = 16_000
"""Values that are looked at in one checkpoint; what is found behind them is not compared."""

NODES_OF_ONE_MAX = 4_000
"""The same in one variable, which then is not compared."""

CHARACTERS_PER_NODE = 64
"""A long text counts as several values."""

DIGEST_BYTES = 8
HOLDERS = 3
"""References to a copy of a frame's variables that nobody else holds, as whoever has called `locals()` does."""

FRAMES_MAX = 64
VARIABLES_MAX = 64

STARTED_BY = "chaosagent.execution.execute"
"""Who calls a function of this module is not in the run."""

DATA = ("chaosagent.vocabulary", "chaosagent.experiments")
"""Where chaosagent has classes that a target's variables may be made of; everything else of it is its own affair."""

_ATOMS = frozenset({type(None), bool, int, float, str, bytes})
_EMPTY_CELL = types.CellType()
_GENERATORS = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
_CONTAINERS = (
    list,
    tuple,
    deque,
    set,
    frozenset,
    dict,
    str,
    bytes,
    bytearray,
    int,
    float,
    enum.Enum,
    random.Random,
    BaseException,
    types.FunctionType,
    types.MethodType,
    functools.partial,
    *_GENERATORS,
)
"""Not read attribute by attribute."""

_PLAIN = frozenset({list, tuple, dict, set, frozenset})
WITHOUT_IDENTITIES = 2
"""Of `marshal` the version that writes equal values alike, whether they are one object or two; sets it sorts."""

_TEXTS = frozenset({"datetime", "decimal", "fractions", "uuid", "pathlib", "ipaddress", "zoneinfo"})
"""Modules of values whose text tells all of them."""


class _TooLargeError(Exception):
    """A variable holds more than is looked at."""


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

    def look(self, run: LiveRun, place: str, state: object, caller: types.FrameType | None) -> None:
        """Look at a checkpoint whose fingerprint was just taken; of many only at some.

        Args:
            run: Whose it is.
            place: That it names.
            state: That it declares; also where this is two levels deep in lists and mappings it is left out.
            caller: The function that has come there; those that wait for it are found from there.
        """
        if not (self._is_nominal or run.acts):
            return
        with suppress(Exception):  # of objects that answer in their own way, or change meanwhile; they are the target's
            self._look(run, place, state, caller)

    def _look(self, run: LiveRun, place: str, state: object, caller: types.FrameType | None) -> None:
        self._passed += 1
        if not self._is_nominal and self._passed.bit_count() > 1:
            return  # the first, the second, the fourth, and so on: what matters later is mostly still there
        reader = _Reader([state, *run.streams.values()])
        tasks = run.loop.tasks_left()
        for frame in islice(_frames(caller, tasks), FRAMES_MAX):
            reader.read(frame)
        self.found.append(Undeclared(len(run.fingerprints) - 1, place, reader.variables()))


def survey_of(schedule: Schedule) -> Survey | None:
    """Return what looks for variables in a run of a schedule; `None` for most of those with several injections."""
    if len(schedule) > 1 and crc32(str(schedule).encode("utf-8", "surrogatepass")) % ONE_IN:
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
        while (waiting := _frame_of(awaited)) is not None and waiting not in running:
            if owner_of(waiting) is Owner.USER:
                yield waiting
            awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None)


def _frame_of(value: object) -> types.FrameType | None:
    match value:
        case types.CoroutineType():
            return value.cr_frame
        case types.GeneratorType():
            return value.gi_frame
        case types.AsyncGeneratorType():
            return value.ag_frame
    return None


class _Reader:
    """Reads variables, each object once.

    Args:
        known: What is left out.
    """

    def __init__(self, known: Iterable[object]) -> None:
        self._kept: list[object] = [*known]  # so that no identity is given twice
        self._known = _identities(self._kept)
        self._digests: dict[int, bytes] = {}
        self._flattened: set[int] = set()
        self._left = NODES_MAX
        self._left_of_one = NODES_OF_ONE_MAX
        self._found: dict[str, list[bytes]] = {}

    def variables(self) -> tuple[Variable, ...]:
        """Return what was read. Equal names, as of two agents with the same program, are one variable."""
        names = sorted(self._found)[:VARIABLES_MAX]
        return tuple([Variable(name, _digest(sorted(self._found[name]))) for name in names])

    def read(self, frame: types.FrameType) -> None:
        """Read what a function may still read."""
        for name, value in _variables_of(frame):
            self._variable(f"{name} in {frame.f_code.co_name}", value)

    def _variable(self, name: str, value: object) -> None:
        """Read a variable; of an object its attributes, under the name of its class."""
        if type(value) in _ATOMS:
            self._found.setdefault(name, []).append(_digest(value))
            return
        attributes = None if self._is_passed_over(value) else _attributes(value)
        if attributes is None:
            content = self._whole(value)
            if content is not None:
                self._found.setdefault(name, []).append(content)
        elif id(value) not in self._flattened and self._left > 0:
            self._flattened.add(id(value))
            self._kept.append(value)
            self._left -= 1
            for attribute, item in attributes:
                self._variable(f"{type(value).__name__}.{attribute}", item)

    def _whole(self, value: object) -> bytes | None:
        """Return the digest of a variable; `None` where it has no content, or too much."""
        if type(value) in _PLAIN and id(value) not in self._known:
            with suppress(ValueError):  # something in it is not plain
                if not _is_short(value):
                    return None
                plain = marshal.dumps(value, WITHOUT_IDENTITIES)  # type: ignore[arg-type]  # else a ValueError
                return blake2b(plain, digest_size=DIGEST_BYTES).digest()
        self._left_of_one = NODES_OF_ONE_MAX
        try:
            content = self._content(value)
        except (_TooLargeError, RecursionError):
            return None
        return None if content is None else _digest(content)

    def _content(self, value: object) -> object:
        """Return plain data, equal for equal contents; `None` for what has none."""
        if type(value) in _ATOMS:
            return value
        if self._is_passed_over(value):
            return None
        known = self._digests.get(id(value))
        if known is not None:
            return known
        self._count(1)
        self._digests[id(value)] = b"itself"
        self._kept.append(value)
        parts = self._parts(value)
        if parts is None:
            del self._digests[id(value)]
            return None
        found = self._digests[id(value)] = _digest([type(value).__qualname__, parts])
        return found

    def _count(self, values: int) -> None:
        self._left -= values
        self._left_of_one -= values
        if min(self._left, self._left_of_one) < 0:
            raise _TooLargeError

    def _parts(self, value: Any) -> object:
        """Return what something consists of, as plain data; no code of the user runs for it."""
        kind, content = type(value), self._content
        for sequence in (list, tuple, deque):
            if issubclass(kind, sequence):
                self._count(sequence.__len__(value))
                return [content(item) for item in sequence.__iter__(value)]
        for collection in (set, frozenset):
            if issubclass(kind, collection):
                self._count(collection.__len__(value))
                return sorted([pack_plain(content(item)) for item in collection.__iter__(value)])
        if issubclass(kind, dict):
            self._count(2 * dict.__len__(value))
            return [[content(key), content(item)] for key, item in dict.items(value)]
        if issubclass(kind, types.FunctionType):
            return [content(cell.cell_contents) for cell in value.__closure__ or () if cell != _EMPTY_CELL]
        if issubclass(kind, types.MethodType):
            return [content(value.__func__), content(value.__self__)]
        if issubclass(kind, functools.partial):
            return [content(value.func), content(value.args), content(value.keywords)]
        if issubclass(kind, random.Random):
            return marshal.dumps(random.Random.getstate(value), WITHOUT_IDENTITIES)
        if issubclass(kind, BaseException):
            return [content(part) for part in BaseException.args.__get__(value)]  # type: ignore[attr-defined]
        if issubclass(kind, _GENERATORS):
            frame = _frame_of(value)
            is_users = frame is not None and owner_of(frame) is Owner.USER
            return [[name, content(item)] for name, item in _variables_of(frame)] if frame and is_users else []
        return self._parts_of_object(value)

    def _parts_of_object(self, value: object) -> object:
        """Return what an object that is no container consists of."""
        kind = type(value)
        if issubclass(kind, enum.Enum):
            return value._name_  # type: ignore[attr-defined]
        if kind.__module__ in _TEXTS:
            return str(value)
        for base in (str, bytes, bytearray, int, float):
            if issubclass(kind, base):
                return base.__repr__(value)
        attributes = _attributes(value)
        return None if attributes is None else [[name, self._content(item)] for name, item in attributes]

    def _is_passed_over(self, value: object) -> bool:
        kind = type(value)
        module = str(kind.__module__)
        ours = module.startswith("chaosagent.") and not module.startswith(DATA)
        return ours or id(value) in self._known or issubclass(kind, type | types.ModuleType)


def _attributes(value: object) -> list[tuple[str, object]] | None:
    """Return the attributes of an object in the order of their names; `None` of a container, or where it has none."""
    kind: Any = type(value)
    if issubclass(kind, _CONTAINERS) or kind.__module__ in _TEXTS:
        return None
    found: dict[str, object] = {}
    for one in kind.__mro__:
        own = vars(one).get("__dict__")
        if isinstance(own, types.GetSetDescriptorType):  # not a property of the user's
            found.update((name, item) for name, item in own.__get__(value, kind).items() if type(name) is str)
            break
    slots = _slots(kind)
    for name, slot in slots:
        with suppress(AttributeError):  # not set yet
            found[name] = slot.__get__(value, kind)
    return sorted(found.items()) if found or slots else None


def _variables_of(frame: types.FrameType) -> list[tuple[str, object]]:
    """Return the variables that a function may still read, and keep no other alive."""
    values = frame.f_locals
    found = [(name, values[name]) for name in names_read_after(frame.f_code, frame.f_lasti) if name in values]
    if type(values) is dict and frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.getrefcount(values) <= HOLDERS:
        # Until Python 3.12 this is a copy that the frame keeps, so objects would live longer than in other runs.
        values.clear()
    return found


def _is_short(value: object) -> bool:
    """Whether plain data are few values, those counted again that are in it several times."""
    left, waiting = NODES_OF_ONE_MAX, [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str | bytes):
            left -= len(one) // CHARACTERS_PER_NODE
        elif isinstance(one, dict):
            left -= 2 * len(one)
            waiting += [*one.keys(), *one.values()] if left > 0 else []
        elif isinstance(one, list | tuple | set | frozenset):
            left -= len(one)
            waiting += one if left > 0 else []
        if left < 0:
            return False
    return True


@functools.lru_cache(maxsize=1_024)
def _slots(kind: type) -> tuple[tuple[str, types.MemberDescriptorType], ...]:
    """Return the attributes of a class that are kept in slots."""
    return tuple(
        (name, slot)
        for one in reversed(kind.__mro__)
        for name, slot in vars(one).items()
        if isinstance(slot, types.MemberDescriptorType)
    )


def _identities(known: Iterable[object]) -> frozenset[int]:
    """Return the identities of values and of what is in them, two levels deep."""
    found: set[int] = set()
    level = list(known)
    for _ in range(3):
        level = [value for value in level if type(value) not in _ATOMS]
        found.update(map(id, level))
        level = [item for value in level for item in _items(value)]
    return frozenset(found)


def _items(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _digest(content: object) -> bytes:
    return blake2b(pack_plain(content), digest_size=DIGEST_BYTES).digest()

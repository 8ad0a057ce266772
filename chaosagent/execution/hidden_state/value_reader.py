"""Reads variables as Python sees them, compares them by digest, and knows which ones code may still read."""

from __future__ import annotations

import dis
import enum
import functools
import inspect
import marshal
import random
import sys
import types
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from hashlib import blake2b
from types import CodeType
from typing import Any, NamedTuple

from chaosagent.canonical import pack_plain
from chaosagent.execution.crash_location import Owner, owner_of

CHARACTERS_PER_NODE = 64
"""A long text counts as several values."""

DIGEST_BYTES = 8
HOLDERS = 3
"""References to a copy of a frame's variables that nobody else holds, as whoever has called `locals()` does."""

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
    ContextVar,
    BaseException,
    types.FunctionType,
    types.MethodType,
    functools.partial,
    *_GENERATORS,
)
"""Not read attribute by attribute."""

_PLAIN = frozenset({list, tuple, dict, set, frozenset})
_SIZED = _PLAIN | {deque}
WITHOUT_IDENTITIES = 2
"""Of `marshal` the version that writes equal values alike, whether they are one object or two; sets it sorts."""

_TEXTS = frozenset({"datetime", "decimal", "fractions", "uuid", "pathlib", "ipaddress", "zoneinfo"})
"""Modules of values whose text tells all of them."""


class _TooLargeError(Exception):
    """A variable holds more than is looked at."""


def frame_of(value: object) -> types.FrameType | None:
    """Return where a coroutine or generator waits."""
    match value:
        case types.CoroutineType():
            return value.cr_frame
        case types.GeneratorType():
            return value.gi_frame
        case types.AsyncGeneratorType():
            return value.ag_frame
    return None


class ValueReader:
    """Reads variables, each object once.

    Args:
        known: What is left out.
        values_max: Values that are looked at; what is found behind them is not read.
        values_of_one_max: The same in one variable, which then is not read.
    """

    def __init__(self, known: Iterable[object] = (), *, values_max: int, values_of_one_max: int) -> None:
        self._kept: list[object] = [*known]  # so that no identity is given twice
        self._known = _identities(self._kept)
        self._digests: dict[int, bytes] = {}
        self._flattened: set[int] = set()
        self._left, self._of_one_max = values_max, values_of_one_max
        self._left_of_one = values_of_one_max
        self._found: dict[str, list[bytes]] = {}

    def digests(self) -> Mapping[str, bytes]:
        """Return what was read. Equal names, as of two agents with the same program, are one variable."""
        return {name: _digest(sorted(found)) for name, found in sorted(self._found.items())}

    def read_frame(self, frame: types.FrameType) -> None:
        """Read what a function may still read."""
        for name, value in _variables_of(frame):
            self.read(f"{name} in {frame.f_code.co_name}", value)

    def read(self, name: str, value: object) -> None:
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
                self.read(f"{type(value).__name__}.{attribute}", item)

    def read_whole(self, name: str, value: object) -> None:
        """Read a variable with all that is in it; of one that is too large only how many items it has."""
        content = _digest(value) if type(value) in _ATOMS else self._whole(value)
        if content is None and type(value) in _SIZED:
            content = _digest(len(value))  # type: ignore[arg-type]  # these all have one
        if content is not None:
            self._found.setdefault(name, []).append(content)

    def _whole(self, value: object) -> bytes | None:
        """Return the digest of a variable; `None` where it has no content, or too much."""
        if type(value) in _PLAIN and id(value) not in self._known:
            with suppress(ValueError):  # something in it is not plain
                if not _is_short(value, self._of_one_max):
                    return None
                plain = marshal.dumps(value, WITHOUT_IDENTITIES)  # type: ignore[arg-type]  # else a ValueError
                return blake2b(plain, digest_size=DIGEST_BYTES).digest()
        self._left_of_one = self._of_one_max
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
        if kind is ContextVar:
            return [content(value.get(None))]
        if issubclass(kind, BaseException):
            return [content(part) for part in BaseException.args.__get__(value)]  # type: ignore[attr-defined]
        if issubclass(kind, _GENERATORS):
            frame = frame_of(value)
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


def _is_short(value: object, values_max: int) -> bool:
    """Whether plain data are few values, those counted again that are in it several times."""
    left, waiting = values_max, [value]
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


LEAVES = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "INTERPRETER_EXIT"})
JUMPS = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE"})
"""Instructions behind which the next one does not follow, besides those that leave the function."""


class _Step(NamedTuple):
    """One instruction.

    Attributes:
        read: Variables that it reads.
        written: Variables that it sets or deletes, before it reads.
        following: Offsets of what may come next.
    """

    read: frozenset[str]
    written: frozenset[str]
    following: tuple[int, ...]


@functools.lru_cache(maxsize=4_096)
def names_read_after(code: CodeType, offset: int) -> tuple[str, ...]:
    """Return the variables of a function that may be read behind an instruction before they are set anew.

    Args:
        code: Of the function.
        offset: Of the instruction that it is at (`f_lasti` of a frame).

    Returns:
        In the order of their names. Variables that functions share (closures) always count.
    """
    steps, alive = _steps(code), _read_from(code)
    here = max((one for one in steps if one <= offset), default=0)  # it may be at the cache behind a call
    found = {*code.co_cellvars, *code.co_freevars}.union(*(alive[following] for following in steps[here].following))
    return tuple(sorted(found))


@functools.lru_cache(maxsize=1_024)
def _steps(code: CodeType) -> Mapping[int, _Step]:
    """Return the instructions of a function, by their offsets."""
    instructions = list(dis.get_instructions(code))
    handlers = getattr(dis.Bytecode(code), "exception_entries", ())
    steps: dict[int, _Step] = {}
    for number, one in enumerate(instructions):
        following = [handler.target for handler in handlers if handler.start <= one.offset < handler.end]
        if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs:
            following.append(one.argval)
        if one.opname not in LEAVES and one.opname not in JUMPS and number + 1 < len(instructions):
            following.append(instructions[number + 1].offset)
        read, written = _uses(one)
        steps[one.offset] = _Step(read, written, tuple(following))
    return steps


def _uses(one: dis.Instruction) -> tuple[frozenset[str], frozenset[str]]:
    """Return the variables that an instruction reads and sets; some do two things, as STORE_FAST_LOAD_FAST does."""
    read, written = set[str](), set[str]()
    if "_FAST" in one.opname:
        names = one.argval if isinstance(one.argval, tuple) else (one.argval,)
        for name, kind in zip(names, one.opname.split("_FAST"), strict=False):
            if not kind.endswith("LOAD"):
                written.add(name)
            elif name not in written:
                read.add(name)
    return frozenset(read), frozenset(written)


@functools.lru_cache(maxsize=1_024)
def _read_from(code: CodeType) -> Mapping[int, frozenset[str]]:
    """Return, for each instruction, the variables that may be read from there on before they are set."""
    steps = _steps(code)
    alive: dict[int, frozenset[str]] = dict.fromkeys(steps, frozenset())
    order, changed = [*steps][::-1], True
    while changed:
        changed = False
        for offset in order:
            step = steps[offset]
            behind = frozenset[str]().union(*(alive[one] for one in step.following))
            found = step.read | (behind - step.written)
            if found != alive[offset]:
                alive[offset], changed = found, True
    return alive

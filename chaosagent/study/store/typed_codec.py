"""Objects of declared types as plain data and back: the annotations say how they are read, never the data."""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from chaosagent.execution.execute import Execution
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.evaluation_codec import decode_evaluation, encode_evaluation
from chaosagent.faults.injection import Injection
from chaosagent.faults.schedule import Schedule, parse
from chaosagent.trace.step import Step

T = TypeVar("T")


def to_plain(value: object) -> Any:
    """Return an object as plain data: a list of the fields of a dataclass or named tuple, the value of an enum.

    Raises:
        TypeError: It holds something else.
    """
    if isinstance(value, enum.Enum):
        return value.value
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, Schedule | Injection):
        return str(value)
    if isinstance(value, Evaluation):
        return encode_evaluation(value)
    if isinstance(value, Mapping):
        if all(type(key) is str for key in value):
            return {key: to_plain(one) for key, one in value.items()}
        return [[to_plain(key), to_plain(one)] for key, one in value.items()]
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in value]
    names = _fields(cast("Any", type(value)))
    if not names:
        raise TypeError(f"{type(value).__qualname__} cannot be stored")
    return [to_plain(getattr(value, name)) for name in names]


def from_plain(kind: type[T], data: Any) -> T:
    """Return the object of a type that plain data describe; the inverse of `to_plain`.

    Raises:
        TypeError: The data are of another type; other errors that decoding raises are possible, too.
    """
    return cast("T", _reader(cast("Any", kind))(data))


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """Return what makes an object of a type from plain data."""
    if kind in _READERS:
        return _READERS[kind]
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        known = [one for one in inside if one is not type(None)]
        read = _reader(known[0]) if len(known) == 1 else _as_it_is
        return lambda data: None if data is None else read(data)
    if origin is tuple and inside[-1] is Ellipsis:
        read = _reader(inside[0])
        return lambda data: tuple([read(one) for one in data])
    if origin is tuple:
        reads = [_reader(one) for one in inside]
        return lambda data: tuple([read(one) for read, one in zip(reads, data, strict=True)])
    if isinstance(origin, type) and issubclass(origin, Mapping):
        read_key, read_value = map(_reader, inside)
        return lambda data: {read_key(key): read_value(one) for key, one in _pairs(data)}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind
    names = _fields(kind)
    return _object_reader(kind, names) if names else _as_it_is


def _object_reader(kind: type, names: tuple[str, ...]) -> Callable[[Any], Any]:
    hints = get_type_hints(kind, localns={"Plain": object})
    reads = [(name, _reader(hints[name])) for name in names]
    if kind is Step:
        return lambda data: _step(reads, data)
    # What an earlier version did not store yet are the last fields, which have defaults.
    return lambda data: kind(
        **{name: read(one) for (name, read), one in zip(reads, data, strict=len(data) > len(reads))}
    )


def _step(reads: list[tuple[str, Callable[[Any], Any]]], data: Any) -> Step:
    step = Step()
    step.soft_error = ""  # the last part, which stores of earlier versions do not have
    for (name, read), one in zip(reads, data, strict=len(data) != len(reads) - 1):
        setattr(step, name, read(one))
    step.seal()
    return step


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    """Return the names of what an object of a type is made of; nothing of an atom."""
    if kind is Step:
        return tuple(name for name in get_type_hints(Step, localns={"Plain": object}) if name not in _RAW)
    if kind is Execution:
        return ("trace", "evaluation", "answers")  # functions of the user's, as doors have them, are not kept
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind) if field.init)
    return cast("tuple[str, ...]", getattr(kind, "_fields", ()))


def _pairs(data: Any) -> Any:
    return data.items() if isinstance(data, dict) else data


def _as_it_is(data: Any) -> Any:
    return data


_RAW = ("raw", "_arguments", "_answer")
_READERS: dict[Any, Callable[[Any], Any]] = {
    Schedule: lambda data: parse(data, "stored schedule"),
    Injection: lambda data: parse(data, "stored schedule").injections[0],
    Evaluation: decode_evaluation,
}

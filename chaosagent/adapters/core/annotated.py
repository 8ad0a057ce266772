"""Results of functions as plain data, and back into what their annotations say."""

from __future__ import annotations

import dataclasses
import enum
import functools
import typing
from typing import Any

from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError

from chaosagent.canonical import Plain

_ATOMS = (str, int, float, bool, bytes, type(None))


def is_plain(value: object) -> bool:
    """Whether a value crosses a door as it is."""
    if type(value) in _ATOMS:
        return True
    if type(value) is list:
        return all(is_plain(part) for part in value)
    return type(value) is dict and all(type(key) is str and is_plain(part) for key, part in value.items())


def plain_result(result: object, annotation: object, shown: str) -> Plain:
    """Return what a function gave, as plain data.

    Args:
        result: Plain data stay as they are; objects become mappings where the annotation can make them again.
        annotation: What the function says that it returns.
        shown: What a model would be shown of the result: what crosses otherwise.
    """
    if is_plain(result):
        return typing.cast(Plain, result)
    adapter = _adapter_of(annotation)
    if adapter is not None:
        try:
            dumped = adapter.dump_python(adapter.validate_python(result), mode="json")
        except (ValidationError, PydanticUserError, ValueError):
            return shown
        if not isinstance(dumped, str):  # a text would not be made into an object again
            return typing.cast(Plain, dumped)
    return shown


def rebuilt(told: Plain, annotation: object) -> object:
    """Return what an agent is told as the annotation has it; plain data where that cannot be."""
    adapter = None if isinstance(told, str) else _adapter_of(annotation)
    if adapter is None:
        return told
    try:
        return typing.cast(object, adapter.validate_python(told))
    except ValidationError:
        return told


def returned_by(function: object) -> object:
    """Return what a function says that it returns; `None` where it says nothing that is known here."""
    try:
        return typing.get_type_hints(function).get("return")
    except (NameError, TypeError):
        return None


def _adapter_of(annotation: object) -> TypeAdapter[Any] | None:
    """Return what makes objects of plain data, for annotations that have objects."""
    try:
        return _made_adapter(annotation)
    except TypeError:  # an annotation that cannot be hashed
        return None


@functools.lru_cache(maxsize=1024)
def _made_adapter(annotation: Any) -> TypeAdapter[Any] | None:
    try:
        return TypeAdapter(annotation) if _has_objects(annotation) else None
    except (NameError, TypeError, PydanticUserError):
        return None


def _has_objects(annotation: Any) -> bool:
    if isinstance(annotation, type) and typing.get_origin(annotation) is None:
        return dataclasses.is_dataclass(annotation) or issubclass(annotation, BaseModel | tuple | enum.Enum)
    return typing.get_origin(annotation) is tuple or any(_has_objects(part) for part in typing.get_args(annotation))

"""Canonical bytes of plain data, and their digests.

Plain data is what crosses a boundary and what is stored: `None`, `bool`, `int`, `float`, `str`, `bytes`,
lists (tuples count as lists) and mappings with string keys. Equal data give equal bytes, whatever the order
in which a mapping was filled.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from hashlib import blake2b
from typing import TypeAlias, cast

import msgpack

from chaosagent.errors import UsageError

Plain: TypeAlias = "bool | int | float | str | bytes | list[Plain] | tuple[Plain, ...] | Mapping[str, Plain] | None"

DIGEST_BYTES = 16
DEPTH_MAX = 64
_ATOMS = frozenset({type(None), bool, int, float, str, bytes})
_BIG_INTEGER = "\0integer"
_packer = msgpack.Packer(use_bin_type=True, unicode_errors="surrogatepass")


def pack(value: object) -> bytes:
    """Return the canonical bytes of plain data.

    Dataclasses, enums, sets and pydantic models are turned into plain data first.

    Raises:
        UsageError: `value` holds something that is not plain data.
    """
    try:
        return _packer.pack(value if type(value) in _ATOMS else plain(value))
    except (OverflowError, ValueError):
        _packer.reset()
        return _packer.pack(_tag_big_integers(plain(value)))


def unpack(data: bytes) -> Plain:
    """Return the plain data behind canonical bytes; the inverse of `pack` up to lists for tuples."""
    value = msgpack.unpackb(
        data, raw=False, unicode_errors="surrogatepass", strict_map_key=True, object_hook=_untag_big_integer
    )
    return cast(Plain, value)


def digest(data: bytes) -> str:
    """Return the hexadecimal BLAKE2b digest (16 bytes) of some bytes."""
    return blake2b(data, digest_size=DIGEST_BYTES).hexdigest()


def digest_of(value: object) -> str:
    """Return the digest of the canonical bytes of plain data."""
    return digest(pack(value))


def plain(value: object, depth: int = 0) -> Plain:
    """Return `value` as fresh plain data with sorted keys.

    Raises:
        UsageError: `value` holds something that is not plain data, a key that is not a string, or nests
            deeper than 64 levels.
    """
    kind = type(value)
    if kind in _ATOMS:
        return cast(Plain, value)
    if depth > DEPTH_MAX:
        raise UsageError(f"Data that crosses a boundary nests deeper than {DEPTH_MAX} levels. Flatten it first.")
    if kind is dict:
        return _plain_mapping(cast("dict[object, object]", value), depth)
    if kind is list or kind is tuple:
        return [
            item if type(item) in _ATOMS else plain(item, depth + 1)  # type: ignore[misc]  # the atoms are plain
            for item in cast("list[object]", value)
        ]
    return _plain_other(value, depth)


def _plain_mapping(value: Mapping[object, object], depth: int) -> Plain:
    try:
        items = sorted(value.items()) if len(value) > 1 else value.items()
    except TypeError:
        items = sorted(value.items(), key=lambda item: str(item[0]))
    result: dict[str, Plain] = {}
    for key, item in items:
        if type(key) is not str:
            raise UsageError(
                f"A mapping that crosses a boundary has the key {key!r} of type {type(key).__name__}; "
                "keys must be strings. Convert it with str() where the target makes it."
            )
        result[key] = item if type(item) in _ATOMS else plain(item, depth + 1)  # type: ignore[assignment]
    return result


def _plain_other(value: object, depth: int) -> Plain:
    if isinstance(value, enum.Enum):
        return plain(value.value, depth + 1)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return _plain_mapping(value, depth)
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(item, depth + 1) for item in value), key=lambda item: _packer.pack(item))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name), depth + 1)
            for field in sorted(dataclasses.fields(value), key=lambda field: field.name)
        }
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return plain(dump(mode="json"), depth + 1)
    raise UsageError(
        f"{type(value).__module__}.{type(value).__qualname__} crosses a boundary; only plain data can (None, bool, "
        "int, float, str, bytes, lists, mappings with string keys, dataclasses, pydantic models). "
        "Convert it in the function behind the door."
    )


def _tag_big_integers(value: Plain) -> Plain:
    if type(value) is int and not -(2**63) <= value < 2**64:
        return {_BIG_INTEGER: str(value)}
    if isinstance(value, Mapping):
        return {key: _tag_big_integers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_tag_big_integers(item) for item in value]
    return value


def _untag_big_integer(value: dict[str, Plain]) -> Plain:
    if len(value) == 1 and _BIG_INTEGER in value:
        digits = value[_BIG_INTEGER]
        return int(digits) if isinstance(digits, str) and len(digits) <= 4000 else value
    return value

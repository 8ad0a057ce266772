"""Canonical bytes of plain data, and their digests.

Plain data is what crosses a boundary and what is stored: `None`, `bool`, `int`, `float`, `str`, `bytes`,
lists (tuples count as lists) and mappings with string keys. Equal data give equal bytes, whatever the order
in which a mapping was filled. Integers beyond 64 bits are a msgpack extension of type 1: their two's complement, big
end first.
"""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import TypeAlias, cast

import msgpack

from chaosagent.errors import UsageError

Plain: TypeAlias = "bool | int | float | str | bytes | list[Plain] | tuple[Plain, ...] | Mapping[str, Plain] | None"

DIGEST_BYTES = 16
DEPTH_MAX = 64
_ATOMS = frozenset({type(None), bool, int, float, str, bytes})
_BIG_INTEGER = 1
_packer = msgpack.Packer(use_bin_type=True, unicode_errors="surrogatepass")


_pack = _packer.pack


def pack(value: object) -> bytes:
    """Return the canonical bytes of plain data.

    Dataclasses, enums, sets and pydantic models are turned into plain data first.

    Raises:
        UsageError: `value` holds something that is not plain data.
    """
    return pack_plain(plain(value))


def pack_plain(value: object) -> bytes:
    """Return the canonical bytes of what `plain` returned."""
    try:
        return _pack(value)
    except (OverflowError, ValueError):
        _packer.reset()
        return _packer.pack(_tag_big_integers(cast(Plain, value)))


def unpack(data: bytes) -> Plain:
    """Return the plain data behind canonical bytes; the inverse of `pack` up to lists for tuples."""
    value = msgpack.unpackb(
        data, raw=False, unicode_errors="surrogatepass", strict_map_key=True, ext_hook=_untag_big_integer
    )
    return cast(Plain, value)


def unpack_untrusted(data: bytes, *, items_max: int) -> Plain:
    """Return the plain data behind bytes of unknown origin; a few bytes cannot make it use much memory.

    Args:
        data: The bytes.
        items_max: Most items in all lists and mappings together.

    Raises:
        UsageError: They hold more items than that, or what is not plain data.
        ValueError: They are no msgpack data.
    """
    return plain(unpack_bounded(data, items_max=items_max))


def unpack_bounded(data: bytes, *, items_max: int) -> object:
    """Return what bytes of unknown origin hold: not all that msgpack can write is plain data.

    Args:
        data: The bytes.
        items_max: Most items in all lists and mappings together.

    Raises:
        UsageError: They hold more items than that.
        ValueError: They are no msgpack data.
    """
    if 2 * len(data) <= items_max:  # an item takes a byte at least, and one that holds others counts twice
        return unpack(data)
    left = items_max

    def counted(container: list[Plain] | dict[str, Plain]) -> list[Plain] | dict[str, Plain]:
        nonlocal left
        left -= len(container) + 1
        if left < 0:
            raise UsageError(f"The data hold more than {items_max} items.")
        return container

    return msgpack.unpackb(
        data,
        raw=False,
        unicode_errors="surrogatepass",
        strict_map_key=True,
        ext_hook=_untag_big_integer,
        list_hook=counted,
        object_hook=counted,
        max_array_len=items_max,
        max_map_len=items_max,
    )


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
        return value  # type: ignore[return-value]  # the atoms are plain
    if depth > DEPTH_MAX:
        raise UsageError(f"Data that crosses a boundary nests deeper than {DEPTH_MAX} levels. Flatten it first.")
    if kind is dict:
        return plain_mapping(value, depth)  # type: ignore[arg-type]  # a cast would cost a call at every crossing
    if kind is list or kind is tuple:
        return [item if type(item) in _ATOMS else plain(item, depth + 1) for item in value]  # type: ignore[attr-defined]
    return _plain_other(value, depth)


def copy_plain(mapping: Mapping[str, Plain]) -> Mapping[str, Plain]:
    """Return plain data that shares nothing that could be changed with a mapping of plain data."""
    for item in mapping.values():
        if type(item) not in _ATOMS:
            return cast("Mapping[str, Plain]", plain(mapping))
    return mapping


def plain_mapping(value: Mapping[str, object], depth: int = 0) -> dict[str, Plain]:
    """Return a mapping as fresh plain data with sorted keys.

    Raises:
        UsageError: As `plain`.
    """
    keys: Iterable[object]
    if len(value) == 1:  # as most requests have it; this way in two thirds of the time
        for only, item in value.items():
            if type(only) is str and type(item) in _ATOMS:
                return {only: item}  # type: ignore[dict-item]  # the atoms are plain
    try:
        keys = sorted(value) if len(value) > 1 else value
    except Exception:  # of keys that cannot be compared
        keys = value
    result: dict[str, Plain] = {}
    for key in keys:
        if type(key) is not str:
            raise UsageError(
                f"A mapping that crosses a boundary has the key {_shown(key)} of type {type(key).__name__}; "
                "keys must be strings. Convert it with str() where the target makes it."
            )
        item = value[key]
        result[key] = item if type(item) in _ATOMS else plain(item, depth + 1)  # type: ignore[assignment]
    return result


def _shown(key: object) -> str:
    """Return a key as people read it; of a stranger's type that might fail, or differ in the next process."""
    return repr(key)[:80] if type(key) in _ATOMS else "..."


def _plain_other(value: object, depth: int) -> Plain:
    """Return what is of a stranger's type as plain data, whatever its methods raise."""
    try:
        return _plain_of_type(value, depth)
    except (UsageError, MemoryError):
        raise
    except Exception as error:
        kind = type(value)
        raise UsageError(
            f"{kind.__module__}.{kind.__qualname__} crosses a boundary and cannot be read as plain data: it raises "
            f"{type(error).__name__}. Convert it in the function behind the door."
        ) from error


def _plain_of_type(value: object, depth: int) -> Plain:
    if isinstance(value, enum.Enum):
        return plain(value.value, depth + 1)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return plain_mapping(value, depth)
    if isinstance(value, set | frozenset):
        return sorted((plain(item, depth + 1) for item in value), key=pack_plain)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name), depth + 1)
            for field in sorted(dataclasses.fields(value), key=lambda field: field.name)
        }
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return plain(dump(mode="json"), depth + 1)
    if isinstance(value, types.CoroutineType):
        raise UsageError("what a call returns crosses a boundary without having been awaited. Write `await` in front.")
    raise UsageError(
        f"{type(value).__module__}.{type(value).__qualname__} crosses a boundary; only plain data can (None, bool, "
        "int, float, str, bytes, lists, mappings with string keys, dataclasses, pydantic models). "
        "Convert it in the function behind the door."
    )


def _tag_big_integers(value: Plain) -> object:
    if type(value) is int and not -(2**63) <= value < 2**64:
        return msgpack.ExtType(_BIG_INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
    if isinstance(value, Mapping):
        return {key: _tag_big_integers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_tag_big_integers(item) for item in value]
    return value


def _untag_big_integer(code: int, data: bytes) -> int:
    if code != _BIG_INTEGER:
        raise UsageError(f"Canonical bytes hold an extension of type {code}; only {_BIG_INTEGER} is known.")
    return int.from_bytes(data, "big", signed=True)

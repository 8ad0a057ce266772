r"""Plain data as JSON text that gives the same data back, whatever JSON has no word for.

A mapping with one key that begins with `$` stands for what JSON cannot say:

    {"$bytes": "AAE="}          bytes, base64
    {"$text": "7aCA"}           text with lone surrogates, base64 of its UTF-8 with surrogates passed
    {"$float": "7ff8000000000000"}    NaN and the infinities, the eight bytes of the number, big end first
    {"$int": "-1f"}             whole numbers beyond 64 bits, hexadecimal
    {"$map": [[key, value]]}    mappings that would look like one of these, or have keys with lone surrogates

All is ASCII, so it passes through tools that refuse lone surrogates or replace them.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import struct
from collections.abc import Mapping
from typing import cast

from chaosagent.canonical import DEPTH_MAX, Plain
from chaosagent.errors import UsageError

_MARK = "$"
_INTEGER_MIN, _INTEGER_MAX = -(2**63), 2**64
_WRAPPERS_MAX = 4 * DEPTH_MAX
"""Levels of JSON that so many levels of plain data can take: each mapping may stand in a `$map` of pairs."""


def to_tagged(value: Plain) -> str:
    """Return plain data as JSON text in ASCII; keys keep their order."""
    return json.dumps(_tagged(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def from_tagged(text: str) -> Plain:
    """Return the plain data behind such a text.

    Raises:
        UsageError: It is no JSON, nests too deeply, or has a tag that is not known.
    """
    try:
        return _untagged(json.loads(text), 0)
    except (ValueError, RecursionError, TypeError, struct.error) as error:
        raise UsageError(f"{text[:80]!r} is no plain data in JSON: {error}.") from error


def _tagged(value: Plain) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return {"$text": _base64(value.encode("utf-8", "surrogatepass"))} if has_surrogates(value) else value
    if isinstance(value, int):
        return value if _INTEGER_MIN <= value < _INTEGER_MAX else {"$int": f"{value:x}"}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": struct.pack(">d", value).hex()}
    if isinstance(value, bytes):
        return {"$bytes": _base64(value)}
    if isinstance(value, Mapping):
        if any(key.startswith(_MARK) or has_surrogates(key) for key in value):
            return {"$map": [[_tagged(key), _tagged(item)] for key, item in value.items()]}
        return {key: _tagged(item) for key, item in value.items()}
    return [_tagged(item) for item in value]


def _untagged(value: object, depth: int) -> Plain:
    if depth > _WRAPPERS_MAX:
        raise ValueError(f"more than {_WRAPPERS_MAX} levels")
    if isinstance(value, list):
        return [_untagged(item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return cast(Plain, value)
    if len(value) == 1:
        tag, inside = next(iter(value.items()))
        if tag.startswith(_MARK):
            return _meant(tag, inside, depth)
    return {key: _untagged(item, depth + 1) for key, item in value.items()}


def _meant(tag: str, inside: object, depth: int) -> Plain:
    if tag == "$map":
        if not isinstance(inside, list):
            raise ValueError("a $map must be a list of pairs")
        pairs = [(_untagged(key, depth + 1), _untagged(item, depth + 1)) for key, item in inside]
        if not all(isinstance(key, str) for key, _ in pairs):
            raise ValueError("a key of a $map must be a text")
        return {str(key): item for key, item in pairs}
    if not isinstance(inside, str):
        raise ValueError(f"{tag} must be a text")
    if tag == "$bytes":
        return unbase64(inside)
    if tag == "$text":
        return unbase64(inside).decode("utf-8", "surrogatepass")
    if tag == "$int":
        return int(inside, 16)
    if tag == "$float":
        return float(struct.unpack(">d", bytes.fromhex(inside))[0])
    raise ValueError(f"the tag {tag[:20]!r} is not known")


def has_surrogates(text: str) -> bool:
    """Whether a text holds lone surrogates, which UTF-8 cannot write."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def unbase64(text: str) -> bytes:
    """Return the bytes behind base64; `ValueError` when it is none."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"no base64: {error}") from error

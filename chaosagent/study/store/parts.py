"""Parts of evaluations that many runs share, such as crossings: a store keeps each of them once, under a number."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from chaosagent.canonical import DIGEST_BYTES, pack_plain, unpack
from chaosagent.errors import StoredDataError
from chaosagent.sqlite_file import Checksums
from chaosagent.study.store.tables import Row, row_place

KNOWN_MAX = 100_000
"""How many parts are remembered; then remembering begins anew, and a part may be kept twice."""

BYTES_MAX = 2**30
"""A row of parts is not larger than this when unpacked; a larger one is damaged."""


def _unpacked(data: bytes) -> list[bytes]:
    """Return the parts in a row, each as bytes.

    Raises:
        ValueError: The row is larger than any that is written.
        zlib.error: It is damaged.
    """
    unpacking = zlib.decompressobj()
    plain = unpacking.decompress(data, BYTES_MAX)
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise ValueError("it is cut off, or too large")
    return cast("list[bytes]", unpack(plain))


class PartWriter:
    """Gives parts their numbers, and collects those that are to be written.

    Args:
        connection: To the store, whose parts are known from the start.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._numbers: dict[bytes, int] = {}
        self._of_objects: dict[Any, int] = {}
        self._new: list[bytes] = []
        self._next = 1
        for first, _, data in connection.execute("SELECT id, count, data FROM part ORDER BY id"):
            for part in _unpacked(data):
                self._remember(part, first)
                first += 1
            self._next = first

    def number_of(self, part: Any, plain: Callable[[Any], Any]) -> int:
        """Return the number of a part; see `encode_shared`."""
        number = self._of_objects.get(part)
        if number is not None:
            return number
        data = part if isinstance(part, bytes) else pack_plain(plain(part))
        number = self._numbers.get(_digest(data))
        if number is None:
            number = self._next
            self._remember(data, number)
            self._new.append(data)
            self._next += 1
        if len(self._of_objects) >= KNOWN_MAX:
            self._of_objects.clear()
        self._of_objects[part] = number
        return number

    def new_row(self) -> Row | None:
        """Return the row of the parts that were met since the last one, `None` if there were none."""
        if not self._new:
            return None
        new, self._new = self._new, []
        return self._next - len(new), len(new), zlib.compress(pack_plain(new))

    def _remember(self, data: bytes, number: int) -> None:
        if len(self._numbers) >= KNOWN_MAX:
            self._numbers.clear()
        self._numbers[_digest(data)] = number


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=DIGEST_BYTES).digest()


class PartReader:
    """Reads the parts of a store when they are asked for, and checks them.

    Args:
        connection: To the store.
        path: Of the store, for messages.
        checksums: Of its rows.
        remedy: What to do where one is damaged.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, checksums: Checksums, remedy: str) -> None:
        self._connection, self._path, self._checksums, self._remedy = connection, path, checksums, remedy
        self._data: dict[int, bytes] = {}
        self._made: dict[tuple[int, Callable[[Any], Any]], Any] = {}

    def part(self, number: int, make: Callable[[Any], Any]) -> Any:
        """Return a part, made from its plain data; see `decode_shared`.

        Raises:
            StoredDataError: It is damaged or missing.
        """
        found = self._made.get((number, make))
        if found is None:
            if number not in self._data:
                self._read(number)
            if len(self._made) >= KNOWN_MAX:
                self._made.clear()
            found = self._made[number, make] = make(unpack(self._data.pop(number)))
        return found

    def _read(self, number: int) -> None:
        query = "SELECT * FROM part WHERE id <= ? ORDER BY id DESC LIMIT 1"
        row = self._connection.execute(query, (number,)).fetchone()
        if row is None or number >= row[0] + row[1]:
            raise StoredDataError(str(self._path), f"table part, part {number!r:.20}", "it is missing", self._remedy)
        if not self._checksums.match("part", row):
            raise StoredDataError(str(self._path), row_place("part", row), "its checksum does not match", self._remedy)
        if len(self._data) >= KNOWN_MAX:
            self._data.clear()
        self._data.update(enumerate(_unpacked(row[2]), row[0]))

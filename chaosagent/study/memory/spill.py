"""The runs of a study for which there is no room in memory, in a file that nobody else sees and that ends with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, cast

from chaosagent.canonical import DIGEST_BYTES, pack_plain, unpack
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.evaluation_codec import decode_shared, encode_shared
from chaosagent.faults.schedule import Schedule
from chaosagent.sqlite_file import TemporaryFile

ROOM = 4_096
"""How many runs stay in memory, over all logs."""

ROOM_MIN = 64
"""How many stay there of each log, however many logs there are."""

PARTS_MAX = 8_192
"""How many parts of runs, such as crossings, are remembered each way; a part may be kept twice."""

FILTER_BITS = 2**26
"""Of the filter that spares most questions for what is not there: 8 MB, and 6 % wrong alarms at 4 million runs."""

CACHE_KILOBYTES = 8_000
SCHEMA = """
CREATE TABLE part (id INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE number (key BLOB PRIMARY KEY, number INTEGER) WITHOUT ROWID;
CREATE TABLE run (log INTEGER, number INTEGER, data BLOB, PRIMARY KEY (log, number)) WITHOUT ROWID;
"""


class Spill:
    """Keeps runs on disk, by log and number, with the parts that many of them share.

    The file is made with the first run.
    """

    def __init__(self) -> None:
        self._room, self._logs = ROOM, 0
        self._file: TemporaryFile | None = None
        self._filter = bytearray()
        self._numbers: dict[Any, int] = {}
        self._parts: dict[tuple[int, Callable[[Any], Any]], Any] = {}
        self._new: list[tuple[int, bytes]] = []
        self._part_count = self._log_count = 0

    def new_log(self) -> int:
        """Return a number for a log."""
        self._logs += 1
        self._log_count += 1
        return self._log_count

    @property
    def room(self) -> int:
        """How many runs of each log stay in memory."""
        return max(min(ROOM_MIN, self._room), self._room // max(1, self._logs))

    def put(self, log: int, runs: Sequence[tuple[int, Evaluation]]) -> None:
        """Keep runs of a log, each under its number.

        Raises:
            StudyError: There is no room on disk.
        """
        rows = [(log, number, self._packed(run)) for number, run in runs]
        keys = [(_key(log, run.schedule), number) for number, run in runs]
        self._opened().change(  # an interrupt may come behind it; then the same is kept once more
            ("INSERT OR REPLACE INTO part VALUES (?, ?)", self._new),
            ("INSERT OR REPLACE INTO run VALUES (?, ?, ?)", rows),
            ("INSERT OR REPLACE INTO number VALUES (?, ?)", keys),
        )
        self._new.clear()
        for _, run in runs:
            byte, bit = self._place(log, run.schedule)
            self._filter[byte] |= bit

    def number(self, log: int, schedule: Schedule) -> int | None:
        """Return the number of the run of a schedule, `None` when it is not here."""
        if self._file is None:
            return None
        byte, bit = self._place(log, schedule)
        if not self._filter[byte] & bit:
            return None
        found = self._file.rows("SELECT number FROM number WHERE key = ?", (_key(log, schedule),))
        return int(found[0][0]) if found else None

    def get(self, log: int, number: int) -> Evaluation:
        """Return the run with a number."""
        [(packed,)] = self._opened().rows("SELECT data FROM run WHERE log = ? AND number = ?", (log, number))
        *columns, data = cast("list[Any]", unpack(packed))
        return decode_shared(columns, data, self._part)

    def forget(self, log: int) -> None:
        """Drop the runs of a log, which is over."""
        self._logs -= 1
        if self._file is not None:
            self._file.change(("DELETE FROM run WHERE log = ?", [(log,)]))

    def _opened(self) -> TemporaryFile:
        if self._file is None:
            self._file, self._filter = (
                TemporaryFile(SCHEMA, cache_kilobytes=CACHE_KILOBYTES),
                bytearray(FILTER_BITS // 8),
            )
        return self._file

    def _packed(self, run: Evaluation) -> bytes:
        schedule, landed = str(run.schedule), None if run.effective == run.schedule else str(run.effective)
        facts = (run.status.value, run.error, landed, 0.0, run.digest, run.ending.value, run.success, run.step_count)
        return pack_plain([schedule, *facts, encode_shared(replace(run, summary=None), self._number_of)])

    def _number_of(self, part: Any, plain: Callable[[Any], Any]) -> int:
        number = self._numbers.get(part)
        if number is None:
            self._part_count = number = self._part_count + 1
            self._new.append((number, part if isinstance(part, bytes) else pack_plain(plain(part))))
            if len(self._numbers) >= PARTS_MAX:
                self._numbers.clear()
            self._numbers[part] = number
        return number

    def _part(self, number: int, make: Callable[[Any], Any]) -> Any:
        part = self._parts.get((number, make))
        if part is None:
            [(data,)] = self._opened().rows("SELECT data FROM part WHERE id = ?", (number,))
            if len(self._parts) >= PARTS_MAX:
                self._parts.clear()
            part = self._parts[number, make] = make(unpack(data))
        return part

    @staticmethod
    def _place(log: int, schedule: Schedule) -> tuple[int, int]:
        bit = hash((log, schedule)) % FILTER_BITS
        return bit >> 3, 1 << (bit & 7)


def _key(log: int, schedule: Schedule) -> bytes:
    return blake2b(f"{log}\0{schedule}".encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()

"""Records that are written as they go, so that a process that is killed loses nothing; `codec.py` has the format."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import struct
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import IO, cast

from chaosagent.canonical import Plain, pack, unpack_untrusted
from chaosagent.errors import RecordError, StudyError, UsageError
from chaosagent.replays.codec import read_sections, refused_as_record, written_sections
from chaosagent.replays.record import FORMAT_VERSION, SUFFIX, ReplayRecord
from chaosagent.replays.sections import write_step
from chaosagent.replays.typed import ITEMS_MAX
from chaosagent.trace.step import Step

JOURNAL_MAGIC = b"CHAOSJNL"
FRAME_BYTES_MAX = 512 * 1024 * 1024
"""Bytes of one frame of a journal, at most: a step with its request and its answer."""

JOURNAL_BYTES_MAX = 8 * 1024 * 1024 * 1024
"""Bytes of a journal that is read, at most: what a session of the largest `--total-mb` writes, with room."""

BYTES_PER_ITEM = 8
"""Bytes of the frames for each item of lists and maps in them, beyond `ITEMS_MAX`; a step has more than ten.

Items take more memory than bytes, so reading a journal takes no more than some times its size.
"""

FILES_MAX = 100_000
"""Journals of one name in a folder, at most."""

_HEAD = struct.Struct(">8sH")
_FRAME = struct.Struct(">I4s16s")
_AT_END = ("trace", "trace_digest", "nominal")


class Journal:
    """A record that is written as it goes: a process that is killed loses nothing that it has appended.

    What is appended is handed to the system before `append` returns, so it outlives the process, but not the machine.

    Args:
        path: A file that is not there yet, or a folder, in which the file gets a name that is free.
        record: All that is known at the start; its trace has no steps, and says that the run was cut off.

    Attributes:
        path: Of the file.
        step_count: How many steps stand in it.

    Raises:
        UsageError: There is such a file already, or it cannot be written.
    """

    def __init__(self, path: Path, record: ReplayRecord) -> None:
        is_file = path.suffix == SUFFIX
        try:
            (path.parent if is_file else path).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(path, error) from error
        try:
            self.path, self._file = _created(iter([path]) if is_file else _names_in(path, record))
        except FileExistsError as error:
            raise UsageError(
                f"{path}: there is such a file already, and nothing is overwritten. Name another file, delete this "
                "one, or name a folder, in which each record has a file of its own."
            ) from error
        except OSError as error:
            raise _unwritable(path, error) from error
        self._digest, self._end = _HEAD.pack(JOURNAL_MAGIC, FORMAT_VERSION), 0
        self.step_count = 0
        try:
            self._write(self._digest)
            self._append(written_sections(record))
        except StudyError as error:
            self.discard()
            raise UsageError(str(error)) from error

    def append(self, step: Step) -> None:
        """Append a step.

        Raises:
            StudyError: It cannot be written, for example as the disk is full; the file is as it was before.
        """
        self._append(write_step(step))
        self.step_count += 1

    def finish(self, record: ReplayRecord) -> None:
        """Append what was known only at the end, and close the file.

        Args:
            record: The whole record.

        Raises:
            StudyError: It cannot be written; what was appended before can be read as a record that was cut off.
        """
        sections = written_sections(record)
        trace = cast("dict[str, object]", sections["trace"])
        self._append({**{name: sections[name] for name in _AT_END}, "trace": {**trace, "steps": []}})
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._failed(error) from error
        finally:
            self.close()

    def close(self) -> None:
        """Close the file; a second time this does nothing."""
        self._file.close()

    def discard(self) -> None:
        """Close and delete the file."""
        self.close()
        self.path.unlink(missing_ok=True)

    def _append(self, value: object) -> None:
        body = pack(value)
        if len(body) > FRAME_BYTES_MAX:
            raise StudyError(f"{self.path}: a step of {len(body)} bytes; at most {FRAME_BYTES_MAX} are allowed.")
        checked, digest = _digests(self._digest, len(body), body)
        self._write(_FRAME.pack(len(body), checked, digest) + body)
        self._digest = digest

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(self._end)  # readers stop at an incomplete frame
            raise self._failed(error) from error
        self._end += len(data)

    def _failed(self, error: OSError) -> StudyError:
        return StudyError(
            f"{self.path}: cannot be written: {error.strerror}. What was answered before stands in it, and nothing was "
            "answered since. Free some space, and start again with another file."
        )


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{path}: a record cannot be written there: {error.strerror}. Name a file *{SUFFIX}, or a folder, that can be "
        "written to."
    )


def _names_in(folder: Path, record: ReplayRecord) -> Iterator[Path]:
    name = record.file_name
    yield folder / name
    for number in range(2, FILES_MAX):
        yield folder / f"{name.removesuffix(SUFFIX)}-{number}{SUFFIX}"


def _created(names: Iterator[Path]) -> tuple[Path, IO[bytes]]:
    """Return the first file that is not there yet, made and open; only its owner may read it."""
    last: OSError | None = None
    for path in names:
        try:
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except FileExistsError as error:
            last = error
        else:
            return path, cast("IO[bytes]", os.fdopen(number, "wb", buffering=0))
    assert last is not None
    raise last


def _digests(before: bytes, length: int, body: bytes) -> tuple[bytes, bytes]:
    """Return the digests of a frame: of its length, and of all of it."""
    size = length.to_bytes(4, "big")
    checked = blake2b(before + size, digest_size=4).digest()
    hashed = blake2b(before + size, digest_size=16)
    hashed.update(body)
    return checked, hashed.digest()


def read_journal(file: IO[bytes], where: str) -> ReplayRecord:
    """Return the record in a journal, as far as it was written.

    Raises:
        RecordError: It is damaged, or of a newer version.
    """
    if os.fstat(file.fileno()).st_size > JOURNAL_BYTES_MAX:
        raise RecordError(f"{where} is too large: a journal has at most {JOURNAL_BYTES_MAX} bytes.")
    head = file.read(_HEAD.size)
    version = _HEAD.unpack(head)[1] if len(head) == _HEAD.size else FORMAT_VERSION
    if not 1 <= version <= FORMAT_VERSION:
        raise RecordError(
            f"{where} has format version {version}; this chaosagent reads 1 to {FORMAT_VERSION}. Update it with "
            "`pip install --upgrade chaosagent`."
        )
    with refused_as_record(where):
        frames = list(_frames(file, head))
        if not frames or not isinstance(frames[0], dict):
            raise RecordError("it ends before anything was recorded. Record the session again.")
        sections, last = frames[0], frames[-1]
        ended = len(frames) > 1 and isinstance(last, dict) and set(last) == set(_AT_END)
        if ended:
            sections |= cast("dict[str, Plain]", last)
        trace = sections.get("trace")
        if not isinstance(trace, dict):
            raise RecordError("its trace is missing; it was not made by chaosagent.")
        trace["steps"] = frames[1 : -1 if ended else None]
        record = read_sections(sections, version)
    return record if ended else dataclasses.replace(record, trace_digest=record.trace.digest)


def _frames(file: IO[bytes], head: bytes) -> Iterator[Plain]:
    """Yield what the frames of a journal hold, up to one that is incomplete.

    Args:
        file: Read up to the first frame.
        head: What stands before it.

    Raises:
        RecordError: One is damaged.
    """
    before, at, items_left = head, _HEAD.size, ITEMS_MAX
    while len(frame := file.read(_FRAME.size)) == _FRAME.size:
        length, checked, digest = _FRAME.unpack(frame)
        if length > FRAME_BYTES_MAX or checked != _digests(before, length, b"")[0]:
            raise RecordError(f"it is damaged at byte {at}: a checksum does not match. Fetch it again.")
        body = file.read(length)
        if len(body) < length:
            return
        if digest != _digests(before, length, body)[1]:
            raise RecordError(f"it is damaged at byte {at}: a checksum does not match. Fetch it again.")
        items_left += length // BYTES_PER_ITEM
        found = unpack_untrusted(body, items_max=min(items_left, ITEMS_MAX))
        items_left -= _items_in(found)
        yield found
        before, at = digest, at + _FRAME.size + length


def _items_in(value: Plain) -> int:
    """Return how many items the lists and maps of a value hold; each of these counts as one, too."""
    match value:
        case dict():
            return 1 + len(value) + sum(map(_items_in, value.values()))
        case list() | tuple():
            return 1 + len(value) + sum(map(_items_in, value))
    return 0

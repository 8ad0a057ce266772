"""Records as files: one record a file, found by folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from chaosagent.errors import RecordError, UsageError
from chaosagent.replays.codec import HEADER, RECORD_BYTES_MAX, decode, encode
from chaosagent.replays.journal import JOURNAL_MAGIC, read_journal
from chaosagent.replays.record import SUFFIX, ReplayRecord
from chaosagent.replays.review import SUFFIX as REVIEW_SUFFIX
from chaosagent.whole_file import write_whole

DRAFT_SUFFIX = ".writing"
"""Of a folder in which a suite is written; what a killed process has left in it is no record of the suite."""


def write_record(folder: Path, record: ReplayRecord) -> Path:
    """Write a record into a folder, whole or not at all, and return its path.

    Raises:
        RecordError: The record is larger than a record may be, or holds what could not be read again.
        UsageError: The folder cannot be written to.
    """
    data = encode(record)
    path = folder / record.file_name
    decode(data, str(path))  # what could not be read again must not be kept as if it could
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot write records there: {error.strerror}. Choose another --out.") from error
    try:
        write_whole(path, data, durable=True)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written: {error.strerror}. Free some space or choose another --out."
        ) from error
    return path


def read_record(path: Path) -> ReplayRecord:
    """Return the record in a file.

    Raises:
        RecordError: The file does not exist, cannot be read, or is no sound record.
    """
    try:
        if not (path.is_file() or path.is_dir()) and path.exists():  # to open a pipe may take for ever
            raise RecordError(f"{path} cannot be read: it is no file.")
        with path.open("rb") as file:
            if file.read(len(JOURNAL_MAGIC)) == JOURNAL_MAGIC:
                file.seek(0)
                return read_journal(file, str(path))
            file.seek(0)
            data = file.read(RECORD_BYTES_MAX + HEADER.size + 1)
    except FileNotFoundError as error:
        raise RecordError(f"{path} does not exist{_missed(path)}.") from error
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > RECORD_BYTES_MAX + HEADER.size:
        raise RecordError(f"{path} is too large: a record has at most {RECORD_BYTES_MAX} bytes.")
    return decode(data, str(path))


def _missed(path: Path) -> str:
    text = path.with_name(path.name.removesuffix(SUFFIX) + REVIEW_SUFFIX)
    return f", and {text.name} says what is expected of it: restore the record, or remove both" if text.exists() else ""


def find_records(paths: Iterable[Path]) -> list[Path]:
    """Return the records named, and those below the folders named, sorted and each once.

    A record of which only the text file is in a folder is returned as well: it is missed. A text file that is named, as
    by a glob of the shell, stands for the record beside it.

    Raises:
        UsageError: A path does not exist, a text file has no record beside it, or a folder has no record.
    """
    found: set[Path] = set()
    for path in paths:
        if path.is_dir():
            below = records_below(path)
            if not below:
                raise UsageError(f"{path} has no *{SUFFIX} file. `chaosagent search` writes them to OUT/replays.")
            found.update(below)
        elif path.name.endswith(REVIEW_SUFFIX):
            record = path.with_name(path.name.removesuffix(REVIEW_SUFFIX) + SUFFIX)
            if not record.exists():
                raise UsageError(f"{path} is the text file of {record}, which does not exist.")
            found.add(record)
        elif path.exists():
            found.add(path)
        else:
            raise UsageError(f"{path} does not exist. Name records (*{SUFFIX}) or folders that hold some.")
    return sorted(found)


def records_below(folder: Path) -> list[Path]:
    """Return the records in a folder and in those below it, hidden and linked ones among them, sorted.

    One of which only the text file is there is among them, too.
    """
    found: set[Path] = set()
    walked: set[tuple[int, int]] = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        status = os.stat(place)
        if (status.st_dev, status.st_ino) in walked:  # by a link to a folder above
            folders.clear()
            continue
        walked.add((status.st_dev, status.st_ino))
        folders[:] = [name for name in folders if not name.endswith(DRAFT_SUFFIX)]
        kinds = (SUFFIX, REVIEW_SUFFIX)
        stems = {name.removesuffix(kind) for kind in kinds for name in names if name.endswith(kind)}
        found.update(Path(place, f"{stem}{SUFFIX}") for stem in stems)
    return sorted(found)

"""What people have decided about a record, in a text file next to it: what they expect of it, and what they reviewed.

```toml
expect = "violated"
version = 2
record = "5d41402abc4b2a76b9719d911017c592"

[[accepted]]
what = "effects"
text = "today's run without faults no longer commits voucher(order=7)"
digest = "7d793037a0760186574b0282f2f435e7"
```

`record` is the digest of the recorded trace, so that the file counts for no other record of the same name. `expect` is
`"violated"` for a failure that is known and open, `"held"` for one that was fixed; it may be left out. Each `digest` is
of one reviewed difference between the record and today's target: another one has another digest, and is not accepted.
The file is untrusted input.
"""

from __future__ import annotations

import enum
from pathlib import Path
from typing import NamedTuple

from chaosagent.errors import RecordError
from chaosagent.replays.changes import Change
from chaosagent.replays.record import ReplayRecord
from chaosagent.whole_file import write_whole

SUFFIX = ".accepted.toml"
VERSION = 2
BYTES_MAX = 1_000_000
ENTRIES_MAX = 1_000
REMEDY = "Restore the file, or remove it and review the record again with `chaosagent replay --accept` or `--promote`."
HEAD = """\
# What was decided about the record beside this file, by `chaosagent suite`, and `chaosagent replay --promote` and
# `--accept`. Remove the file, or a part of it, and the record is reported as new again.
"""
EXPECTED = """\
# Above: what is expected, "violated" for a failure that is known and open, "held" for one that was fixed. Below: which
# record this is about, and which differences between it and the target somebody has reviewed.
"""
"""Keeps what --promote and --accept write apart, so that version control merges both."""


class Expectation(enum.Enum):
    """What is expected of a record."""

    VIOLATED = "violated"
    HELD = "held"


class Review(NamedTuple):
    """What was decided about a record.

    Attributes:
        changes: The differences that were reviewed.
        expect: What is expected of it; `None` where nobody has said.
    """

    changes: tuple[Change, ...] = ()
    expect: Expectation | None = None


def review_path(record_path: Path) -> Path:
    """Return the file that holds what was decided about a record."""
    return record_path.with_name(record_path.name.removesuffix(".replay") + SUFFIX)


def read_review(record_path: Path, record: ReplayRecord) -> Review:
    """Return what was decided about a record; nothing when there is no such file.

    Raises:
        RecordError: The file cannot be read, is no such file, or is of another record.
    """
    path = review_path(record_path)
    if not path.exists():
        return Review()
    if not path.is_file():
        raise RecordError(f"{path} cannot be read: it is no file. {REMEDY}")
    try:
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > BYTES_MAX:
        raise RecordError(f"{path} is too large: at most {BYTES_MAX} bytes are allowed. {REMEDY}")
    return _parsed(data, path, record)


def write_review(record_path: Path, record: ReplayRecord, review: Review) -> Path:
    """Write what was decided about a record next to it, whole or not at all, and return the path.

    Raises:
        RecordError: The file cannot be written.
    """
    path = review_path(record_path)
    expected = "" if review.expect is None else f"expect = {_quoted(review.expect.value)}\n"
    parts = [f"{HEAD}{expected}{EXPECTED}version = {VERSION}\nrecord = {_quoted(record.trace_digest)}\n"]
    for change in review.changes[:ENTRIES_MAX]:
        what, text, digest = map(_quoted, change)
        parts.append(f"\n[[accepted]]\nwhat = {what}\ntext = {text}\ndigest = {digest}\n")
    try:
        write_whole(path, "".join(parts).encode(), mode=0o644)  # it is for people to read, as a record's name is
    except OSError as error:
        raise RecordError(
            f"{path}: cannot be written: {error.strerror}. Copy the record to a folder of yours."
        ) from error
    return path


def _parsed(data: bytes, path: Path, record: ReplayRecord) -> Review:
    import tomllib  # most records have no such file, and a replay of one record is mostly imports

    if b"\n<<<<<<< " in data or data.startswith(b"<<<<<<< "):
        raise RecordError(f"{path} holds both sides of a merge (<<<<<<<). Keep what is right of each.")
    try:
        content = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError and TOMLDecodeError, which names line and column
        raise RecordError(f"{path} is no TOML text: {error}. {REMEDY}") from error
    if type(content.get("version")) is not int:
        raise RecordError(f"{path}: version must be a whole number, got {content.get('version')!r:.80}. {REMEDY}")
    if content["version"] > VERSION:
        raise RecordError(
            f"{path} has version {content['version']}; this chaosagent reads up to {VERSION}. Update it with "
            "`pip install --upgrade chaosagent`."
        )
    unknown = sorted(set(content) - {"version", "record", "expect", "accepted"})
    if unknown:
        raise RecordError(
            f"{path}: unknown key {unknown[0]!r:.80}; known are accepted, expect, record and version. {REMEDY}"
        )
    if content.get("record") != record.trace_digest:
        raise RecordError(
            f"{path}: record is {content.get('record')!r:.80}, and the record beside it is {record.trace_digest}; what "
            f"was reviewed of another record does not count. {REMEDY}"
        )
    entries = content.get("accepted", [])
    if not isinstance(entries, list) or len(entries) > ENTRIES_MAX:
        raise RecordError(f"{path}: accepted must be a list of at most {ENTRIES_MAX} tables. {REMEDY}")
    expect, allowed = content.get("expect"), [one.value for one in Expectation]
    if expect is not None and expect not in allowed:
        raise RecordError(f"{path}: expect is {expect!r:.80}; it must be {' or '.join(map(repr, allowed))}. {REMEDY}")
    changes = tuple(_change_in(entry, f"{path}: accepted[{index}]") for index, entry in enumerate(entries))
    return Review(changes, None if expect is None else Expectation(expect))


def _change_in(entry: object, where: str) -> Change:
    keys = {"what", "text", "digest"}
    if not isinstance(entry, dict) or set(entry) != keys or not all(isinstance(value, str) for value in entry.values()):
        raise RecordError(f"{where} is {entry!r:.80}; it must have the texts digest, text and what. {REMEDY}")
    return Change(entry["what"], entry["text"], entry["digest"])


def _quoted(text: str) -> str:
    """Return a text as TOML has it."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    if character in '"\\':
        return f"\\{character}"
    if 0xD800 <= code < 0xE000:  # TOML has no lone surrogates
        return "�"
    return f"\\u{code:04x}" if code < 0x20 or code == 0x7F else character

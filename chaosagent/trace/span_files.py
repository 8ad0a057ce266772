"""Spans out of files of any size, put together by trace.

A file holds one JSON value a line, or values over several lines as `indent` writes them. It is read line by line; the
spans of a trace are kept until the span of the whole run has ended and `LATE_SPANS_MAX` further ones were read, since
they may be spread over lines. More than `KEPT_BYTES_MAX` are never kept: then the trace that began first is handed out
as it is, and its end is not known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

from chaosagent.errors import UsageError
from chaosagent.trace.conversations import conversation_of, spans_of_conversation
from chaosagent.trace.otlp import SourcePlace, Span, spans_in

VALUE_BYTES_MAX = 64 * 1024 * 1024
TRACE_SPANS_MAX = 100_000
LATE_SPANS_MAX = 10_000
KEPT_BYTES_MAX = 64 * 1024 * 1024
CLOSED_MAX = 200_000
BROKEN_SHOWN_MAX = 20


class SpanGroup(NamedTuple):
    """The spans of one trace.

    Attributes:
        trace_id: Of all of them.
        spans: In the order in which they were read.
        cut: Why there may be more of them; empty when all were read.
    """

    trace_id: str
    spans: tuple[Span, ...]
    cut: str = ""


@dataclass(slots=True)
class Reading:
    """What was met while files were read.

    Attributes:
        spans: How many were read.
        broken: What could not be read, with its place and the remedy; the first ones.
        broken_count: How many there were.
        late: Spans of traces that had been handed out already.
    """

    spans: int = 0
    broken: list[str] = field(default_factory=list)
    broken_count: int = 0
    late: int = 0

    def note(self, error: UsageError) -> None:
        """Take note of something that could not be read."""
        self.broken_count += 1
        if len(self.broken) < BROKEN_SHOWN_MAX:
            self.broken.append(str(error))


@dataclass(slots=True)
class _Open:
    """A trace of which spans may come."""

    spans: list[Span] = field(default_factory=list)
    size: int = 0
    ended_at: int = -1  # spans that had been read when the last root span came


class SpanGroups:
    """Traces put together from spans that come in any order.

    Args:
        reading: Is told of spans that came too late.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._open: dict[str, _Open] = {}
        self._closing: dict[str, None] = {}  # traces whose root has ended, oldest first
        self._closed: dict[str, None] = {}
        self._size = 0

    def add(self, spans: Iterable[Span], size: int) -> None:
        """Take the spans of one value of so many bytes."""
        listed = list(spans)
        share = size // max(1, len(listed))
        for span in listed:
            self._reading.spans += 1
            if span.trace_id in self._closed:
                self._reading.late += 1
                continue
            found = self._open.get(span.trace_id)
            if found is None:
                found = self._open[span.trace_id] = _Open()
            found.spans.append(span)
            found.size += share
            self._size += share
            if span.local_root and span.end:
                found.ended_at = self._reading.spans
                self._closing.pop(span.trace_id, None)
                self._closing[span.trace_id] = None

    def complete(self) -> Iterator[SpanGroup]:
        """Yield the traces of which no spans are expected, and those for which there is no room."""
        while self._closing:
            oldest = next(iter(self._closing))
            if self._reading.spans - self._open[oldest].ended_at < LATE_SPANS_MAX and self._size <= KEPT_BYTES_MAX:
                break
            yield self._hand_out(oldest)
        while self._size > KEPT_BYTES_MAX:
            yield self._hand_out(next(iter(self._open)), "too much was read before its end")

    def rest(self) -> Iterator[SpanGroup]:
        """Yield all others, as the files are at their end."""
        while self._open:
            yield self._hand_out(next(iter(self._open)))

    def _hand_out(self, trace_id: str, cut: str = "") -> SpanGroup:
        found = self._open.pop(trace_id)
        self._closing.pop(trace_id, None)
        self._size -= found.size
        self._closed[trace_id] = None
        if len(self._closed) > CLOSED_MAX:
            del self._closed[next(iter(self._closed))]
        spans = tuple(found.spans)
        if len(spans) > TRACE_SPANS_MAX:
            spans, cut = spans[:TRACE_SPANS_MAX], f"it has more than {TRACE_SPANS_MAX} spans"
        return SpanGroup(trace_id, spans, cut)


def read_groups(paths: Iterable[Path], reading: Reading, *, skip_broken: bool = False) -> Iterator[SpanGroup]:
    """Yield the traces in some files, each as soon as no more of its spans are expected.

    Args:
        paths: Of the files.
        reading: Is told what was met.
        skip_broken: Take note of what cannot be read, and go on.

    Raises:
        UsageError: A file cannot be read, or something in it is broken and not to be skipped.
    """
    groups = SpanGroups(reading)
    for path in paths:
        for value in values_in(path):
            try:
                if isinstance(value, UsageError):
                    raise value
                groups.add(_spans_of(value.read(), value.place), len(value.text))
            except UsageError as error:
                if not skip_broken:
                    raise
                reading.note(error)
            yield from groups.complete()
    yield from groups.rest()


def _spans_of(value: object, place: SourcePlace) -> Iterator[Span]:
    """Yield the spans of one JSON value, also of recorded conversations.

    Raises:
        UsageError: It holds neither.
    """
    whole = conversation_of(value)
    listed = value if whole is None and isinstance(value, list) else [value]
    for number, one in enumerate(listed):
        found = conversation_of(one)
        if found is None:
            yield from spans_in(one, place)
        else:
            yield from spans_of_conversation(*found, place, number)


class JsonText(NamedTuple):
    """One JSON value of a file."""

    text: bytes
    place: SourcePlace

    def read(self) -> object:
        """Return the value.

        Raises:
            UsageError: It is not valid JSON.
        """
        try:
            return json.loads(self.text)
        except RecursionError as error:
            raise _broken(self.place, "nests too deeply") from error
        except ValueError as error:  # of JSON, of UTF-8, and of numbers with too many digits
            raise _broken(self.place, f"is not valid JSON: {error}") from error


def values_in(path: Path) -> Iterator[JsonText | UsageError]:
    """Yield the JSON values of a file, and an error for each that is too long.

    Raises:
        UsageError: The file cannot be read.
    """
    try:
        with path.open("rb") as file:
            yield from _values(file, str(path))
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}. Name files of spans or conversations (*.jsonl, *.json)."
        ) from error


def _values(file: BinaryIO, name: str) -> Iterator[JsonText | UsageError]:
    parts: list[bytes] = []  # the lines of a value that goes over several
    begun, size = 0, 0
    for number, line in enumerate(iter(lambda: file.readline(VALUE_BYTES_MAX + 1), b""), 1):
        stripped = line.strip()
        if number == 1:
            stripped = stripped.removeprefix(b"\xef\xbb\xbf")
        if len(line) > VALUE_BYTES_MAX:
            _skip_line(file, line)
            yield _broken(SourcePlace(name, number), f"has more than {VALUE_BYTES_MAX} bytes in one line")
        elif parts and not _begins_anew(line):
            parts.append(line)
            size += len(line)
            if size > VALUE_BYTES_MAX:
                yield _broken(SourcePlace(name, begun), f"is a value of more than {VALUE_BYTES_MAX} bytes")
                parts = []
            elif line[:1] in (b"}", b"]"):
                yield JsonText(b"".join(parts).rstrip().rstrip(b","), SourcePlace(name, begun))
                parts = []
        else:
            if parts:
                yield JsonText(b"".join(parts), SourcePlace(name, begun))  # it is broken off; reading it says so
                parts = []
            if stripped[-1:] in (b"{", b"[") and stripped[:1] in (b"{", b"["):
                parts, begun, size = [line], number, len(line)
            elif stripped:
                yield JsonText(stripped, SourcePlace(name, number))
    if parts:
        yield JsonText(b"".join(parts), SourcePlace(name, begun))


def _begins_anew(line: bytes) -> bool:
    """Whether a line inside a value over several lines is a whole value: the one before was broken off."""
    return line[:1] == b"{" and line.rstrip()[-1:] == b"}"


def _skip_line(file: BinaryIO, line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = file.readline(VALUE_BYTES_MAX)


def _broken(place: SourcePlace, what: str) -> UsageError:
    return UsageError(f"{place}: {what}. Fix or remove the line, or leave it out with --skip-broken.")

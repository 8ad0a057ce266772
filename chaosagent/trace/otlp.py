"""Spans as OpenTelemetry writes them in JSON: OTLP, and the objects of the Python console exporter.

Both are untrusted input: every value is taken with its type or refused, and nothing nests deeper than a trace may.
What a span says besides what `chaosagent.trace.genai_names` lists is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple, NoReturn, TypeAlias

from chaosagent.canonical import DEPTH_MAX, Plain, plain
from chaosagent.errors import UsageError
from chaosagent.trace.genai_names import ALIASES, EXCEPTION_EVENT, is_kept
from chaosagent.trace.tagged import unbase64

Value: TypeAlias = str | bool | float
"""What an attribute that is written can be."""
ERROR_STATUS = 2
LEVELS_AROUND = 8
"""Levels of a step that may be around what a span holds."""
NESTING_MAX = DEPTH_MAX - LEVELS_AROUND
_REMOTE_PARENT = 0x300  # the flags «it is known whether the parent is remote» and «it is»
_HEXADECIMAL = re.compile(r"(?:0x)?([0-9a-fA-F]{16}|[0-9a-fA-F]{32})")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KEPT_MAX = 10_000
_kept: dict[str, tuple[bool, str]] = {}


class SourcePlace(NamedTuple):
    """Where something stands: a file, and a line from 1; line 0 is the whole file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class Span(NamedTuple):
    """One span, reduced to what can be read of an agent.

    Attributes:
        trace_id: Of the trace it belongs to.
        span_id: Unique in the trace.
        parent_id: Of the span around it, empty when there is none.
        name: Such as `"execute_tool refund"`.
        start: Nanoseconds since 1970.
        end: The same; 0 when the span was not ended.
        failed: Its status is an error.
        message: What its status says.
        attributes: Those that are read, under the names of the conventions.
        local_root: No span of the same process is around it.
        place: Where it was read.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start: int
    end: int
    failed: bool
    message: str
    attributes: Mapping[str, Plain]
    local_root: bool
    place: SourcePlace


def spans_in(value: object, place: SourcePlace) -> Iterator[Span]:
    """Yield the spans of one JSON value; none of one that holds logs or metrics.

    Args:
        value: An OTLP object, a span of the console exporter, or a list of them.
        place: Where it was read.

    Raises:
        UsageError: It is something else, or a span in it is broken.
    """
    if isinstance(value, list):
        for item in value:
            yield from spans_in(item, place)
    elif not isinstance(value, dict):
        _refuse(place, "an object with spans", value)
    elif "resourceSpans" in value:
        yield from _of_otlp(value["resourceSpans"], place)
    elif "context" in value and "name" in value:
        yield _of_console(value, place)
    elif not ("resourceLogs" in value or "resourceMetrics" in value):
        _refuse(place, "OTLP with resourceSpans, or a span of the console exporter", sorted(value)[:5])


def _of_otlp(resources: object, place: SourcePlace) -> Iterator[Span]:
    for resource in _objects(resources, "resourceSpans", place):
        scopes = resource.get("scopeSpans", resource.get("instrumentationLibrarySpans"))
        for scope in _objects(scopes, "scopeSpans", place):
            for span in _objects(scope.get("spans"), "spans", place):
                yield _otlp_span(span, place)


def _otlp_span(span: dict[str, object], place: SourcePlace) -> Span:
    status = span.get("status") or {}
    if not isinstance(status, dict):
        _refuse(place, "a status that is an object", status)
    pairs = _pairs(span.get("attributes"), place)
    for event in _objects(span.get("events"), "events", place):
        pairs += _event_pairs(event.get("name"), _pairs(event.get("attributes"), place))
    parent, flags = _id(span.get("parentSpanId"), "parentSpanId", place), span.get("flags")
    remote = isinstance(flags, int) and flags & _REMOTE_PARENT == _REMOTE_PARENT
    return Span(
        _needed_id(span, "traceId", place),
        _needed_id(span, "spanId", place),
        parent,
        _text(span.get("name"), "name", place),
        _nanoseconds(span.get("startTimeUnixNano"), "startTimeUnixNano", place),
        _nanoseconds(span.get("endTimeUnixNano"), "endTimeUnixNano", place),
        status.get("code") in (ERROR_STATUS, "STATUS_CODE_ERROR"),
        _text(status.get("message"), "status.message", place),
        _chosen(pairs),
        not parent or remote,
        place,
    )


def _of_console(span: dict[str, object], place: SourcePlace) -> Span:
    context, status = span.get("context"), span.get("status") or {}
    if not isinstance(context, dict) or not isinstance(status, dict):
        _refuse(place, "a context and a status that are objects", [context, status])
    pairs = _plain_pairs(span.get("attributes"), place)
    for event in _objects(span.get("events"), "events", place):
        pairs += _event_pairs(event.get("name"), _plain_pairs(event.get("attributes"), place))
    parent = _id(span.get("parent_id"), "parent_id", place)
    return Span(
        _needed_id(context, "trace_id", place),
        _needed_id(context, "span_id", place),
        parent,
        _text(span.get("name"), "name", place),
        _moment(span.get("start_time"), "start_time", place),
        _moment(span.get("end_time"), "end_time", place),
        status.get("status_code") == "ERROR",
        _text(status.get("description"), "status.description", place),
        _chosen(pairs),
        not parent,
        place,
    )


def _event_pairs(name: object, pairs: list[tuple[str, Plain]]) -> list[tuple[str, Plain]]:
    """Return what an event says of its span: the exception, or messages that older conventions put there."""
    if name == EXCEPTION_EVENT:
        return pairs
    return [(key, value) for key, value in pairs if key in ALIASES or key.startswith("gen_ai.")]


def _chosen(pairs: Iterable[tuple[str, Plain]]) -> dict[str, Plain]:
    """Return the attributes that are read; the first of one name, and a right name before an alias."""
    chosen: dict[str, Plain] = {}
    aliased: dict[str, Plain] = {}
    for key, value in pairs:
        known = _kept.get(key)
        if known is None:
            known = _learn(key)
        kept, alias = known
        if alias:
            aliased.setdefault(alias, value)
        elif kept:
            chosen.setdefault(key, value)
    for key, value in aliased.items():
        chosen.setdefault(key, value)
    return chosen


def _learn(key: str) -> tuple[bool, str]:
    if len(_kept) >= _KEPT_MAX:
        _kept.clear()
    found = _kept[key] = is_kept(key), ALIASES.get(key, "")
    return found


def _pairs(attributes: object, place: SourcePlace) -> list[tuple[str, Plain]]:
    """Return OTLP's attributes; the values of those that nobody reads are not looked at."""
    found: list[tuple[str, Plain]] = []
    for attribute in _objects(attributes, "attributes", place):
        key = attribute.get("key")
        if not isinstance(key, str):
            _refuse(place, "an attribute with a key", key)
        kept, alias = _kept.get(key) or _learn(key)
        if kept or alias:
            found.append((key, _any_value(attribute.get("value"), place, 0)))
    return found


def _plain_pairs(attributes: object, place: SourcePlace) -> list[tuple[str, Plain]]:
    if attributes is None:
        return []
    if not isinstance(attributes, dict):
        _refuse(place, "attributes that are an object", attributes)
    try:
        return [(key, plain(value, LEVELS_AROUND)) for key, value in attributes.items()]
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from error


def _any_value(value: object, place: SourcePlace, depth: int) -> Plain:
    """Return the plain data of an `AnyValue`."""
    if value is None:
        return None
    if not isinstance(value, dict) or len(value) > 1:
        _refuse(place, "an attribute value with one kind of value", value)
    for kind, inside in value.items():
        if kind == "stringValue" and isinstance(inside, str):
            return inside
        if kind == "boolValue" and isinstance(inside, bool):
            return inside
        if kind == "intValue":
            return _whole(inside, kind, place)
        if kind == "doubleValue":
            return _double(inside, place)
        if depth < NESTING_MAX and kind == "arrayValue" and isinstance(inside, dict):
            return [_any_value(item, place, depth + 1) for item in _objects(inside.get("values"), kind, place)]
        if depth < NESTING_MAX and kind == "kvlistValue" and isinstance(inside, dict):
            return {
                _text(item.get("key"), "key", place): _any_value(item.get("value"), place, depth + 1)
                for item in _objects(inside.get("values"), kind, place)
            }
        if kind == "bytesValue" and isinstance(inside, str):
            try:
                return unbase64(inside)
            except ValueError:
                _refuse(place, "a bytesValue in base64", inside)
        _refuse(place, f"an attribute value of at most {NESTING_MAX} levels and a kind that OTLP knows", value)
    return None


def _whole(value: object, what: str, place: SourcePlace) -> int:
    """Return a whole number; OTLP writes those of 64 bits as texts."""
    if isinstance(value, str) and len(value) <= 20:
        try:
            return int(value)
        except ValueError:
            pass
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**64:
        return value
    return _refuse(place, f"{what} that is a whole number of 64 bits", value)


def _double(value: object, place: SourcePlace) -> float:
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    return _refuse(place, "a doubleValue that is a number", value)


def _nanoseconds(value: object, what: str, place: SourcePlace) -> int:
    return 0 if value is None else _whole(value, what, place)


def _moment(value: object, what: str, place: SourcePlace) -> int:
    """Return nanoseconds since 1970 of a time as the console exporter writes it."""
    if value is None:
        return 0
    if isinstance(value, str):
        try:
            past = datetime.fromisoformat(value).astimezone(UTC) - _EPOCH
        except (ValueError, OverflowError):
            pass
        else:
            return (past.days * 86_400 + past.seconds) * 1_000_000_000 + past.microseconds * 1_000
    return _refuse(place, f"{what} that is a time", value)


def _needed_id(holder: dict[str, object], key: str, place: SourcePlace) -> str:
    found = _id(holder.get(key), key, place)
    return found or _refuse(place, f"a span with {key}", holder.get("name"))


def _id(value: object, what: str, place: SourcePlace) -> str:
    """Return an id: hexadecimal in small letters, or, as some exporters write it, whatever else it is."""
    text = _text(value, what, place)
    if len(text) > 64:
        _refuse(place, f"{what} of at most 64 characters", text)
    match = _HEXADECIMAL.fullmatch(text)
    if match is None:
        return text
    return match[1].lower() if match[1].strip("0") else ""  # an id of zeros is none


def _text(value: object, what: str, place: SourcePlace) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _refuse(place, f"{what} that is a text", value)


def _objects(value: object, what: str, place: SourcePlace) -> list[dict[str, object]]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(type(item) is dict for item in value):
        _refuse(place, f"{what} that are a list of objects", value)
    return value


def _refuse(place: SourcePlace, expected: str, value: object) -> NoReturn:
    raise UsageError(
        f"{place}: expected {expected}, found {value!r:.80}. Export it again, remove it, or leave it out with "
        "--skip-broken."
    )


def any_value(value: Value) -> dict[str, object]:
    """Return a text, flag or finite number of at most 64 bits as OTLP's `AnyValue`.

    Lone surrogates, which JSON in UTF-8 cannot have, become escapes.
    """
    if isinstance(value, str):
        return {"stringValue": value.encode("utf-8", "backslashreplace").decode()}
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"doubleValue": value}

"""Server-sent events, as model APIs stream their answers: written, and read back into data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from chaosagent.canonical import Plain
from chaosagent.proxy.parse_json import UncrossableError, parse_json

PIECE = 24
"""Characters of text in one event; a model's own pieces are of about this size or smaller."""

DONE = "[DONE]"
"""What stands in the last event of OpenAI's older API instead of data."""


class Event(NamedTuple):
    """One event of a stream.

    Attributes:
        name: Empty where the API does not name its events.
        data: A JSON object; empty for the mark at the end of a stream.
    """

    name: str
    data: Mapping[str, Any]


class BrokenStreamError(Exception):
    """A stream that breaks off, or holds what is no JSON object; the text says which."""


def written_event(event: Event) -> bytes:
    """Return an event as it is sent."""
    named = f"event: {event.name}\n" if event.name else ""
    data = json.dumps(event.data, ensure_ascii=False) if event.data else DONE
    return f"{named}data: {data}\n\n".encode("utf-8", "backslashreplace")


def read_events(text: str) -> Iterator[Event]:
    """Yield the events of a stream, with the mark at its end.

    Raises:
        BrokenStreamError: An event is no JSON object.
    """
    for block in text.replace("\r\n", "\n").split("\n\n"):
        name, data = "", []
        for line in block.split("\n"):
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                name = value
            elif field == "data":
                data.append(value)
        if data:
            yield Event(name, _object("\n".join(data)))


def split_text(text: str) -> Iterator[str]:
    """Yield a text in pieces."""
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def end_events(events: Iterable[Event], last: Sequence[str]) -> list[Event]:
    """Return the events of a stream that has come to its end.

    Args:
        events: Of the stream.
        last: Types of event of which one must be there; none for a stream that ends with its mark.

    Raises:
        BrokenStreamError: It has not come to its end, or an event of it says that it failed.
    """
    listed = list(events)
    for event in listed:
        failure = event.data.get("error") if event.name in ("", "error") else None
        if isinstance(failure, Mapping):
            raise BrokenStreamError(f"its stream says {str(failure.get('message', failure))[:300]}")
    if not any(event.data.get("type") in last if last else not event.data for event in listed):
        raise BrokenStreamError(f"its stream broke off after {len(listed)} events")
    return [event for event in listed if event.data]


def _object(text: str) -> Mapping[str, Plain]:
    if text.strip() == DONE:
        return {}
    try:
        found = parse_json(text)
    except UncrossableError as error:
        raise BrokenStreamError(f"an event of its stream cannot cross: {error}") from error
    except ValueError as error:
        raise BrokenStreamError(f"an event of its stream is no JSON: {text[:80]!r}") from error
    if not isinstance(found, dict):
        raise BrokenStreamError(f"an event of its stream is no JSON object: {text[:80]!r}")
    return found

"""What the answers of tools are read as; whatever has another shape is unreadable."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from chaosagent.canonical import Plain

T = TypeVar("T")


class Unreadable(Exception):
    """An answer is not of the shape that it should have."""


class Message(NamedTuple):
    """Of Slack."""

    sender: str
    body: str


class Transaction(NamedTuple):
    """Of an account; the date is YYYY-MM-DD."""

    id: int
    sender: str
    recipient: str
    amount: float
    subject: str
    date: str
    recurring: bool


class Email(NamedTuple):
    """In a mailbox; the time is YYYY-MM-DD HH:MM."""

    id: str
    sender: str
    subject: str
    body: str
    timestamp: str


class Event(NamedTuple):
    """In a calendar; times are YYYY-MM-DD HH:MM."""

    id: str
    title: str
    description: str
    start: str
    end: str
    location: str
    participants: tuple[str, ...]


class File(NamedTuple):
    """On a drive; the size is in bytes."""

    id: str
    filename: str
    content: str
    size: int
    shared_with: tuple[str, ...]


def text(answer: Plain) -> str:
    """Read a text."""
    if not isinstance(answer, str) or not answer or answer == "404 Not Found":
        raise Unreadable("no text")
    return answer


def number(answer: Plain) -> float:
    """Read a number."""
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        raise Unreadable("no number")
    return float(answer)


def names(answer: Plain) -> tuple[str, ...]:
    """Read a list of names."""
    return tuple(text(name) for name in _list(answer))


def messages(answer: Plain) -> tuple[Message, ...]:
    """Read messages of Slack."""
    return tuple(Message(_field(one, "sender", str), _field(one, "body", str)) for one in _list(answer))


def transactions(answer: Plain) -> tuple[Transaction, ...]:
    """Read transactions."""
    return tuple(
        Transaction(
            id=_field(one, "id", int),
            sender=_field(one, "sender", str),
            recipient=_field(one, "recipient", str),
            amount=number(_field(one, "amount", object)),  # type: ignore[arg-type]  # number() checks it
            subject=_field(one, "subject", str),
            date=_field(one, "date", str),
            recurring=_field(one, "recurring", bool),
        )
        for one in _list(answer)
    )


def email(answer: Plain) -> Email:
    """Read an e-mail."""
    return Email(
        id=_field(answer, "id_", str),
        sender=_field(answer, "sender", str),
        subject=_field(answer, "subject", str),
        body=_field(answer, "body", str),
        timestamp=_minute(_field(answer, "timestamp", str)),
    )


def emails(answer: Plain) -> tuple[Email, ...]:
    """Read e-mails."""
    return tuple(email(one) for one in _list(answer))


def event(answer: Plain) -> Event:
    """Read an event of a calendar."""
    location = answer.get("location") if isinstance(answer, Mapping) else None
    return Event(
        id=_field(answer, "id_", str),
        title=_field(answer, "title", str),
        description=_field(answer, "description", str),
        start=_minute(_field(answer, "start_time", str)),
        end=_minute(_field(answer, "end_time", str)),
        location=location if isinstance(location, str) else "",
        participants=names(_field(answer, "participants", list)),
    )


def events(answer: Plain) -> tuple[Event, ...]:
    """Read events of a calendar, in the order of their times."""
    return tuple(sorted((event(one) for one in _list(answer)), key=lambda one: (one.start, one.id)))


def files(answer: Plain) -> tuple[File, ...]:
    """Read files."""
    return tuple(file(one) for one in _list(answer))


def file(answer: Plain) -> File:
    """Read a file."""
    shared: Mapping[str, Plain] = _field(answer, "shared_with", dict)
    return File(
        id=_field(answer, "id_", str),
        filename=_field(answer, "filename", str),
        content=_field(answer, "content", str),
        size=_field(answer, "size", int),
        shared_with=tuple(sorted(shared)),
    )


def contacts(answer: Plain) -> Mapping[str, str]:
    """Read contacts: the address of each name."""
    return {_field(one, "name", str): _field(one, "email", str) for one in _list(answer)}


def people(answer: Plain) -> Mapping[str, str]:
    """Read what is known of somebody: a text for each field."""
    if not isinstance(answer, Mapping) or not answer:
        raise Unreadable("no fields")
    return {name: text(value) for name, value in answer.items()}


def listed(answer: Plain) -> tuple[str, ...]:
    """Read a list that is written as a text: a heading with a colon, then one name a line."""
    head, colon, rest = text(answer).partition(": ")
    found = tuple(line.strip() for line in rest.splitlines() if line.strip())
    if not colon or "\n" in head or not found:
        raise Unreadable("no list")
    return found


def of(name: str, shape: Callable[[Plain], T]) -> Callable[[Plain], T]:
    """Return how to read an answer that says something of one place: its name, and what is said."""

    def read(answer: Plain) -> T:
        if not isinstance(answer, Mapping) or name not in answer:
            raise Unreadable(f"nothing about {name}")
        return shape(answer[name])

    return read


def rating(answer: Plain) -> float:
    """Read a rating, and pass over the reviews behind it."""
    found = re.match(r"Rating: (\d(?:\.\d+)?)\n", text(answer))
    if found is None:
        raise Unreadable("no rating")
    return float(found[1])


def price_range(answer: Plain) -> tuple[float, float]:
    """Read the lowest and the highest price."""
    found = re.fullmatch(r"Price range: (\d+(?:\.\d+)?) - (\d+(?:\.\d+)?)", text(answer))
    if found is None:
        raise Unreadable("no price range")
    return float(found[1]), float(found[2])


def _list(answer: Plain) -> list[Plain]:
    if not isinstance(answer, list | tuple):
        raise Unreadable("no list")
    return list(answer)


def _field(record: Plain, name: str, kind: type[T]) -> T:
    value = record.get(name) if isinstance(record, Mapping) else None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise Unreadable(f"no {name}")
    return value


def _minute(time: str) -> str:
    """Return a time of AgentDojo's without its seconds."""
    found = re.match(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)", time)
    if found is None:
        raise Unreadable(f"no time: {time[:20]}")
    return f"{found[1]} {found[2]}"

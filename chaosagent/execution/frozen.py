"""Frozen answers: what an interface answered once by chance, it answers again at the same place to the same request.

With its answers frozen a target with a live model is deterministic: a search tells what a fault changed from what
chance did, and pays only for answers that nobody has asked for yet.
"""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from chaosagent.canonical import Plain, pack, plain
from chaosagent.errors import StudyError, UsageError
from chaosagent.execution.acting import INSIDE
from chaosagent.execution.failures import exception_of, failure_of
from chaosagent.faults.crossing import Request, Response
from chaosagent.faults.dry import pack_request, pack_response, unpack_response

if TYPE_CHECKING:
    from chaosagent.execution.doors import LiveDoor

KEY_BYTES = 32
BUSY_SECONDS = 60.0


class Answers(Protocol):
    """Keeps answers by key; what was kept first stays."""

    def get(self, key: bytes) -> bytes | None:
        """Return the answer that was kept under a key, `None` when there is none."""
        ...

    def keep(self, key: bytes, answer: bytes) -> None:
        """Keep an answer, unless one is kept already; it is safe on disk, if ever, when this returns."""
        ...


class AnswersInMemory:
    """Answers of one process."""

    def __init__(self) -> None:
        self._answers: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: bytes) -> bytes | None:
        return self._answers.get(key)

    def keep(self, key: bytes, answer: bytes) -> None:
        self._answers.setdefault(key, answer)


class AnswersOnDisk:
    """Answers in an SQLite file that several processes of a machine share.

    Args:
        path: Of the file; made when the first answer is kept.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._seen: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        known = self._seen.get(key)
        if known is None and (self._connection is not None or self._path.exists()):
            row = self._execute("SELECT answer FROM answer WHERE key = ?", (key,)).fetchone()
            if row is not None:
                known = self._seen[key] = row[0]
        return known

    def keep(self, key: bytes, answer: bytes) -> None:
        self._execute("INSERT OR IGNORE INTO answer VALUES (?, ?)", (key, answer))

    def _execute(self, statement: str, values: tuple[bytes, ...]) -> sqlite3.Cursor:
        try:
            if self._connection is None:
                self._connection = self._opened()
            return self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise StudyError(f"{self._path}: frozen answers cannot be kept there: {error}.") from error

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        weakref.finalize(self, connection.close)  # whoever has the answers does not say when they are needed no more
        # Several workers may come first at once; changing to WAL would not wait for the others. What the system has
        # been handed outlives the process, which is all that is asked.
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS answer (key BLOB PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID"
        )
        connection.execute("COMMIT")
        return connection


class FrozenAnswer(NamedTuple):
    """What an interface answered once.

    Attributes:
        place: Of the call, as text.
        request: Its canonical bytes, as the world got it.
        response: Canonical bytes of the answer or failure.
    """

    place: str
    request: bytes
    response: bytes


class Frozen:
    """The frozen answers of one run.

    Args:
        answers: Where they are kept.
        scope: What else an answer may depend on: configuration, task and seed.

    Attributes:
        used: What was answered from there, in order.
        drawn: How many answers were not there and were drawn; then the run has to be made again, as it may have gone
            otherwise than one in which nothing is drawn.
    """

    def __init__(self, answers: Answers, scope: bytes) -> None:
        self._answers, self._scope = answers, scope
        self.used: list[FrozenAnswer] = []
        self.drawn = 0

    def around(self, door: LiveDoor) -> Callable[[str, Mapping[str, Any]], Any]:
        """Return how the operations of a door are called when those that are pure answer from here."""
        call, errors = door.call, door.options.errors

        def answer(operation: str, arguments: Mapping[str, Any]) -> Any:
            if not door.is_pure(operation):
                return call(operation, arguments)
            place, request = str(INSIDE.get()), pack_request(Request(operation, arguments))
            known = self._answers.get(key_of(self._scope, place, request))
            if known is not None:
                self.used.append(FrozenAnswer(place, request, known))
                return _answered(known, errors)
            try:
                value = call(operation, arguments)
            except Exception as error:
                self._keep(place, request, Response(None, failure_of(error)))
                raise
            if hasattr(value, "__await__"):
                return self._later(place, request, value)
            self._keep_value(place, request, value)
            return value

        return answer

    async def _later(self, place: str, request: bytes, value: Awaitable[Any]) -> Any:
        try:
            answer = await value
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._keep(place, request, Response(None, failure_of(error)))
            raise
        self._keep_value(place, request, answer)
        return answer

    def _keep_value(self, place: str, request: bytes, value: object) -> None:
        try:
            answer: Plain = plain(value)
        except UsageError:
            return  # the crossing says so itself, and better
        self._keep(place, request, Response(answer, None))

    def _keep(self, place: str, request: bytes, response: Response) -> None:
        self.drawn += 1
        self._answers.keep(key_of(self._scope, place, request), pack_response(response))


def key_of(scope: bytes, place: str, request: bytes) -> bytes:
    """Return the key of an answer."""
    return hashlib.blake2b(pack([scope, place, request]), digest_size=KEY_BYTES).digest()


def asked_of(used: Iterable[FrozenAnswer]) -> bytes:
    """Return the digest of what was asked of pure interfaces, whatever they answered; empty when nothing was."""
    asked = [[known.place, known.request] for known in used]
    return hashlib.blake2b(pack(asked), digest_size=KEY_BYTES).digest() if asked else b""


def answers_of(used: Iterable[FrozenAnswer], scope: bytes) -> AnswersInMemory:
    """Return answers that were used before, to be used again."""
    answers = AnswersInMemory()
    for known in used:
        answers.keep(key_of(scope, known.place, known.request), known.response)
    return answers


def _answered(known: bytes, errors: Mapping[str, type[Exception]]) -> Plain:
    response = unpack_response(known)
    if response.failure is not None:
        raise exception_of(response.failure, errors)
    return response.value

"""Frozen answers: what an interface answered once by chance, it answers again at the same place to the same request.

With its answers frozen a target with a live model is deterministic: a search tells what a fault changed from what
chance did, and pays only for answers that nobody has asked for yet.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from chaosagent.canonical import Plain, pack, plain
from chaosagent.errors import ChaosAgentError, TargetError, UsageError
from chaosagent.execution.failures import exception_of, failure_of
from chaosagent.execution.run.actor import INSIDE
from chaosagent.faults.crossing import Request, Response
from chaosagent.faults.dry import pack_request, pack_response, unpack_response

KEY_BYTES = 32
DRAWING_RUNS_MAX = 20
"""How often a run is made until it finds all answers frozen; each but the last froze some."""


def never_frozen(target: str, task: str) -> TargetError:
    """Return what is raised when the answers of a target cannot be frozen, by the names of target and task."""
    return TargetError(
        f"target {target!r}, task {task!r}: {DRAWING_RUNS_MAX} runs with frozen answers asked for new ones, so its "
        "requests depend on chance, too. Draw what they hold from run.rng(label); in a command, derive it from "
        "CHAOSAGENT_RUN_ID."
    )


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
        refuse: Makes the run worthless, whatever the target does with the exception: its answers cannot be read.

    Attributes:
        used: What was answered from there, in order.
        drawn: How many answers were not there and were drawn; then the run has to be made again, as it may have gone
            otherwise than one in which nothing is drawn.
    """

    def __init__(self, answers: Answers, scope: bytes, refuse: Callable[[ChaosAgentError], ChaosAgentError]) -> None:
        self._answers, self._scope, self._refuse = answers, scope, refuse
        self.used: list[FrozenAnswer] = []
        self.drawn = 0

    def around(
        self,
        call: Callable[[str, Mapping[str, Any]], Any],
        is_pure: Callable[[str], bool],
        errors: Mapping[str, type[Exception]],
    ) -> Callable[[str, Mapping[str, Any]], Any]:
        """Return how the operations of a door are called when those that are pure answer from here.

        Args:
            call: How they are called otherwise.
            is_pure: Which they are.
            errors: That the target declares at the door, by name.
        """

        def answer(operation: str, arguments: Mapping[str, Any]) -> Any:
            if not is_pure(operation):
                return call(operation, arguments)
            place, request = str(INSIDE.get()), pack_request(Request(operation, arguments))
            known = self._known(place, request)
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

    def _known(self, place: str, request: bytes) -> bytes | None:
        try:
            return self._answers.get(key_of(self._scope, place, request))
        except ChaosAgentError as error:
            raise self._refuse(error) from error

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
        try:
            self._answers.keep(key_of(self._scope, place, request), pack_response(response))
        except ChaosAgentError as error:
            raise self._refuse(error) from error


def key_of(scope: bytes, place: str, request: bytes) -> bytes:
    """Return the key of an answer."""
    return hashlib.blake2b(pack([scope, place, request]), digest_size=KEY_BYTES).digest()


def requests_digest(used: Iterable[FrozenAnswer]) -> bytes:
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

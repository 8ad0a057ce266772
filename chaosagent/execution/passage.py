"""One passage through a hook while it happens: what the pipeline keeps of it and what an operator may do with it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from chaosagent.canonical import Plain
from chaosagent.execution.failures import failure_of
from chaosagent.faults.crossing import Exchange, Proceed, Request, Response
from chaosagent.faults.dry import earlier_in, operator_rng, pack_request, pack_response, unpack_request, unpack_response
from chaosagent.faults.injection import Place
from chaosagent.trace.step import ALLOWED, Decision
from chaosagent.vocabulary import Boundary, Effect

if TYPE_CHECKING:
    from chaosagent.execution.doors import LiveDoor
    from chaosagent.execution.run import LiveRun


class Passage:
    """Implements `chaosagent.faults.crossing.Crossing`."""

    __slots__ = (
        "_run",
        "altered_request",
        "answered",
        "answered_at",
        "arguments",
        "asked",
        "asked_at",
        "decision",
        "deferred",
        "door",
        "earlier_bytes",
        "effects",
        "exception",
        "executed",
        "operation",
        "place",
        "request_bytes",
        "response_bytes",
        "role",
        "slept",
        "value",
    )

    def __init__(
        self, run: LiveRun, door: LiveDoor, place: Place, operation: str, arguments: Mapping[str, Plain]
    ) -> None:
        self._run = run
        self.door = door
        self.place = place
        self.operation = operation
        self.arguments = arguments
        self.role = ""
        self.decision: Decision = ALLOWED
        self.request_bytes = b""
        self.response_bytes = b""
        self.earlier_bytes = b""
        self.asked, self.answered = 0, -1
        self.asked_at = self.answered_at = 0.0
        self.value: Plain = None
        self.exception: Exception | None = None
        self.effects: tuple[Effect, ...] = ()
        self.executed = 0
        self.slept = 0.0
        self.deferred = False
        self.altered_request = False

    # ------------------------------------------------------------------ what an operator sees

    @property
    def boundary(self) -> Boundary:
        return self.door.boundary

    @property
    def interface(self) -> str:
        return self.door.interface

    @property
    def agent(self) -> str:
        return self.place.agent

    @property
    def request(self) -> Request:
        return unpack_request(self.request_bytes)

    @property
    def read_only(self) -> bool:
        return self.door.is_read_only(self.operation)

    @property
    def history(self) -> Sequence[Exchange]:
        seen = list(self.door.history)
        if self.executed and seen:
            seen.pop()
        return [Exchange(unpack_request(request), unpack_response(response)) for request, response in seen]

    @property
    def rng(self) -> random.Random:
        return operator_rng(self._run.seed, self.place)

    def earlier(self) -> Response | None:
        if self.earlier_bytes:
            return unpack_response(self.earlier_bytes)
        return earlier_in(self.history, self.request)

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds
        await asyncio.sleep(seconds)

    def defer(self, seconds: float, proceed: Proceed, request: Request) -> None:
        self.deferred = True
        self._run.defer(self, seconds, proceed, request)

    async def proceed(self, request: Request) -> Response:
        """Hand a request to the world; the operator gets a copy of the answer."""
        if pack_request(request) != self.request_bytes:
            self.altered_request = True
            await self.call_world(request.operation, request.arguments)
        else:
            await self.call_world(self.operation, self.arguments)
        return unpack_response(self.response_bytes)

    # ------------------------------------------------------------------ the real call

    async def call_world(self, operation: str, arguments: Mapping[str, Plain]) -> None:
        """Let the world answer, and keep its answer, its effects and when it came."""
        door = self.door
        self.exception = None
        try:
            value = door.call(operation, arguments)
            if hasattr(value, "__await__"):
                value = await value
        except Exception as error:  # what the world raises is its answer
            self.value, self.exception = None, error
            response = pack_response(Response(None, failure_of(error)))
        else:
            self.value = value
            response = pack_response(Response(value, None))
            if operation in door.options.effects:
                self.effects += door.effects_of(operation, arguments, value)
        self.response_bytes = response
        self.executed += 1
        if self.executed == 1:
            self.answered, self.answered_at = self._run.next_position(), self._run.loop.time()
        door.history.append((self.request_bytes, response))
        self._run.check_size(door.interface, response)

    @property
    def changed_world(self) -> bool:
        """Whether what was done to the world differs from one plain call."""
        return self.executed != 1 or self.altered_request or self.deferred

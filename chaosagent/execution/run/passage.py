"""One passage through a hook while it happens: what the pipeline keeps of it and what an operator may do with it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from contextvars import Token

from chaosagent.canonical import Plain, copy_plain, pack_plain, plain, plain_mapping
from chaosagent.errors import ChaosAgentError, CrossingError, PluginError, TargetError, UsageError
from chaosagent.execution.failures import failure_of, is_answer, message_of
from chaosagent.execution.run.actor import INSIDE
from chaosagent.execution.run.doors import LiveDoor
from chaosagent.execution.run.run_state import RunState
from chaosagent.faults.crossing import Exchange, Proceed, Request, Response, Toxic
from chaosagent.faults.dry import (
    RecordedCrossing,
    earlier_answer,
    note_strange_use,
    operator_rng,
    pack_request,
    pack_response,
    unpack_request,
    unpack_response,
)
from chaosagent.faults.evaluation import Act
from chaosagent.faults.injection import Injection, Place, injection_at
from chaosagent.governance.action import Action
from chaosagent.governance.mediator import ALLOW, Mediator
from chaosagent.trace.step import ALLOWED, Decision, StepKind
from chaosagent.vocabulary import ActionBlocked, Boundary, Effect, Failure, Mediation


class Passage:
    """Implements `chaosagent.faults.crossing.Crossing`.

    Attributes:
        arguments: Plain data of its own; neither agent nor world hold parts of it.
        blocked: The mediator blocked the action; then neither world nor injection are reached.
        value: What the world answered, fresh plain data.
        exception: What it raised instead, as it was raised.
        started: How often the world was called, whether or not it has answered.
        executed: How often it has answered.
        at_once: It answered without waiting, so that nothing else could act meanwhile.
        injection: What is injected here, `None` for nothing.
        acted: Position at which the injection began to act, -1 as long as it has only passed on request and answer.
        is_waiting: The operator waits for its crossing, and for nothing else.
        is_given_up: The agent gave the call up before the injection had acted.
        inside: The place of the crossing whose world asks this, empty when the target itself does.
        past: The interface's history when the world answered first; kept only for injections.
    """

    __slots__ = (
        "_run",
        "_task",
        "acted",
        "answered",
        "answered_at",
        "arguments",
        "asked",
        "asked_at",
        "at_once",
        "blocked",
        "decision",
        "deferred",
        "door",
        "earlier_bytes",
        "effects",
        "exception",
        "executed",
        "injection",
        "inside",
        "is_given_up",
        "is_waiting",
        "operation",
        "past",
        "place",
        "request_bytes",
        "response_bytes",
        "role",
        "soft_error",
        "started",
        "value",
    )

    def __init__(
        self, run: RunState, door: LiveDoor, place: Place, operation: str, arguments: Mapping[str, Plain]
    ) -> None:
        self._run = run
        self.door = door
        self.place = place
        self.operation = operation
        self.arguments = arguments
        self.role = ""
        self.inside: Place | str = INSIDE.get()
        self.decision: Decision = ALLOWED
        self.blocked = False
        self.request_bytes = b""
        self.response_bytes = b""
        self.earlier_bytes = b""
        self.asked, self.answered = 0, -1
        self.asked_at = self.answered_at = 0.0
        self.value: Plain = None
        self.exception: BaseException | None = None
        self.effects: tuple[Effect, ...] = ()
        self.soft_error = ""
        self.started = self.executed = 0
        self.past: list[tuple[bytes, bytes]] | None = None
        self.injection: Injection | None = None
        self._task: object = None
        self.acted = -1
        self.is_waiting = self.is_given_up = False
        self.deferred = False
        self.at_once = True

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
        seen = self.door.history if self.past is None else self.past
        return [Exchange(unpack_request(request), unpack_response(response)) for request, response in seen]

    @property
    def rng(self) -> random.Random:
        return operator_rng(self._run.seed, self.place)

    def earlier(self) -> Response | None:
        if self.earlier_bytes:
            return unpack_response(self.earlier_bytes)
        return earlier_answer(self.history, self.request, self.response_bytes)

    def begin(self, injection: Injection) -> None:
        """Take the injection that acts from now on; only the current task may use the crossing."""
        self.injection, self._task = injection, asyncio.current_task()

    def end(self) -> None:
        """Refuse whoever uses the crossing from now on."""
        self._task = self  # and so nobody's

    @property
    def _is_elsewhere(self) -> bool:  # whether anybody else uses it than its operator, while that is applied
        try:
            return asyncio.current_task() is not self._task
        except RuntimeError:  # without a loop: an operator that is applied dry has kept it
            note_strange_use()
            return True

    def act(self) -> None:
        """Note that the injection begins to act: from here on the run is not what it would be without it.

        Raises:
            PluginError: It does so from another task, or because the agent gives the call up.
        """
        if self._is_elsewhere:
            raise self._refused("uses its crossing from another task, or after it has ended")
        if self.acted >= 0 or self.injection is None:
            return
        if self.is_given_up:
            raise self._refused("acts because the agent gives its call up")
        self.acted = self.answered if self.executed else self.asked
        self._run.acts.append(Act(self.acted, injection_at(self.place, self.injection)))

    def _refused(self, what: str) -> ChaosAgentError:
        """Return what ends the run, whoever swallows it."""
        return self._run.recorder.refuse(PluginError(f"{self.injection} {what}; operators must not."))

    async def sleep(self, seconds: float) -> None:
        self.act()
        self.is_waiting = True
        try:
            await asyncio.sleep(seconds)
        finally:
            self.is_waiting = False

    def defer(self, seconds: float, proceed: Proceed, request: Request) -> None:  # noqa: ARG002  # the protocol's
        self.act()
        self.deferred = True
        late = type(self)(self._run, self.door, Place(*self.place), request.operation, request.arguments)
        late.role, late.decision = self.role, self.decision
        late.take_request()
        late.asked, late.asked_at = self.asked, self.asked_at
        self._run.loop.create_own_task(late._reach_world_after(seconds))

    async def _reach_world_after(self, seconds: float) -> None:
        """Let the request reach the world later, as a step of its own."""
        run = self._run
        await asyncio.sleep(seconds)
        try:
            waiting = self.call_world(self.operation, self.arguments)
            if waiting is not None:
                await waiting
            if not run.over:
                now = run.loop.now
                run.recorder.append(self, StepKind.LATE, now, told=self.response_bytes, value=self.value)
        except ChaosAgentError as error:
            run.recorder.refuse(error)

    def disturbed(self, toxic: Toxic) -> AbstractAsyncContextManager[None]:
        raise PluginError(
            f"{self.interface} has no connection that {toxic.type!r} could disturb: operators do so only at the "
            "boundary `network`."
        )

    async def proceed(self, request: Request) -> Response:
        """Hand a request to the world; the operator gets a copy of the answer."""
        is_changed = pack_request(request) != self.request_bytes
        if is_changed or self.started or self._is_elsewhere:
            self.act()
        if is_changed:
            waiting = self.call_world(request.operation, request.arguments, is_disturbed=True)
        else:
            waiting = self.call_world(self.operation, self.arguments, is_disturbed=True)
        if waiting is not None:
            self.is_waiting = True
            try:
                await waiting
            except (asyncio.CancelledError, GeneratorExit):  # what a world uses within, as for a time-out, ends there
                self.is_given_up = self.is_given_up or self.acted < 0
                raise
            finally:
                self.is_waiting = False
        return unpack_response(self.response_bytes)

    # ------------------------------------------------------------------ the request and the real call

    def take_request(self) -> None:
        """Turn the arguments into plain data of their own, and keep the canonical bytes of the request.

        Raises:
            CrossingError: They are not plain data.
            TargetError: They are too large.
        """
        if not isinstance(self.operation, str):
            kind = type(self.operation).__name__
            raise CrossingError(f"{self.place}: the operation must be a text, and is of type {kind}.")
        try:
            self.arguments = arguments = plain_mapping(self.arguments)
        except UsageError as error:
            raise CrossingError(f"{self.place} {self.operation} is asked with what cannot cross: {error}") from error
        self.request_bytes = request = pack_plain((self.operation, arguments))
        if len(request) > self._run.payload_bytes_max:
            raise self._run.too_large(self.place.interface, len(request))

    def mediate(self, mediator: Mediator) -> None:
        """Let the mediator allow, rewrite or block the action.

        Raises:
            TargetError: The mediator raised.
        """
        place, door = self.place, self.door
        fields = (place.agent, self.role, door.boundary, door.interface, self.operation, self.arguments)
        action = tuple.__new__(Action, fields)  # half the time of calling the class, at every crossing
        try:
            ruling = mediator.decide(action)
        except Exception as error:  # a mediator's mistake must not look like an answer of the world
            raise TargetError(f"the mediator raised {type(error).__name__}: {message_of(error)}") from error
        if ruling is ALLOW:
            return
        if ruling.mediation is Mediation.BLOCK:
            self.blocked, self.decision = True, Decision(Mediation.BLOCK, ruling.reason)
            self.exception = ActionBlocked(ruling.reason)
            self.response_bytes = pack_response(Response(None, Failure("blocked", ruling.reason)))
        elif ruling.mediation is Mediation.REWRITE:
            self.decision = Decision(Mediation.REWRITE, ruling.reason, self.request_bytes)
            if ruling.arguments is not None:
                self.arguments = ruling.arguments
            self.take_request()

    def call_world(
        self, operation: str, arguments: Mapping[str, Plain], *, is_disturbed: bool = False
    ) -> Awaitable[None] | None:
        """Let the world answer, and keep its answer, its effects and when it came.

        Args:
            operation: What is asked.
            arguments: The world gets a copy.
            is_disturbed: An injection acts, so that the past of the interface may be looked at.

        Returns:
            What is to be awaited until the world has answered, `None` when it has: a coroutine for nothing would cost
            a twentieth of a crossing.

        Raises:
            TargetError: The answer or a declared effect is not plain data, or too large; also when awaited.
        """
        self.exception = None
        self.started += 1
        token = INSIDE.set(self.place if self.started == 1 else Place(*self.place))  # each call of the world its own
        is_answered = True
        try:
            value = self.door.call(operation, copy_plain(arguments))
            if hasattr(value, "__await__"):
                is_answered = self.at_once = False
                return self._wait_for(value, operation, arguments, token, is_disturbed=is_disturbed)
        except BaseException as error:  # what the world raises is its answer
            self._take_error(error, is_disturbed=is_disturbed)
        else:
            self._take_answer(value, operation, arguments, is_disturbed=is_disturbed)
        finally:
            if is_answered:
                INSIDE.reset(token)
        return None

    async def _wait_for(
        self,
        answer: Awaitable[object],
        operation: str,
        arguments: Mapping[str, Plain],
        token: Token[Place | str],
        *,
        is_disturbed: bool,
    ) -> None:
        try:
            value = await answer
        except BaseException as error:
            self._take_error(error, is_disturbed=is_disturbed)
        else:
            self._take_answer(value, operation, arguments, is_disturbed=is_disturbed)
        finally:
            INSIDE.reset(token)

    def _take_error(self, error: BaseException, *, is_disturbed: bool) -> None:
        if not is_answer(error):
            raise error
        self.value, self.exception = None, error
        self._take_response(pack_plain((None, failure_of(error))), is_disturbed=is_disturbed)

    def _take_answer(
        self, value: object, operation: str, arguments: Mapping[str, Plain], *, is_disturbed: bool
    ) -> None:
        try:
            self.value = answer = plain(value)
        except UsageError as error:
            rejected = self._run.rejected(f"{self.place} {operation} answers what cannot cross: {error}")
            if isinstance(rejected, ChaosAgentError):
                raise rejected from error
            self._take_error(rejected, is_disturbed=is_disturbed)
            return
        door = self.door
        if operation in door.options.effects:
            self.effects += door.effects_of(operation, arguments, answer)
        self._take_response(pack_plain((answer, None)), is_disturbed=is_disturbed)

    def _take_response(self, response: bytes, *, is_disturbed: bool) -> None:
        door, run = self.door, self._run
        if len(response) > run.payload_bytes_max:
            raise run.too_large(door.interface, len(response))
        self.response_bytes = response
        self.executed += 1
        if self.executed == 1:
            run.position = self.answered = run.position + 1
            self.answered_at = run.loop.now
            if is_disturbed:
                self.past = list(door.history)
        door.history.append((self.request_bytes, response))

    def recorded(self) -> RecordedCrossing:
        """Return what search and dry application need of the passage."""
        door, asked, answered = self.door, self.asked, self.answered
        read_only = door.options.read_only
        fields = (
            self.place,
            door.boundary,
            self.request_bytes,
            self.response_bytes if answered >= 0 else b"",
            self.earlier_bytes,
            asked,
            answered,
            self.asked_at,
            self.answered_at,
            read_only if read_only is True or read_only is False else self.operation in read_only,
            answered == asked + 1,
            self.executed > 1 or self.deferred,
            self.at_once,
        )
        return tuple.__new__(RecordedCrossing, fields)  # half the time of calling the class, at every crossing

"""A live run: the doors of the target and the crossing pipeline behind them.

The order of one crossing: the agent asks; the mediator allows, rewrites or blocks; the injection at this hook acts
around the call of the world; a step is appended; the monitors look at it; the agent has its answer.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, NoReturn, cast

from chaosagent.canonical import Plain, digest_of, pack, plain
from chaosagent.clock import Clock, VirtualLoop
from chaosagent.errors import TargetError
from chaosagent.execution.doors import DictionaryMemory, DoorOptions, LiveDoor, Mailbox, read_text
from chaosagent.execution.failures import exception_of, failure_of
from chaosagent.execution.injector import Armed, Injector
from chaosagent.execution.passage import Passage
from chaosagent.execution.watch import Watch
from chaosagent.faults.crossing import Proceed, Request, Response
from chaosagent.faults.dry import RecordedCrossing, pack_request, pack_response
from chaosagent.faults.evaluation import Fingerprint
from chaosagent.faults.injection import Injection, Place
from chaosagent.governance.action import Action
from chaosagent.governance.mediator import Mediator
from chaosagent.limits import RunLimits
from chaosagent.seeds import derive
from chaosagent.targets.target import EffectRule, Implementation
from chaosagent.trace.redact import Redactor
from chaosagent.trace.step import ALLOWED, Decision, Landed, Link, Step, StepKind
from chaosagent.vocabulary import ActionBlocked, Boundary, Effect, Failure, Landing, Mediation, SystemConfig, Task

_ACTING: ContextVar[tuple[str, str]] = ContextVar("acting", default=("", ""))


class RunEnded(BaseException):
    """The run has reached a limit; not an `Exception`, so that no target swallows it."""


class _Agent(AbstractContextManager[None]):
    __slots__ = ("_name", "_token")

    def __init__(self, name: str, role: str) -> None:
        self._name = (name, role or name)
        self._token: Token[tuple[str, str]] | None = None

    def __enter__(self) -> None:
        self._token = _ACTING.set(self._name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            _ACTING.reset(self._token)


class LiveRun:
    """Implements `chaosagent.targets.target.Run`.

    Args:
        task: The task instance.
        config: The configuration.
        seed: Of the run.
        loop: Its virtual time.
        injector: What is injected where.
        watch: The monitors.
    """

    def __init__(
        self,
        task: Task,
        config: SystemConfig,
        seed: int,
        *,
        loop: VirtualLoop,
        injector: Injector,
        watch: Watch,
        limits: RunLimits,
        synchronous: bool = False,
        redactor: Redactor | None = None,
        wants_fingerprints: bool = False,
    ) -> None:
        self.task, self.config, self.seed = task, config, seed
        self.loop, self.clock = loop, Clock(loop)
        self.steps: list[Step] = []
        self.crossings: list[RecordedCrossing] = []
        self.fingerprints: list[Fingerprint] = []
        self.effective: list[tuple[Place, Injection]] = []
        self.acted = -1
        self.over = False
        self._injector, self._watch, self._limits = injector, watch, limits
        self._synchronous, self.redactor = synchronous, redactor
        self._wants_fingerprints = wants_fingerprints
        self._doors: dict[str, LiveDoor] = {}
        self._mailboxes: dict[str, Mailbox] = {}
        self._streams: dict[str, random.Random] = {}
        self._mediator: Mediator | None = None
        self._position = 0
        self._pending = 0
        self._links: list[Link] = []
        self._last_artifact: dict[str, str] = {}

    # ------------------------------------------------------------------ doors

    def service(
        self,
        name: str,
        implementation: Implementation,
        *,
        effects: Mapping[str, EffectRule] | None = None,
        read_only: bool | Iterable[str] = False,
        stale: Callable[[str, Mapping[str, Plain]], Plain] | None = None,
        errors: Sequence[type[Exception]] = (),
        egress: bool = False,
    ) -> LiveDoor:
        """See `chaosagent.targets.target.Run`, as for the other doors."""
        options = DoorOptions(
            effects=effects,
            read_only=read_only if isinstance(read_only, bool) else frozenset(read_only),
            stale=stale,
            errors=errors,
            egress=egress,
        )
        return self._door(Boundary.SERVICE, name, implementation, options)

    def retrieval(self, name: str, implementation: Implementation) -> LiveDoor:
        return self._door(Boundary.RETRIEVAL, name, implementation, DoorOptions(read_only=True))

    def memory(self, name: str, implementation: Implementation | None = None) -> LiveDoor:
        options = DoorOptions(read_only=frozenset({"read", "keys"}))
        return self._door(Boundary.MEMORY, name, implementation, options, default=DictionaryMemory)

    def model(self, name: str, implementation: Implementation) -> LiveDoor:
        return self._door(Boundary.MODEL, name, implementation, DoorOptions(read_only=True))

    def message(self, name: str, implementation: Implementation | None = None) -> LiveDoor:
        return self._door(Boundary.MESSAGE, name, implementation, DoorOptions(), default=lambda: self._mailbox(name))

    def prompt(self, name: str) -> LiveDoor:
        return self._door(Boundary.PROMPT, name, read_text, DoorOptions(read_only=True))

    def receive(self, name: str, agent: str) -> Any:
        coroutine = self._mailbox(name).receive(agent)
        return self.loop.run_until_complete(coroutine) if self._synchronous else coroutine

    def _mailbox(self, name: str) -> Mailbox:
        return self._mailboxes.setdefault(name, Mailbox())

    def _door(
        self,
        boundary: Boundary,
        name: str,
        implementation: Implementation | None,
        options: DoorOptions,
        default: Callable[[], object] | None = None,
    ) -> LiveDoor:
        interface = f"{boundary.value}:{name}"
        known = self._doors.get(interface)
        if known is not None:
            if implementation is None or known.implementation == implementation:
                return known
            raise TargetError(
                f"The target opens two doors named {interface!r} with different implementations; rename one."
            )
        if not name or any(character.isspace() or character in "[]@;#" for character in name):
            raise TargetError(f"The target opens a door named {interface!r}; names have no blanks and none of []@;#.")
        behind = default() if implementation is None and default is not None else implementation
        door = LiveDoor(self, boundary, name, behind, options)
        self._doors[interface] = door
        return door

    # ------------------------------------------------------------------ what else a target may say and ask

    def agent(self, name: str, role: str = "") -> AbstractContextManager[None]:
        return _Agent(name, role)

    def mediate(self, mediator: Mediator | None) -> None:
        self._mediator = mediator

    def rng(self, label: str) -> random.Random:
        stream = self._streams.get(label)
        if stream is None:
            stream = self._streams[label] = derive(self.seed, "target", label)
        return stream

    def link(self, source: str, relation: str, target: str) -> None:
        self._links.append(Link(source, relation, target))

    def artifact(self) -> str:
        return self._last_artifact.get(_ACTING.get()[0], "")

    def note(self, kind: str, **facts: Any) -> None:
        agent, role = _ACTING.get()
        passage = Passage(self, None, Place("note", agent, 0), kind, facts)  # type: ignore[arg-type]  # notes have no door
        passage.role = role
        passage.request_bytes = pack_request(Request(kind, facts))
        passage.asked_at = self.loop.time()
        self._append(passage, StepKind.NOTE, b"", None, None)

    def checkpoint(self, place: str, state: Any, *, clock_matters: bool = True) -> None:
        quiet = not self._pending and self.loop.idle and self._injector.exhausted
        if not self._wants_fingerprints or not quiet:
            return
        everything: list[object] = [
            place,
            _ACTING.get(),
            plain(state),
            self.loop.time() if clock_matters else None,
            [[name, sorted(door.counts.items())] for name, door in sorted(self._doors.items())],
            [[name, list(door.history)] for name, door in sorted(self._doors.items())],
            [[name, digest_of(repr(stream.getstate()))] for name, stream in sorted(self._streams.items())],
            [
                [name, [[to, list(box)] for to, box in sorted(m.waiting.items())]]
                for name, m in sorted(self._mailboxes.items())
            ],
            None if self._mediator is None else self._mediator.state(),
        ]
        self.fingerprints.append(self._watch.fingerprint(self._position, pack(everything)))

    # ------------------------------------------------------------------ the crossing pipeline

    def enter(self, door: LiveDoor, place_of: Callable[[str], Place], operation: str, arguments: dict[str, Any]) -> Any:
        """Cross a boundary; an awaitable, or in a synchronous target the answer itself."""
        crossing = self.cross(door, place_of, operation, arguments)
        return self.loop.run_until_complete(crossing) if self._synchronous else crossing

    async def cross(
        self, door: LiveDoor, place_of: Callable[[str], Place], operation: str, arguments: dict[str, Any]
    ) -> Plain:
        """Take one request through the pipeline and return what the agent is told."""
        if self.over:
            raise RunEnded("the run is over")
        agent, role = _ACTING.get()
        passage = Passage(self, door, place_of(agent), operation, arguments)
        passage.role = role
        passage.request_bytes = pack_request(Request(operation, arguments))
        self.check_size(door.interface, passage.request_bytes)
        passage.asked, passage.asked_at = self.next_position(), self.loop.time()
        if self._mediator is not None:
            blocked = self._mediate(self._mediator, passage)
            if blocked is not None:
                self._deliver(passage, None, pack_response(Response(None, blocked)), blocked)
                raise ActionBlocked(blocked.message)
        if door.options.stale is not None:
            passage.earlier_bytes = _earlier(door, passage)
        armed = self._injector.at(passage.place, door.boundary)
        self._pending += 1
        try:
            response = await self._answer(passage, armed)
        except asyncio.CancelledError:
            if not self.over:
                self._record(passage)
                self._append(passage, StepKind.CANCELLED, b"", None, self._landed(passage, armed, b""))
            raise
        finally:
            self._pending -= 1
        if response is None:
            self._deliver(passage, armed, passage.response_bytes, None)
            if passage.exception is not None:
                raise passage.exception
            return passage.value
        return self._deliver_altered(passage, armed, response)

    async def _answer(self, passage: Passage, armed: Armed | None) -> Response | None:
        """Let the world answer; `None` when its answer is delivered as it is."""
        if armed is None:
            await passage.call_world(passage.operation, passage.arguments)
            return None
        response = await armed.operator.apply(passage, passage.proceed)
        return None if passage.executed and pack_response(response) == passage.response_bytes else response

    def _deliver_altered(self, passage: Passage, armed: Armed | None, response: Response) -> Plain:
        self._deliver(passage, armed, pack_response(response), response.failure, value=response.value)
        if response.failure is not None:
            raise exception_of(response.failure, passage.door.options.errors)
        return response.value

    def _deliver(
        self,
        passage: Passage,
        armed: Armed | None,
        told: bytes,
        failure: Failure | None,
        value: Plain = None,
    ) -> None:
        if told is passage.response_bytes:
            value = passage.value
            failure = failure_of(passage.exception) if passage.exception is not None else None
        if passage.decision.mediation is not Mediation.BLOCK:
            self._record(passage)
        landed = self._landed(passage, armed, told)
        self._append(passage, StepKind.CALL, told, failure, landed, value=value)

    def _mediate(self, mediator: Mediator, passage: Passage) -> Failure | None:
        door, place = passage.door, passage.place
        action = Action(place.agent, passage.role, door.boundary, door.interface, passage.operation, passage.arguments)
        ruling = mediator.decide(action)
        if ruling.mediation is Mediation.ALLOW:
            return None
        if ruling.mediation is Mediation.BLOCK:
            passage.decision = Decision(Mediation.BLOCK, ruling.reason)
            return Failure("blocked", ruling.reason)
        passage.decision = Decision(Mediation.REWRITE, ruling.reason, passage.request_bytes)
        passage.arguments = dict(ruling.arguments or {})
        passage.request_bytes = pack_request(Request(passage.operation, passage.arguments))
        return None

    def _landed(self, passage: Passage, armed: Armed | None, told: bytes) -> Landed | None:
        if armed is None:
            return None
        changed = told != passage.response_bytes or passage.slept > 0.0 or passage.changed_world
        if changed:
            self.effective.append((passage.place, armed.injection))
            acted = passage.answered if armed.acts_on_answer else passage.asked
            self.acted = max(self.acted, acted)
        landing = Landing.LANDED if changed else Landing.NO_CHANGE
        return Landed(str(armed.injection), armed.injection.operator_name, landing, armed.operator.describe())

    def _record(self, passage: Passage) -> None:
        door = passage.door
        self.crossings.append(
            RecordedCrossing(
                passage.place,
                door.boundary,
                passage.request_bytes,
                passage.response_bytes if passage.answered >= 0 else b"",
                passage.earlier_bytes,
                passage.asked,
                passage.answered,
                passage.asked_at,
                passage.answered_at,
                passage.read_only,
                passage.answered == passage.asked + 1,
            )
        )

    def _append(
        self,
        passage: Passage,
        kind: StepKind,
        told: bytes,
        failure: Failure | None,
        landed: Landed | None,
        value: Plain = None,
    ) -> None:
        place, door = passage.place, passage.door
        step = Step()
        step.index = len(self.steps)
        step.kind, step.agent, step.role = kind, place.agent, passage.role
        step.boundary = None if kind is StepKind.NOTE else door.boundary
        step.interface, step.occurrence, step.attempt = place.interface, place.occurrence, place.attempt
        step.operation = passage.operation
        step.request, step.response, step.failure = passage.request_bytes, told, failure
        step.asked_at, step.arrived_at = passage.asked_at, self.loop.time()
        step.decision, step.landed, step.effects = passage.decision, landed, passage.effects
        step.links = self._take_links()
        step.show(passage.arguments, value)
        self._watch.step(step)
        step.seal()
        if self.redactor is not None:
            self._redact(step, self.redactor)
        self.steps.append(step)
        self._last_artifact[place.agent] = step.hook
        if len(self.steps) >= self._limits.steps_max:
            self.over = True
            raise RunEnded(f"{self._limits.steps_max} steps")

    def _take_links(self) -> tuple[Link, ...]:
        if not self._links:
            return ()
        links = tuple(self._links)
        self._links.clear()
        return links

    @staticmethod
    def _redact(step: Step, redactor: Redactor) -> None:
        step.request = redactor.packed(step.request)
        step.response = redactor.packed(step.response)
        if step.failure is not None:
            step.failure = step.failure._replace(message=redactor.text(step.failure.message))
        if step.effects:
            step.effects = tuple(
                Effect(effect.kind, cast("dict[str, Plain]", redactor.value(plain(effect.identity))), effect.impact)
                for effect in step.effects
            )

    # ------------------------------------------------------------------ what passages ask of their run

    def next_position(self) -> int:
        """Count one more thing that acts."""
        self._position += 1
        return self._position

    def check_size(self, interface: str, data: bytes) -> None:
        """Refuse payloads beyond the limit."""
        if len(data) > self._limits.payload_bytes_max:
            self._refuse_size(interface, len(data))

    def _refuse_size(self, interface: str, size: int) -> NoReturn:
        raise TargetError(
            f"A payload of {size} bytes crosses {interface}; the limit is {self._limits.payload_bytes_max} "
            "(payload_bytes_max). Hand over less, or raise the limit in the study."
        )

    def defer(self, passage: Passage, seconds: float, proceed: Proceed, request: Request) -> None:
        """Let a request reach the world later, as a step of its own."""
        late = Passage(self, passage.door, passage.place, request.operation, request.arguments)
        late.role, late.request_bytes = passage.role, pack_request(request)
        late.asked, late.asked_at = passage.asked, passage.asked_at
        del proceed  # the world is reached through the late passage, not through the one that was answered

        async def later() -> None:
            await asyncio.sleep(seconds)
            await late.call_world(request.operation, request.arguments)
            if not self.over:
                self._append(late, StepKind.LATE, late.response_bytes, None, None, value=late.value)

        work: Coroutine[Any, Any, None] = later()
        self.loop.create_task(work)


def _earlier(door: LiveDoor, passage: Passage) -> bytes:
    stale = door.options.stale
    if stale is None:
        return b""
    try:
        return pack_response(Response(stale(passage.operation, passage.arguments), None))
    except LookupError:
        return b""

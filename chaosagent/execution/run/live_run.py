"""A live run: the doors of the target and the crossing pipeline behind them.

The order of one crossing: the agent asks; the mediator allows, rewrites or blocks; the injection at this hook acts
around the call of the world; a step is appended; the monitors look at it; the agent has its answer.
"""

from __future__ import annotations

import asyncio
import random
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, NoReturn, Unpack

from chaosagent.canonical import Plain, plain
from chaosagent.clock import Clock
from chaosagent.effects.failed_when import FailedWhenForm
from chaosagent.effects.rule import EffectRule
from chaosagent.errors import ChaosAgentError, CrossingError, TargetError, UsageError
from chaosagent.event_loop.real_time_loop import RealTimeLoop
from chaosagent.event_loop.virtual_time import VirtualLoop
from chaosagent.execution.crash_location import with_place
from chaosagent.execution.failures import RunEnded, exception_of, failure_of
from chaosagent.execution.run.actor import ACTING, INSIDE, ActingAs, check_name
from chaosagent.execution.run.door_opener import DoorOpener, operations_of
from chaosagent.execution.run.doors import DoorOptions, LiveDoor, failed_when_of
from chaosagent.execution.run.injector import Injector
from chaosagent.execution.run.network_links import NetworkPassage, RemoteService, link_of
from chaosagent.execution.run.own_worlds import Mailbox
from chaosagent.execution.run.passage import Passage
from chaosagent.execution.run.recorder import Recorder
from chaosagent.execution.run.run_state import RECORD_DEPTH, RunState, state_at
from chaosagent.execution.run.supervised_operator import apply_injection
from chaosagent.execution.run.undeclared import Survey
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.faults.injection import Injection, Place
from chaosagent.governance.mediator import Mediator
from chaosagent.seeds import derive
from chaosagent.targets.target import Committed, Connect, Errors, Implementation, ServiceOptions, Upstream
from chaosagent.trace.step import Landed, Link, StepKind
from chaosagent.vocabulary import Boundary, Landing, Outcome, SystemConfig, Task

ENDED_MAX = 10_000
"""How often a target that swallows everything is told that its run is over."""

STATE_MISSING = "run.state:"
"""How the text begins that says why the state of the world could not be found."""


class LiveRun(RunState, DoorOpener):
    """Implements `chaosagent.targets.target.Run`.

    Args:
        task: The task instance.
        config: The configuration.
        seed: Of the run.
        loop: Its virtual time.
        injector: What is injected where.
        recorder: Of its steps.
        synchronous: The target is a plain function and calls its doors without `await`.
        fingerprinting: What fingerprints at checkpoints cover.
    """

    def __init__(
        self,
        task: Task,
        config: SystemConfig,
        seed: int,
        *,
        loop: VirtualLoop | RealTimeLoop,
        injector: Injector,
        recorder: Recorder,
        synchronous: bool = False,
        fingerprinting: Fingerprinting = Fingerprinting.OFF,
    ) -> None:
        super().__init__(task, config, seed, loop=loop, recorder=recorder)
        self.clock = Clock(loop, synchronous=synchronous)
        loop.origin = INSIDE.get
        self.asked: list[Coroutine[Any, Any, Plain]] = []
        self.author_notes: list[str] = []
        self._injector = injector
        self._synchronous, self._thread = synchronous, threading.get_ident()
        self._fingerprinting = fingerprinting
        self._state: Callable[[], Any] | None = None
        self.survey: Survey | None = None
        self._pending = self._told_of_end = 0

    # ------------------------------------------------------------------ doors

    def service(self, name: str, implementation: Implementation, **options: Unpack[ServiceOptions]) -> LiveDoor:
        try:
            return super().service(name, implementation, **options)
        except TargetError as error:
            raise self.rejected(str(error)) from None

    def network(
        self,
        name: str,
        upstream: Upstream,
        connect: Connect,
        *,
        committed: Committed | None = None,
        effects: Mapping[str, EffectRule] | None = None,
        failed_when: FailedWhenForm | None = None,
        read_only: bool | Iterable[str] = False,
        errors: Errors = (),
    ) -> LiveDoor:
        try:
            failing = failed_when_of(f"network:{name}", failed_when)
            reading = operations_of(f"network:{name}", "read_only", given=read_only)
        except TargetError as error:
            raise self.rejected(str(error)) from None
        options = DoorOptions(
            effects=dict(effects or {}),
            failed_when=failing,
            read_only=reading,
            errors={error.__name__: error for error in errors},
            committed=committed,
        )
        link = link_of(self, RemoteService(name, upstream, connect, committed), options)
        return self.open_door(Boundary.NETWORK, name, link, link.options)

    def mailbox(self, name: str) -> Mailbox:
        return self.mailboxes.setdefault(name, Mailbox())

    def open_door(
        self,
        boundary: Boundary,
        name: str,
        implementation: Implementation | None,
        options: DoorOptions,
        default: Callable[[], object] | None = None,
    ) -> LiveDoor:
        interface = f"{boundary._value_}:{name}"
        known = self.doors.get(interface)
        if known is not None:
            if implementation is None or (known.implementation == implementation and known.options == options):
                return known
            raise self.rejected(
                f"The target opens {interface!r} twice, differently. Open it once, or rename one of the doors."
            )
        try:
            check_name("interface", name)
            behind = default() if implementation is None and default is not None else implementation
            door = LiveDoor(self, boundary, name, behind, options)
        except TargetError as error:
            raise self.rejected(str(error)) from None
        self.doors[interface] = door
        return door

    # ------------------------------------------------------------------ what else a target may say and ask

    def agent(self, name: str, role: str = "") -> AbstractContextManager[None]:
        try:
            return ActingAs(name, role)
        except TargetError as error:
            raise self.rejected(str(error)) from None

    def mediate(self, mediator: Mediator | None) -> None:
        self.mediator = mediator

    def rng(self, label: str) -> random.Random:
        stream = self.streams.get(label)
        if stream is None:
            stream = self.streams[label] = derive(self.seed, "target", label)
        return stream

    def link(self, source: str, relation: str, target: str) -> None:
        for part in (source, relation, target):
            if not isinstance(part, str):
                raise self.rejected(f"run.link is given what is of type {type(part).__name__}; it must be a text.")
        self.recorder.link(Link(source, relation, target))

    def artifact(self) -> str:
        return self.recorder.artifacts.get(ACTING.get().agent, "")

    def note(self, kind: str, /, **facts: Any) -> None:
        agent, role = ACTING.get()
        passage = Passage(self, None, Place("note", agent, 0), kind, facts)  # type: ignore[arg-type]  # notes have no door
        passage.role, passage.asked_at = role, self.loop.now
        try:
            passage.take_request()
            self.recorder.append(passage, StepKind.NOTE, passage.asked_at)
        except CrossingError as error:
            raise self.rejected(str(error)) from None
        except ChaosAgentError as error:
            raise self.recorder.refuse(error) from None

    def state(self, state: Callable[[], Any], /) -> None:
        self._state = state

    def inconclusive(self, reason: str) -> NoReturn:
        self.recorder.conclude(reason)
        raise RunEnded(reason)

    def checkpoint(self, place: str, state: Any, *, clock_matters: bool = True, artifacts_matter: bool = True) -> None:
        numbers = self.loop.renumber()  # whether or not fingerprints are taken, or a run would differ
        if self._fingerprinting is Fingerprinting.OFF or self._pending or not self.loop.idle:
            return
        try:
            everything = state_at(
                self,
                place,
                state,
                numbers,
                clock_matters=clock_matters,
                artifacts_matter=artifacts_matter,
                with_history=self._fingerprinting is Fingerprinting.STATE_AND_HISTORY,
            )
            self.fingerprints.append(self.recorder.watch.fingerprint(self.position, everything))
            if self.survey is not None:
                self.survey.look(self, place, state, sys._getframe(1))
        except ChaosAgentError as error:
            if not (isinstance(error, UsageError) and self.is_faulty):  # a fault has put there what equals nothing
                raise self.recorder.refuse(error) from None

    # ------------------------------------------------------------------ the crossing pipeline

    def enter(self, door: LiveDoor, place_of: Callable[[str], Place], operation: str, arguments: dict[str, Any]) -> Any:
        """Cross a boundary; an awaitable, or in a synchronous target the answer itself."""
        if self._synchronous:
            if threading.get_ident() != self._thread:
                raise self._elsewhere(door)
            return self.loop.run_call(self.cross(door, place_of, operation, arguments))
        self.asked.append(crossing := self.cross(door, place_of, operation, arguments))
        return crossing

    async def cross(
        self, door: LiveDoor, place_of: Callable[[str], Place], operation: str, arguments: dict[str, Any]
    ) -> Plain:
        """Take one request through the pipeline and return what the agent is told."""
        if self.over or self.recorder.closed:
            await self._end()
        if asyncio._get_running_loop() is not self.loop:
            raise self._elsewhere(door)
        if self.survey is not None:
            self.survey.begin(sys._getframe())
        try:
            passage = self._ask(door, place_of, operation, arguments)
        except CrossingError as error:
            raise self.rejected(str(error)) from error.__cause__
        except ChaosAgentError as error:
            raise self.recorder.refuse(error) from error.__cause__
        return await self.pass_through(passage)

    async def pass_through(self, passage: Passage) -> Plain:
        """Take a request that the mediator has seen through injection and world, and return what the agent is told."""
        door = passage.door
        injectable = door.options.injectable
        injection = altered = None
        if door.interface in self._injector.interfaces and injectable and not passage.blocked:
            injection = self._injector.meet(passage)
        self._pending += injectable
        try:
            if injection is not None:
                altered = await apply_injection(passage, injection)
            elif not passage.blocked:
                waiting = passage.call_world(passage.operation, passage.arguments)
                if waiting is not None:
                    await waiting
            if altered is None:
                told, value, exception = passage.response_bytes, passage.value, passage.exception
                failure = None if exception is None else failure_of(exception)
            else:
                response, told = altered
                value, failure = plain(response.value), response.failure
                exception = None if failure is None else exception_of(failure, door.options.errors)
            if injectable and not passage.blocked:
                self.crossings.append(passage.recorded())
            if failure is None and door.options.failed_when:
                passage.soft_error = door.failure_in(passage.operation, passage.arguments, value)
            landed = None if injection is None else _landed(passage, injection)
            self.recorder.append(
                passage, StepKind.CALL, self.loop.now, told=told, failure=failure, landed=landed, value=value
            )
        except (asyncio.CancelledError, GeneratorExit):  # the latter where the target closes what a call returned
            self._give_up(passage)
            raise
        except ChaosAgentError as error:
            raise self.recorder.refuse(error) from error.__cause__
        finally:
            self._pending -= injectable
        if exception is not None:
            raise exception
        return value

    async def _end(self) -> NoReturn:
        """Tell the target, which may swallow it; a plain function that always does only a process's limit can stop."""
        self._told_of_end += 1
        if self._told_of_end > ENDED_MAX and not self._synchronous:
            if not self.over:
                self.loop.call_soon(_stop)
            await self.loop.create_future()
        raise RunEnded(self.recorder.inconclusive or "the run is over")

    def _ask(
        self, door: LiveDoor, place_of: Callable[[str], Place], operation: str, arguments: dict[str, Any]
    ) -> Passage:
        agent, role = ACTING.get()
        kind = NetworkPassage if door.boundary is Boundary.NETWORK else Passage
        passage = kind(self, door, place_of(agent), operation, arguments)
        passage.role = role
        passage.take_request()
        self.position += 1
        passage.asked, passage.asked_at = self.position, self.loop.now
        if self.mediator is not None:
            passage.mediate(self.mediator)
        if door.options.stale is not None and not passage.blocked:
            passage.earlier_bytes = door.earlier(operation, passage.arguments)
        return passage

    def _give_up(self, passage: Passage) -> None:
        """Write down a crossing that the target cancelled or closed, or that was still open when the run ended."""
        is_freed = self.over and not self.loop.is_running()  # by Python, after the run
        if passage.door.options.injectable:
            self.crossings.append(passage.recorded())
        if not (self.recorder.full or is_freed):
            landed = None if passage.injection is None else _landed(passage, passage.injection)
            self.recorder.append(passage, StepKind.CANCELLED, self.loop.now, landed=landed)

    def let_go(self) -> None:
        """Forget doors and calls, so that a finished run is freed at once.

        Left to the garbage collector, what a run of six crossings leaves behind would cost a sixth of it.
        """
        self.doors.clear()
        self.asked.clear()

    def settled(self, outcome: Outcome) -> Outcome:
        """Return what the target handed back, with what is known of the state of the world."""
        return outcome

    def final_state(self) -> Plain:
        """Return the state of the world at the end of the run, whatever it was; `None` where the target does not say.

        Raises:
            TargetError: The function that the target declared raised, or gave what is not plain data.
        """
        if self._state is None:
            return None
        try:
            return plain(self._state(), RECORD_DEPTH)
        except (KeyboardInterrupt, MemoryError):
            raise  # of this process, not of the target
        except BaseException as error:  # a declaration's mistake must not look like a state
            text = f"{STATE_MISSING} the function that returns the state raised {with_place(error)}"
            raise TargetError(text) from error

    def _elsewhere(self, door: LiveDoor) -> ChaosAgentError:
        return self.recorder.refuse(
            TargetError(
                f"{door.interface} is called from another thread or event loop than its run's; there the order of "
                "calls depends on chance. In an asynchronous target, call it with asyncio.run_coroutine_threadsafe "
                "and the run's loop, or from the loop itself."
            )
        )


def _landed(passage: Passage, injection: Injection) -> Landed:
    landing = Landing.NO_CHANGE if passage.acted < 0 else Landing.LANDED
    return Landed(str(injection), injection.operator_name, landing, injection.operator.describe())


def _stop() -> NoReturn:
    raise RunEnded("the run is over")

"""A run outside a study: a target in earnest, with its doors in place and nothing recorded, checked or injected.

    outcome = await shop.run(task, UntracedRun(task))

The program of the target stays as it is. Time is real, nothing is copied, and only the mediator goes on to decide: it
is part of the target.
"""

from __future__ import annotations

import asyncio
import inspect
import random
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

from chaosagent.clock import Clock, monotonic
from chaosagent.effects.failed_when import FailedWhenForm
from chaosagent.effects.rule import EffectRule
from chaosagent.execution.run.actor import ACTING, ActingAs
from chaosagent.execution.run.door_opener import check_service_options
from chaosagent.execution.run.doors import (
    by_name,
    dispatcher,
    function_of,
)
from chaosagent.execution.run.network_links import DirectLink, RemoteService
from chaosagent.execution.run.own_worlds import DictionaryMemory, Mailbox, read_text, tool_list
from chaosagent.governance.action import Action
from chaosagent.governance.mediator import Mediator
from chaosagent.seeds import derive
from chaosagent.targets.target import Committed, Connect, Door, Errors, Implementation, ServiceOptions, Upstream
from chaosagent.vocabulary import ActionBlocked, Boundary, Mediation, SystemConfig, Task


class UntracedRun:
    """Implements `chaosagent.targets.target.Run`.

    Args:
        task: The task instance.
        config: The configuration; the default one when not given.
        seed: From which the target's random streams are derived.
        synchronous: The target is a plain function and calls its doors without `await`.
    """

    def __init__(
        self, task: Task, config: SystemConfig | None = None, seed: int = 0, *, synchronous: bool = False
    ) -> None:
        self.task, self.config, self.seed = task, SystemConfig() if config is None else config, seed
        self.clock: Clock = RealClock(synchronous=synchronous)
        self.mediator: Mediator | None = None
        self._door_class = SynchronousDoor if synchronous else UntracedDoor
        self._doors: dict[str, Door] = {}
        self._mailboxes: dict[str, Mailbox] = {}
        self._streams: dict[str, random.Random] = {}

    # ------------------------------------------------------------------ doors

    def service(
        self,
        name: str,
        implementation: Implementation,
        **options: Unpack[ServiceOptions],  # here and below: what only a study asks for
    ) -> Door:
        """See `chaosagent.targets.target.Run`, as for the other doors."""
        check_service_options(name, options)
        return self._door(Boundary.SERVICE, name, implementation)

    def retrieval(
        self,
        name: str,
        implementation: Implementation,
        *,
        pure: bool = False,  # noqa: ARG002
        errors: Errors = (),  # noqa: ARG002
    ) -> Door:
        return self._door(Boundary.RETRIEVAL, name, implementation)

    def memory(
        self,
        name: str,
        implementation: Implementation | None = None,
        *,
        errors: Errors = (),  # noqa: ARG002
    ) -> Door:
        return self._door(Boundary.MEMORY, name, implementation, DictionaryMemory)

    def model(
        self,
        name: str,
        implementation: Implementation,
        *,
        pure: bool = True,  # noqa: ARG002
        errors: Errors = (),  # noqa: ARG002
    ) -> Door:
        return self._door(Boundary.MODEL, name, implementation)

    def message(
        self,
        name: str,
        implementation: Implementation | None = None,
        *,
        errors: Errors = (),  # noqa: ARG002
    ) -> Door:
        return self._door(Boundary.MESSAGE, name, implementation, lambda: self._mailbox(name))

    def tools(self, name: str, implementation: Implementation) -> Door:
        return self._door(Boundary.TOOLS, name, tool_list(implementation))

    def network(
        self,
        name: str,
        upstream: Upstream,
        connect: Connect,
        *,
        committed: Committed | None = None,  # noqa: ARG002
        effects: Mapping[str, EffectRule] | None = None,  # noqa: ARG002
        failed_when: FailedWhenForm | None = None,  # noqa: ARG002
        read_only: bool | Iterable[str] = False,  # noqa: ARG002
        errors: Errors = (),  # noqa: ARG002
    ) -> Door:
        return self._door(Boundary.NETWORK, name, DirectLink(RemoteService(name, upstream, connect)))

    def prompt(self, name: str) -> Door:
        return self._door(Boundary.PROMPT, name, read_text)

    def receive(self, name: str, agent: str) -> Any:
        boxes = {"receive": self._mailbox(name).receive}
        return self._door_class(self, Boundary.MESSAGE, f"{name}:inbox", boxes)("receive", agent=agent)

    def _mailbox(self, name: str) -> Mailbox:
        return self._mailboxes.setdefault(name, Mailbox())

    def _door(
        self,
        boundary: Boundary,
        name: str,
        implementation: Implementation | None,
        default: Callable[[], object] | None = None,
    ) -> Door:
        key = f"{boundary.value}:{name}"
        door = self._doors.get(key)
        if door is None:
            behind = default() if implementation is None and default is not None else implementation
            door = self._doors[key] = self._door_class(self, boundary, name, behind)
        return door

    # ------------------------------------------------------------------ what else a target may say and ask

    def agent(self, name: str, role: str = "") -> AbstractContextManager[None]:
        return ActingAs(name, role)

    def mediate(self, mediator: Mediator | None) -> None:
        self.mediator = mediator

    def rng(self, label: str) -> random.Random:
        stream = self._streams.get(label)
        if stream is None:
            stream = self._streams[label] = derive(self.seed, "target", label)
        return stream

    def note(self, kind: str, /, **facts: Any) -> None:
        """Nobody reads it."""

    def state(self, state: Callable[[], Any], /) -> None:
        """Nobody asks for it."""

    def inconclusive(self, reason: str) -> NoReturn:
        raise RuntimeError(f"the run can show nothing further: {reason}")

    def link(self, source: str, relation: str, target: str) -> None:
        """Nobody reads it."""

    def artifact(self) -> str:
        return ""

    def checkpoint(self, place: str, state: Any, *, clock_matters: bool = True, artifacts_matter: bool = True) -> None:
        """Nobody compares it."""


class UntracedDoor:
    """One interface of a run outside a study: hands every call on as it is."""

    __slots__ = ("_asynchronous", "_call", "_implementation", "_known", "_run", "boundary", "interface")

    def __init__(self, run: UntracedRun, boundary: Boundary, name: str, implementation: Implementation) -> None:
        self._run, self.boundary, self.interface = run, boundary, f"{boundary.value}:{name}"
        self._implementation, self._call = implementation, dispatcher(self.interface, implementation)
        self._known: dict[str, Callable[..., Any]] = {}
        self._asynchronous: dict[str, Callable[..., Any]] = {}

    def __call__(self, operation: str, /, **arguments: Any) -> Any:
        if self._run.mediator is not None:
            return self._mediated(self._run.mediator, operation, arguments)
        asynchronous = self._asynchronous.get(operation)
        if asynchronous is not None:
            return asynchronous(**arguments)
        return _called(self._known.get(operation) or self.find(operation), arguments)

    if not TYPE_CHECKING:  # a type checker is to complain of such a name itself

        def __getattr__(self, name: str) -> NoReturn:
            raise by_name(self, name)

    async def _mediated(self, mediator: Mediator, operation: str, arguments: dict[str, Any]) -> Any:
        allowed = permitted_arguments(self, mediator, operation, arguments)
        return await _called(self._known.get(operation) or self.find(operation), allowed)

    def find(self, operation: str) -> Callable[..., Any]:
        """Return what an operation calls; a method is looked up once, which halves what a door costs."""
        function = None if callable(self._implementation) else function_of(self._implementation, operation)
        if function is None:
            return lambda **arguments: self._call(operation, arguments)
        self._known[operation] = function
        if inspect.iscoroutinefunction(function):
            self._asynchronous[operation] = function
        return function

    def ask(self, operation: str, /, **arguments: Any) -> UntracedAsk:
        """Return one logical call that may be attempted several times."""
        return UntracedAsk(self, operation, arguments)


class SynchronousDoor(UntracedDoor):
    """The same for a target that calls its doors without `await`."""

    __slots__ = ()

    def __call__(self, operation: str, /, **arguments: Any) -> Any:
        if self._run.mediator is not None:
            arguments = permitted_arguments(self, self._run.mediator, operation, arguments)
        value = (self._known.get(operation) or self.find(operation))(**arguments)
        return asyncio.run(_awaited(value)) if hasattr(value, "__await__") else value


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


async def _called(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    value = function(**arguments)
    return await value if hasattr(value, "__await__") else value


class UntracedAsk:
    """One logical call."""

    __slots__ = ("_arguments", "_door", "_operation")

    def __init__(self, door: UntracedDoor, operation: str, arguments: dict[str, Any]) -> None:
        self._door, self._operation, self._arguments = door, operation, arguments

    def attempt(self) -> Any:
        """Send the request, again if it was sent before."""
        return self._door(self._operation, **self._arguments)


class RealClock(Clock):
    """The clock of a run outside a study: seconds pass as they do."""

    __slots__ = ("_begun",)

    of_study = False

    def __init__(self, *, synchronous: bool = False) -> None:
        self._synchronous, self._begun = synchronous, monotonic()

    def now(self) -> float:
        """Return the real seconds since the run began."""
        return monotonic() - self._begun

    def sleep(self, seconds: float) -> Any:
        """Wait for some real seconds: `await clock.sleep(5)`, in a synchronous target without `await`."""
        return threading.Event().wait(max(seconds, 0.0)) if self._synchronous else asyncio.sleep(seconds)

    @property
    def virtual(self) -> bool:
        """They are not."""
        return False


def permitted_arguments(
    door: UntracedDoor, mediator: Mediator, operation: str, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments that a mediator lets pass.

    Raises:
        ActionBlocked: It blocks the action.
    """
    agent, role = ACTING.get()
    ruling = mediator.decide(Action(agent, role, door.boundary, door.interface, operation, arguments))
    if ruling.mediation is Mediation.BLOCK:
        raise ActionBlocked(ruling.reason)
    return dict(arguments if ruling.arguments is None else ruling.arguments)

"""The doors of a run, and the worlds that chaosagent itself puts behind some of them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chaosagent.canonical import Plain
from chaosagent.errors import TargetError
from chaosagent.faults.injection import Place
from chaosagent.targets.target import EffectOf, EffectRule, Implementation
from chaosagent.vocabulary import Boundary, Effect

if TYPE_CHECKING:
    from chaosagent.execution.run import LiveRun


class DoorOptions:
    """What a target declares about an interface; see `chaosagent.targets.target.Run`."""

    __slots__ = ("effects", "egress", "errors", "read_only", "stale")

    def __init__(
        self,
        *,
        effects: Mapping[str, EffectRule] | None = None,
        read_only: bool | frozenset[str] = False,
        stale: Callable[[str, Mapping[str, Plain]], Plain] | None = None,
        errors: Sequence[type[Exception]] = (),
        egress: bool = False,
    ) -> None:
        self.effects = dict(effects or {})
        self.read_only = read_only
        self.stale = stale
        self.errors = {error.__name__: error for error in errors}
        self.egress = egress


class LiveDoor:
    """One interface of a run: counts who asks, and hands on to the crossing pipeline."""

    __slots__ = ("_run", "boundary", "call", "counts", "history", "implementation", "interface", "options")

    def __init__(
        self,
        run: LiveRun,
        boundary: Boundary,
        name: str,
        implementation: Implementation,
        options: DoorOptions,
    ) -> None:
        self._run = run
        self.boundary = boundary
        self.interface = f"{boundary.value}:{name}"
        self.implementation = implementation
        self.options = options
        self.call = dispatcher(self.interface, implementation)
        self.counts: dict[str, int] = {}
        self.history: deque[tuple[bytes, bytes]] = deque(maxlen=8)

    def __call__(self, operation: str, /, **arguments: Any) -> Any:
        return self._run.enter(self, self.ask_place, operation, arguments)

    def ask(self, operation: str, /, **arguments: Any) -> LiveAsk:
        """Return one logical call that may be attempted several times."""
        return LiveAsk(self._run, self, operation, arguments)

    def ask_place(self, agent: str) -> Place:
        """Count one more call of an agent and return its place."""
        occurrence = self.counts.get(agent, 0) + 1
        self.counts[agent] = occurrence
        return Place(self.interface, agent, occurrence)

    def is_read_only(self, operation: str) -> bool:
        """Whether the target declares that an operation changes nothing."""
        declared = self.options.read_only
        return declared if isinstance(declared, bool) else operation in declared

    def effects_of(self, operation: str, arguments: Mapping[str, Plain], answer: Plain) -> tuple[Effect, ...]:
        """Return what a successful call committed, as the target declares it."""
        rule = self.options.effects.get(operation)
        if rule is None:
            return ()
        if isinstance(rule, EffectOf):
            identity = {name: arguments.get(name) for name in rule.identity}
            return (Effect(rule.kind or f"{self.interface.partition(':')[2]}.{operation}", identity, rule.impact),)
        found = rule(arguments, answer)
        if found is None:
            return ()
        return (found,) if isinstance(found, Effect) else tuple(found)


class LiveAsk:
    """One logical call; its place is counted at the first attempt."""

    __slots__ = ("_arguments", "_attempts", "_door", "_operation", "_place", "_run")

    def __init__(self, run: LiveRun, door: LiveDoor, operation: str, arguments: dict[str, Any]) -> None:
        self._run, self._door, self._operation, self._arguments = run, door, operation, arguments
        self._place: Place | None = None
        self._attempts = 0

    def attempt(self) -> Any:
        """Send the request, again if it was sent before."""
        return self._run.enter(self._door, self._next_place, self._operation, dict(self._arguments))

    def _next_place(self, agent: str) -> Place:
        if self._place is None:
            self._place = self._door.ask_place(agent)
            return self._place
        self._attempts += 1
        return self._place._replace(attempt=self._attempts)


def dispatcher(interface: str, implementation: Implementation) -> Callable[[str, Mapping[str, Any]], Any]:
    """Return how an operation is called behind a door.

    Raises:
        TargetError: The implementation is nothing that can be called.
    """
    if isinstance(implementation, Mapping):
        operations = implementation

        def call_entry(operation: str, arguments: Mapping[str, Any]) -> Any:
            if operation not in operations:
                raise LookupError(f"{interface} has no operation {operation!r}")
            return operations[operation](**arguments)

        return call_entry
    if callable(implementation):
        function = implementation
        return lambda operation, arguments: function(operation, **arguments)
    if implementation is None or isinstance(implementation, str | bytes | int | float | list | tuple):
        raise TargetError(
            f"The implementation behind {interface} is {implementation!r:.80}; it must be a function "
            "(operation, **arguments), a mapping from operation to function, or an object with methods."
        )

    def call_method(operation: str, arguments: Mapping[str, Any]) -> Any:
        method = None if operation.startswith("_") else getattr(implementation, operation, None)
        if not callable(method):
            raise LookupError(f"{interface} has no operation {operation!r}")
        return method(**arguments)

    return call_method


class DictionaryMemory:
    """A shared memory in a dictionary."""

    def __init__(self) -> None:
        self._entries: dict[str, Plain] = {}

    def read(self, key: str) -> Plain:
        """Return what was written last under a key, `None` if nothing."""
        return self._entries.get(key)

    def write(self, key: str, value: Plain) -> None:
        """Put a value under a key."""
        self._entries[key] = value

    def append(self, key: str, value: Plain) -> None:
        """Add a value to the list under a key."""
        before = self._entries.get(key)
        self._entries[key] = [*before, value] if isinstance(before, list) else [value]

    def keys(self) -> list[str]:
        """Return the keys, sorted."""
        return sorted(self._entries)


class Mailbox:
    """A channel between agents: messages wait until their recipient takes them."""

    def __init__(self) -> None:
        self.waiting: dict[str, deque[Plain]] = {}
        self._receivers: dict[str, deque[asyncio.Future[None]]] = {}

    def send(self, to: str, body: Plain = None) -> None:
        """Put a message into the recipient's box."""
        self.waiting.setdefault(to, deque()).append(body)
        receivers = self._receivers.get(to)
        while receivers:
            receiver = receivers.popleft()
            if not receiver.done():
                receiver.set_result(None)
                break

    async def receive(self, agent: str) -> Plain:
        """Take the oldest message to an agent, waiting for one if there is none."""
        while not self.waiting.get(agent):
            receiver: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._receivers.setdefault(agent, deque()).append(receiver)
            await receiver
        return self.waiting[agent].popleft()


def read_text(operation: str, **arguments: Any) -> Any:  # noqa: ARG001  # what stands behind a prompt door
    """Return the text that is read into a context."""
    if "text" in arguments:
        return arguments["text"]
    raise LookupError("a prompt door is called with text=...")

"""The doors of a run, and the worlds that chaosagent itself puts behind some of them."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import inspect
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol, TypeGuard, cast

from chaosagent.canonical import Plain, pack, plain
from chaosagent.errors import TargetError
from chaosagent.execution.crash_location import with_place
from chaosagent.execution.run.frozen import Frozen
from chaosagent.faults.injection import Place
from chaosagent.targets.target import Committed, EffectOf, EffectRule, Implementation
from chaosagent.vocabulary import Boundary, Effect


class DoorOptions(NamedTuple):
    """What a target declares about an interface; see `chaosagent.targets.target.Run`.

    Nothing is injected at a door that is not `injectable`: taking a message out of a box, whose faults are those of
    its sending.
    """

    effects: Mapping[str, EffectRule] = MappingProxyType({})
    read_only: bool | frozenset[str] = False
    pure: bool | frozenset[str] = False
    stale: Callable[[str, Mapping[str, Plain]], Plain] | None = None
    errors: Mapping[str, type[Exception]] = MappingProxyType({})
    egress: bool = False
    injectable: bool = True
    committed: Committed | None = None


class DoorRun(Protocol):
    """The part of a run that its doors use."""

    frozen: Frozen | None

    def enter(self, door: LiveDoor, place_of: Callable[[str], Place], operation: str, arguments: dict[str, Any]) -> Any:
        """Cross a boundary; an awaitable, or in a synchronous target the answer itself."""
        ...


class NamedDoor(Protocol):
    """A door of any run."""

    interface: str


class LiveDoor:
    """One interface of a run: counts who asks, and hands on to the crossing pipeline."""

    __slots__ = ("_run", "boundary", "call", "counts", "history", "implementation", "interface", "options")

    def __init__(
        self,
        run: DoorRun,
        boundary: Boundary,
        name: str,
        implementation: Implementation,
        options: DoorOptions,
    ) -> None:
        self._run = run
        self.boundary = boundary
        self.interface = f"{boundary._value_}:{name}"
        self.implementation = implementation
        self.options = options
        self.call = dispatcher(self.interface, implementation)
        if run.frozen is not None and options.pure:
            self.call = run.frozen.around(self.call, self.is_pure, options.errors)
        _check_effects(self.interface, implementation, options)
        self.counts: dict[str, int] = {}
        self.history: deque[tuple[bytes, bytes]] = deque(maxlen=8)

    def __call__(self, operation: str, /, *positional: Any, **arguments: Any) -> Any:
        if positional:  # taking them to refuse them costs 5 ns of a crossing
            raise by_keyword(self.interface, self.implementation, operation, len(positional))
        return self._run.enter(self, self.ask_place, operation, arguments)

    if not TYPE_CHECKING:  # a type checker is to complain of such a name itself

        def __getattr__(self, name: str) -> NoReturn:
            raise by_name(self, name)

    def ask(self, operation: str, /, *positional: Any, **arguments: Any) -> LiveAsk:
        """Return one logical call that may be attempted several times."""
        if positional:
            raise by_keyword(self.interface, self.implementation, operation, len(positional))
        return LiveAsk(self._run, self, operation, arguments)

    def ask_place(self, agent: str) -> Place:
        """Count one more call of an agent and return its place.

        Raises:
            TargetError: Some calls come from named agents and others do not: a hook without an agent would mean both.
        """
        occurrence = self.counts.get(agent, 0) + 1
        if occurrence == 1 and self.counts and (not agent or "" in self.counts):
            named = agent or next(iter(self.counts))
            raise TargetError(
                f"{self.interface} is called by the agent {named!r} and by nobody in particular; then places cannot be "
                "told apart. Put every call into a `with run.agent(...)` block, or none."
            )
        self.counts[agent] = occurrence
        return tuple.__new__(Place, (self.interface, agent, occurrence, 0))  # half the time of calling the class

    def earlier(self, operation: str, arguments: Mapping[str, Plain]) -> bytes:
        """Return the canonical bytes of what a cache would still hold, as the target declares it; empty if nothing.

        Raises:
            TargetError: The declaration raised something else than `LookupError`, or gave what is not plain data.
        """
        stale = self.options.stale
        if stale is None:
            return b""
        try:
            return pack((stale(operation, arguments), None))
        except LookupError:
            return b""
        except Exception as error:  # a declaration's mistake must not look like an answer of the world
            raise TargetError(f"stale of {self.interface}, {operation}: {with_place(error)}") from error

    def content(self) -> Plain:
        """Return what is kept behind a door whose world is chaosagent's own, for fingerprints."""
        return self.implementation.entries if isinstance(self.implementation, DictionaryMemory) else None

    def is_read_only(self, operation: str) -> bool:
        """Whether the target declares that an operation changes nothing."""
        declared = self.options.read_only
        return declared if isinstance(declared, bool) else operation in declared

    def is_pure(self, operation: str) -> bool:
        """Whether the target declares that an answer depends on the request and on chance alone."""
        declared = self.options.pure
        return declared if isinstance(declared, bool) else operation in declared

    def effects_of(self, operation: str, arguments: Mapping[str, Plain], answer: Plain) -> tuple[Effect, ...]:
        """Return what a successful call committed, as the target declares it.

        Raises:
            TargetError: The declaration raised, or gave something else than effects of plain data.
        """
        rule = self.options.effects.get(operation)
        if rule is None:
            return ()
        if isinstance(rule, EffectOf):
            identity = {name: arguments.get(name) for name in rule.identity}
            for name in rule.identity:
                if name not in arguments and name not in _parameters(self.implementation, operation):
                    raise TargetError(
                        f"effects of {self.interface}, {operation}: the identity has {name!r}, which the call does not "
                        f"have; its arguments are {', '.join(arguments) or 'none'}. Correct the name."
                    )
            return (Effect(rule.kind or f"{self.interface.partition(':')[2]}.{operation}", identity, rule.impact),)
        try:
            found = rule(arguments, answer)
            listed = () if found is None else (found,) if isinstance(found, Effect) else tuple(found)
            return tuple(_checked(effect) for effect in listed)
        except Exception as error:  # a declaration's mistake must not look like an answer of the world
            raise TargetError(f"effects of {self.interface}, {operation}: {with_place(error)}") from error


def _checked(effect: object) -> Effect:
    if not isinstance(effect, Effect):
        raise TypeError(f"{effect!r:.80} is no Effect")
    return effect._replace(identity=cast("dict[str, Plain]", plain(effect.identity)))


def _check_effects(interface: str, implementation: Implementation, options: DoorOptions) -> None:
    """Refuse effects of operations that change nothing or that nobody knows.

    Raises:
        TargetError: There are such.
    """
    for operation in options.effects:
        if options.read_only is True or (options.read_only and operation in options.read_only):
            raise TargetError(
                f"{interface} declares {operation!r} read-only and declares its effects, too. Leave out one of them."
            )
        if options.pure is True or (options.pure and operation in options.pure):
            raise TargetError(
                f"{interface} declares {operation!r} pure and declares its effects, too. What has effects must not be "
                "answered from memory: leave it out of `pure`."
            )
        if function_of(implementation, operation) is None:
            known = list(implementation) if _is_mapping(implementation) else dir(implementation)
            nearest = difflib.get_close_matches(operation, known, n=1, cutoff=0.4)
            meant = f"Did you mean {nearest[0]!r}?" if nearest else "Correct the name."
            raise TargetError(f"{interface} declares effects of {operation!r}, an operation it does not have. {meant}")


def function_of(implementation: Implementation, operation: str) -> Callable[..., Any] | None:
    """Return the function behind an operation, `None` when there is none."""
    if _is_mapping(implementation):
        return implementation.get(operation)
    if callable(implementation):
        return implementation
    method = None if operation.startswith("_") else getattr(implementation, operation, None)
    return method if callable(method) else None


def by_keyword(interface: str, implementation: Implementation, operation: str, count: int) -> TypeError:
    """Return what is raised for arguments without a name, with the call as it should be."""
    function = function_of(implementation, operation)
    names: list[str] = []
    if function is not None and function is not implementation:  # one function for all operations does not tell
        with contextlib.suppress(TypeError, ValueError):
            parameters = inspect.signature(function).parameters.values()
            names = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    shown = ", ".join(f"{name}=..." for name in names[:count]) or "name=..."
    return TypeError(f"{interface} takes the arguments of an operation by keyword: door({operation!r}, {shown})")


def by_name(door: NamedDoor, name: str) -> AttributeError:
    """Return what is raised for an operation that is asked for as if it were a method, with the right call."""
    if name.startswith("_") or name == "interface":  # Python asks for such by itself, also of a door that is half made
        return AttributeError(name)
    return AttributeError(
        f"{door.interface} has no attribute {name!r}; an operation is called as door({name!r}, name=...)"
    )


def _is_mapping(implementation: Implementation) -> TypeGuard[Mapping[str, Callable[..., Any]]]:
    return type(implementation) is dict or isinstance(implementation, Mapping)  # the first is told in a tenth of a µs


def _parameters(implementation: Implementation, operation: str) -> frozenset[str]:
    """Return the names of what a function takes; an argument that a call leaves out has its default."""
    function = function_of(implementation, operation)
    try:
        return frozenset(inspect.signature(function).parameters) if function is not None else frozenset()
    except (TypeError, ValueError):  # a function that does not tell
        return frozenset()


class LiveAsk:
    """One logical call; its place is counted at the first attempt."""

    __slots__ = ("_arguments", "_attempts", "_door", "_operation", "_place", "_run")

    def __init__(self, run: DoorRun, door: LiveDoor, operation: str, arguments: dict[str, Any]) -> None:
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
    if _is_mapping(implementation):
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
        self.entries: dict[str, Plain] = {}

    def read(self, key: str) -> Plain:
        """Return what was written last under a key, `None` if nothing."""
        return self.entries.get(key)

    def write(self, key: str, value: Plain) -> None:
        """Put a value under a key."""
        self.entries[key] = value

    def append(self, key: str, value: Plain) -> None:
        """Add a value to the list under a key."""
        before = self.entries.get(key)
        self.entries[key] = [*before, value] if isinstance(before, list) else [value]

    def keys(self) -> list[str]:
        """Return the keys, sorted."""
        return sorted(self.entries)


class Mailbox:
    """A channel between agents: messages wait until their recipient takes them."""

    def __init__(self) -> None:
        self.waiting: dict[str, deque[Plain]] = {}
        self._receivers: dict[str, deque[asyncio.Future[None]]] = {}

    def send(self, to: str, body: Plain = None) -> None:
        """Put a message into the recipient's box."""
        self.waiting.setdefault(to, deque()).append(body)
        self._wake(to)

    async def receive(self, agent: str) -> Plain:
        """Take the oldest message to an agent, waiting for one if there is none."""
        while not self.waiting.get(agent):
            receiver: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._receivers.setdefault(agent, deque()).append(receiver)
            try:
                await receiver
            except asyncio.CancelledError:
                if receiver.done() and not receiver.cancelled():
                    self._wake(agent)  # it was woken for a message that it will not take
                raise
        return self.waiting[agent].popleft()

    def content(self) -> Plain:
        """Return the messages that wait, by recipient, for fingerprints."""
        return {to: list(box) for to, box in self.waiting.items() if box}

    def _wake(self, agent: str) -> None:
        receivers = self._receivers.get(agent)
        while receivers:
            receiver = receivers.popleft()
            if not receiver.done():
                receiver.set_result(None)
                break


@dataclass(frozen=True, slots=True)
class ToolList:
    """Tools that an agent gets, behind a door; equal lists open the same door.

    Attributes:
        tools: Their descriptions.
    """

    tools: list[Any]

    def list(self) -> list[Any]:
        """Return the descriptions."""
        return self.tools


def tool_list(implementation: Implementation) -> Implementation:
    """Return what stands behind a door to descriptions of tools; a bare list answers `list`."""
    return ToolList(implementation) if isinstance(implementation, list) else implementation


def read_text(operation: str, /, **arguments: Any) -> Any:  # noqa: ARG001  # what stands behind a prompt door
    """Return the text that is read into a context."""
    if "text" in arguments:
        return arguments["text"]
    raise LookupError("a prompt door is called with text=...")

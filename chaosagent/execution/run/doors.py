"""The doors of a run."""

from __future__ import annotations

import contextlib
import difflib
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol, TypeGuard

from chaosagent.canonical import Plain, pack
from chaosagent.effects.failed_when import EVERY, NOTHING, FailedWhen, failed_when_from
from chaosagent.effects.ledger import Ledger
from chaosagent.effects.rule import EffectRule, UnknownArgumentError, effects_by, is_effect_rule, is_idempotent
from chaosagent.errors import TargetError, UsageError
from chaosagent.execution.crash_location import with_place
from chaosagent.execution.run.frozen import Frozen
from chaosagent.execution.run.own_worlds import DictionaryMemory
from chaosagent.faults.injection import Place
from chaosagent.targets.target import Committed, Implementation
from chaosagent.vocabulary import Boundary, Effect


class DoorOptions(NamedTuple):
    """What a target declares about an interface; see `chaosagent.targets.target.Run`.

    Nothing is injected at a door that is not `injectable`: taking a message out of a box, whose faults are those of
    its sending.
    """

    effects: Mapping[str, EffectRule] = MappingProxyType({})
    failed_when: FailedWhen = NOTHING
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
    ledger: Ledger

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

    def failure_in(self, operation: str, arguments: Mapping[str, Plain], answer: Plain) -> str:
        """Return in a few words why an answer is a failed call, as the target declares it; empty when it is none.

        Raises:
            TargetError: The declaration raised, or returned neither `True` nor `False`.
        """
        try:
            return self.options.failed_when.why(operation, arguments, answer)
        except Exception as error:  # a declaration's mistake must not look like an answer of the world
            raise TargetError(f"failed_when of {self.interface}, {operation}: {with_place(error)}") from error

    def effects_of(self, operation: str, arguments: Mapping[str, Plain], answer: Plain) -> tuple[Effect, ...]:
        """Return what a call that was answered committed, as the target declares it; nothing where it failed.

        Raises:
            TargetError: A declaration raised, or gave something else than effects of plain data.
        """
        options = self.options
        rule = options.effects.get(operation)
        if rule is None or (options.failed_when and self.failure_in(operation, arguments, answer)):
            return ()
        kind = f"{self.interface.partition(':')[2]}.{operation}"
        try:
            found = effects_by(
                rule, arguments, answer, kind, optional=lambda: _parameters(self.implementation, operation)
            )
        except UnknownArgumentError as error:
            raise TargetError(
                f"effects of {self.interface}, {operation}: the identity has {error.args[0]!r}, which the call does "
                f"not have; its arguments are {', '.join(arguments) or 'none'}. Correct the name."
            ) from None
        except Exception as error:  # a declaration's mistake must not look like an answer of the world
            raise TargetError(f"effects of {self.interface}, {operation}: {with_place(error)}") from error
        return self._run.ledger.new(found, idempotent=is_idempotent(rule))


def failed_when_of(interface: str, given: object) -> FailedWhen:
    """Return which answers of an interface are failed calls.

    Raises:
        TargetError: The target says it in no form that is known.
    """
    try:
        return failed_when_from(given, f"failed_when of {interface}")
    except UsageError as error:
        raise TargetError(str(error)) from error


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
            nearest = difflib.get_close_matches(operation, _operations(implementation), n=1, cutoff=0.4)
            meant = f"Did you mean {nearest[0]!r}?" if nearest else "Correct the name."
            raise TargetError(f"{interface} declares effects of {operation!r}, an operation it does not have. {meant}")
        rule: object = options.effects[operation]
        if not is_effect_rule(rule):
            raise TargetError(
                f"{interface} declares {rule!r:.80} as effects of {operation!r}. Write chaosagent.effect('order'), "
                "with the names of the arguments that identify an effect, or a function of arguments and answer."
            )
    for operation in options.failed_when.conditions:
        if operation != EVERY and function_of(implementation, operation) is None:
            try:
                options.failed_when.check(_operations(implementation), f"failed_when of {interface}")
            except UsageError as error:
                raise TargetError(str(error)) from error


def _operations(implementation: Implementation) -> list[str]:
    return list(implementation) if _is_mapping(implementation) else dir(implementation)


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
                raise LookupError(_no_operation(interface, operation, operations))
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
            raise LookupError(_no_operation(interface, operation))
        return method(**arguments)

    return call_method


def _no_operation(interface: str, operation: str, known: Iterable[str] = ()) -> str:
    nearest = difflib.get_close_matches(operation, list(known), n=1)
    return f"{interface} has no operation {operation!r}" + (f". Did you mean {nearest[0]!r}?" if nearest else "")

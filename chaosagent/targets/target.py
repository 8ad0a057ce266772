"""What a target is, and what a run gives it."""

from __future__ import annotations

import inspect
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn, Protocol, TypeAlias, TypedDict, Unpack, overload

from chaosagent.canonical import Plain
from chaosagent.clock import Clock
from chaosagent.effects.failed_when import FailedWhenForm
from chaosagent.effects.rule import EffectRule
from chaosagent.errors import TargetError, UnknownNameError, UsageError
from chaosagent.governance.mediator import Mediator
from chaosagent.lists import list_of
from chaosagent.targets.decorated import check_function, check_tasks, checked_secrets
from chaosagent.vocabulary import ClockKind, Effect, Outcome, SystemConfig, Task

Implementation: TypeAlias = "Callable[..., Any] | Mapping[str, Callable[..., Any]] | object"
Upstream: TypeAlias = "str | Callable[[], str]"
Connect: TypeAlias = Callable[[str, int], Any]
Committed: TypeAlias = "Callable[[], Iterable[Effect] | Awaitable[Iterable[Effect]]]"
Errors: TypeAlias = Sequence[type[Exception]]
ObjectiveFunction: TypeAlias = "Callable[[Task, Outcome], bool]"


class Door(Protocol):
    """One interface of a target.

    Calling it crosses the boundary: `answer = await crm("get_order", order_id=7)`; in a synchronous target without
    `await`. What fails raises: `TimeoutError`, `ConnectionError`, `chaosagent.StatusError`,
    `chaosagent.ActionBlocked`, or the exception of the function behind the door.
    """

    def __call__(self, operation: str, /, **arguments: Any) -> Any: ...

    def ask(self, operation: str, /, **arguments: Any) -> Ask:
        """Return one logical call that may be attempted several times by a layer below the agent."""
        ...


class Ask(Protocol):
    """One logical call: each `await ask.attempt()` is the same request again, told apart as `service:crm[2.1]`."""

    def attempt(self) -> Any: ...


class ServiceOptions(TypedDict, total=False):
    """What a target says of the door to a tool or service; see `Run`."""

    effects: Mapping[str, EffectRule] | None
    failed_when: FailedWhenForm | None
    read_only: bool | Iterable[str]
    pure: bool | Iterable[str]
    stale: Callable[[str, Mapping[str, Plain]], Plain] | None
    errors: Errors
    egress: bool


class Run(Protocol):
    """One run: the target's only doors to the world.

    Every door takes the implementation behind it: a function `(operation, **arguments)`, a mapping from operation to
    function, or an object whose methods are the operations; each may be asynchronous. What crosses is plain data:
    each side gets a fresh copy, with lists for tuples and mappings for dataclasses and models, keys in order.

    The options of a door:
        effects: Which operations commit what, by operation: `effect("order_id", "amount")`, or a function of arguments
            and answer that returns the committed effects (none for a repeated idempotency key, for example).
        failed_when: Which answers are failed calls, though the agent gets them as answers, such as texts that begin
            with `Error`: they commit nothing. A condition for all operations, or a mapping from operations to
            conditions, see `chaosagent.effects.condition`: `"^Error"`, `{"refund": {"json": "status", "is": "error"}}`,
            or a function of arguments and answer.
        read_only: Operations that change nothing, or `True` for all.
        pure: Operations whose answer depends on the request and on chance alone, and not on what was done before, such
            as a model's (which is pure unless it is said otherwise); or `True` for all. Where a target is stochastic,
            a study freezes their answers: the same request at the same place gets the same one.
        stale: What a cache would hold: a function `(operation, arguments)` that returns an older answer or raises
            `LookupError`.
        errors: Exception classes that the implementation raises on purpose, so that a replay can raise them again.
        egress: Whether what is sent here leaves the organisation, for `no-leak`.
    """

    @property
    def task(self) -> Task: ...
    @property
    def config(self) -> SystemConfig: ...
    @property
    def seed(self) -> int: ...
    @property
    def clock(self) -> Clock: ...

    def service(self, name: str, implementation: Implementation, **options: Unpack[ServiceOptions]) -> Door:
        """Open the door to a tool or service.

        Args:
            name: Of the interface.
            implementation: What stands behind it.
            options: See above; any of `effects`, `failed_when`, `read_only`, `pure`, `stale`, `errors`, `egress`.

        Raises:
            TypeError: There is no such option.
        """
        ...

    def retrieval(self, name: str, implementation: Implementation, *, pure: bool = False, errors: Errors = ()) -> Door:
        """Open the door to a retriever; answers are lists of passages, mappings with `id` and `text`, best first."""
        ...

    def memory(self, name: str, implementation: Implementation | None = None, *, errors: Errors = ()) -> Door:
        """Open the door to a shared memory with `read(key)` and `write(key, value)`; a dictionary by default."""
        ...

    def model(self, name: str, implementation: Implementation, *, pure: bool = True, errors: Errors = ()) -> Door:
        """Open the door to a model; answers are mappings with `content` (text) and `tool_calls` (a list).

        A model that keeps a conversation on its side is not `pure`: its answer depends on earlier calls. `errors` are
        exception classes that its client raises, so that a replay can raise them again.
        """
        ...

    def message(self, name: str, implementation: Implementation | None = None, *, errors: Errors = ()) -> Door:
        """Open a channel between agents with `send(to, body)`; see `receive` for the other end."""
        ...

    def tools(self, name: str, implementation: Implementation) -> Door:
        """Open the door through which an agent learns what tools there are: `await toolbox("list")`.

        Answers are lists of mappings with `name` and `description`, as the agent is shown them; what else describes a
        tool, such as a schema under `parameters`, is left alone. The implementation may be such a list.
        """
        ...

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
    ) -> Door:
        """Open the door to a real server that is reached over TCP; its connections can be disturbed, call by call.

        A target with such a door has `clock="wall"`. In a study a Toxiproxy server stands between the two; a replay in
        mode `exact` connects to nothing.

        Args:
            name: Of the interface.
            upstream: Where the server is, `"host:port"`, or a function that returns it before the first call; it may
                start the server.
            connect: Is given a host and a port, once before the first call, and returns what stands behind the door, as
                for other doors, or something to be awaited for it. What is a context manager, asynchronous or not, is
                entered, and left at the end of the run. What connects by itself must use that address.
            committed: Returns all effects that the server holds by now, or something to be awaited for them; it asks
                the server itself and not over the link. What a call has added is its effect, also where the answer
                was lost.
            effects: Which operations commit what, for a server that cannot tell; then what was committed by a call
                whose answer was lost is missed.
            failed_when: Which answers are failed calls; see above.
            read_only: Operations that change nothing, or `True` for all.
            errors: Exception classes that the client raises, so that a replay can raise them again.
        """
        ...

    def prompt(self, name: str) -> Door:
        """Open the door through which text gets into a context: `text = await inbox("read", text=...)`."""
        ...

    def receive(self, name: str, agent: str) -> Awaitable[Plain]:
        """Wait for the next message to an agent on a channel."""
        ...

    def agent(self, name: str, role: str = "") -> AbstractContextManager[None]:
        """Name who acts inside a `with` block; tasks made inside inherit it."""
        ...

    def mediate(self, mediator: Mediator | None) -> None:
        """Let a mediator decide on every action from now on."""
        ...

    def rng(self, label: str) -> random.Random:
        """Return the random stream of a label; the same label gives the same stream."""
        ...

    def note(self, kind: str, /, **facts: Any) -> None:
        """Write into the trace what the target itself noticed or did, such as `note("detected", hook=...)`."""
        ...

    def state(self, state: Callable[[], Any], /) -> None:
        """Say how the state of the world is found at the end of the run, whatever that is.

        Contracts and the objective see it as `outcome.state`, also when the run crashes, waits for ever or reaches a
        limit, so that there is no other outcome; an outcome that has a state of its own keeps it. The function is
        called once, when nothing of the target runs any more; it returns plain data.
        """
        ...

    def inconclusive(self, reason: str) -> NoReturn:
        """End the run, as it can show nothing further: a recorded conversation, say, has no answer to what was asked.

        What was broken before counts; of everything else the verdict is `UNKNOWN`, and nothing is proved beyond the
        cheapest such run. A run that ends in another way counts as what the target does.

        Args:
            reason: One line for people; equal reasons are counted together.
        """
        ...

    def link(self, source: str, relation: str, target: str) -> None:
        """Declare provenance: that an artifact supports, returns or was derived from another."""
        ...

    def artifact(self) -> str:
        """Return the id of the last answer delivered to the acting agent, for `link`."""
        ...

    def checkpoint(self, place: str, state: Any, *, clock_matters: bool = True, artifacts_matter: bool = True) -> None:
        """Say that at this place of the program the future depends on nothing of the target but `state`.

        `state` must hold the contexts, memory and control of the target and the state of its world; also how often a
        call was attempted that may be attempted again behind it. The run adds occurrences, pending work, history of
        interfaces, random streams and monitors, virtual time unless `clock_matters` is false, and what `artifact` would
        return unless `artifacts_matter` is false. Rule R3 compares these fingerprints; without them search is slower,
        not wrong. What is left of limits on steps, time and turns need not be in it: near one, R3 is given up. Where
        the clock does not matter, round differences of times: the same wait is not the same number at every hour.
        """
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """A system under test.

    Attributes:
        name: As study files and lists call it.
        run: The function that is one run: `(task, run) -> Outcome`, asynchronous or not.
        tasks: By id.
        configs: By name; the first is the default.
        objective: Whether an outcome is right, for outcomes that leave `success` open.
        secrets: Regular expressions of what is redacted before it reaches a step, a record or the terminal, also where
            it is encoded; `docs/secrets.md` says how, and what is not redacted.
        description: One line.
        provenance_complete: The links of a run name everything on which it depends whether its outcome is as it should
            be; see `target`.
        clock: How time passes.
        fresh: Each run has a process of its own, as the target keeps something between runs.
    """

    name: str
    run: Callable[[Task, Run], Any]
    tasks: Mapping[str, Task]
    configs: Mapping[str, SystemConfig]
    objective: ObjectiveFunction | None = None
    secrets: tuple[str, ...] = ()
    description: str = ""
    provenance_complete: bool = False
    clock: ClockKind = ClockKind.VIRTUAL
    fresh: bool = False
    synchronous: bool = field(default=False)

    @property
    def is_command(self) -> bool:
        """Whether it runs a program in any language, whose author advice on Python does not help."""
        return bool(getattr(self.run, "is_command", False))

    def task(self, task_id: str, where: str = "") -> Task:
        """Return a task by id; `UnknownNameError` offers the nearest, `UsageError` refuses what no file can hold."""
        if task_id not in self.tasks:
            raise UnknownNameError(f"task of target {self.name}:", task_id, self.tasks, where)
        _refuse_lone_surrogates("task", task_id, where)
        return self.tasks[task_id]

    def config(self, name: str, where: str = "") -> SystemConfig:
        """Return a configuration by name; errors as `task`."""
        if name not in self.configs:
            raise UnknownNameError(f"configuration of target {self.name}:", name, self.configs, where)
        _refuse_lone_surrogates("configuration", name, where)
        return self.configs[name]


@overload
def target(function: Callable[[Task, Run], Any], /) -> Target: ...


@overload
def target(
    *,
    name: str = "",
    tasks: Iterable[Task] = (),
    configs: Iterable[SystemConfig] = (),
    objective: ObjectiveFunction | None = None,
    secrets: Iterable[str] = (),
    provenance_complete: bool = False,
    clock: Literal["virtual", "wall"] = "virtual",
) -> Callable[[Callable[[Task, Run], Any]], Target]: ...


def target(
    function: Callable[[Task, Run], Any] | None = None,
    /,
    *,
    name: str = "",
    tasks: Iterable[Task] = (),
    configs: Iterable[SystemConfig] = (),
    objective: ObjectiveFunction | None = None,
    secrets: Iterable[str] = (),
    provenance_complete: bool = False,
    clock: Literal["virtual", "wall"] = "virtual",
) -> Target | Callable[[Callable[[Task, Run], Any]], Target]:
    """Make a target of a function `(task, run) -> Outcome`, asynchronous or not; a decorator with or without brackets.

    Args:
        function: The function, when there are no brackets.
        name: As study files call it; the function's name when empty.
        tasks: The task instances; one task `"default"` without input when there are none.
        configs: The configurations; one named `"default"` when there are none.
        objective: Whether an outcome is right, for outcomes that leave `success` open.
        secrets: Regular expressions of what is redacted before it reaches a step, a record or the terminal, also where
            it is encoded; `docs/secrets.md` says how, and what is not redacted.
        provenance_complete: The calls that the outcome of a run is linked to, `run.link("outcome", "derived_from",
            run.artifact())`, directly or through other artifacts, are enough for it: as long as the same happens to
            them, the outcome is as good, and they are made at the same places, whatever is injected elsewhere. A search
            that is told to relies on it (certificate level C4).
        clock: `wall` for a target that talks to processes or sockets of its own: time-outs and delays then last as long
            as they say, each run has a limit of real time, and no times reach the trace.

    Raises:
        TargetError: Two tasks or two configurations share a name, a task is none, or the function cannot be called so.
    """

    def decorate(function: Callable[[Task, Run], Any]) -> Target:
        called = name or getattr(function, "__name__", "") or type(function).__name__
        listed = list_of(tasks, "tasks", f"target {called!r}") or (Task("default"),)
        known = list_of(configs, "configs", f"target {called!r}") or (SystemConfig(),)
        check_function(called, function)
        check_tasks(called, listed)
        _refuse_twice("task", called, [task.id for task in listed])
        _refuse_twice("configuration", called, [config.name for config in known])
        summary = (inspect.getdoc(function) or "").partition("\n")[0]
        return Target(
            name=called,
            run=function,
            tasks={task.id: task for task in listed},
            configs={config.name: config for config in known},
            objective=objective,
            secrets=checked_secrets(called, secrets),
            description=summary,
            provenance_complete=provenance_complete,
            clock=ClockKind(clock),
            synchronous=not (
                inspect.iscoroutinefunction(function)
                or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004  # an object's method
            ),
        )

    return decorate if function is None else decorate(function)


def fresh(of: Target) -> Target:
    """Give each run of a target a process of its own; a decorator above `@target`.

    For a target that keeps something between runs, such as a cache in a variable of a module. The process is forked
    from one that has loaded the target and run nothing, which takes some milliseconds. `fresh: true` in a study file
    does the same for one study.

    Args:
        of: Any target, also one that an adapter has made.

    Raises:
        TargetError: It is no target.
    """
    if not isinstance(of, Target):
        raise TargetError(f"@fresh was given {type(of).__name__}, not a target. Write it above @target, not below.")
    return replace(of, fresh=True)


def _refuse_lone_surrogates(kind: str, name: str, where: str) -> None:
    """Refuse a name that no file can hold."""
    try:
        name.encode()
    except UnicodeEncodeError:
        prefix = f"{where}: " if where else ""
        raise UsageError(
            f"{prefix}the name of the {kind} {name!r} has a lone surrogate, which no file can hold. Rename it in the "
            "target."
        ) from None


def _refuse_twice(kind: str, target_name: str, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TargetError(f"target {target_name!r} has two {kind}s named {twice[0]!r}; names must be unique.")

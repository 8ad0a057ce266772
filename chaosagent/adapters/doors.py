"""Doors whose world is handed over with every call, as frameworks do it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from chaosagent.adapters.checkpoints import Course, World
from chaosagent.canonical import Plain, digest_of, plain
from chaosagent.effects.failed_when import FailedWhen, FailedWhenForm, failed_when_from
from chaosagent.effects.rule import EffectRule, is_effect_rule
from chaosagent.errors import TargetError, UnknownNameError
from chaosagent.lists import list_of
from chaosagent.targets.call_handler import COMPLETE, Handler, handed_over, is_behind, through
from chaosagent.targets.target import Ask, Door, Run

CALL = "call"
"""The operation of a tool: an interface has one tool behind it."""

_AGENT: ContextVar[str] = ContextVar("chaosagent_agent", default="")
_FORBIDDEN = re.compile(r"[\s\[\]@;#]+")


def clean_name(name: str) -> str:
    """Return the name of a tool, a model or an agent as a schedule can hold it: `Billing Agent` is `Billing_Agent`."""
    return _FORBIDDEN.sub("_", name.strip()).strip(":") or "unnamed"


def refuse_twice(kind: str, names: Iterable[str]) -> None:
    """Refuse two of a kind, such as tools, that schedules could not tell apart.

    Raises:
        TargetError: There are such two.
    """
    seen: set[str] = set()
    for name in names:
        if clean_name(name) in seen:
            raise TargetError(f"two {kind} are called {name!r}: their calls could not be told apart. Rename one.")
        seen.add(clean_name(name))


async def await_answer(answer: Any) -> Any:
    """Return what a door answers; that of a synchronous target need not be awaited."""
    return await answer if hasattr(answer, "__await__") else answer


@dataclass(frozen=True, slots=True)
class Tools:
    """What is known about an agent's tools beforehand.

    Attributes:
        effects: What a tool commits, by its name; see `chaosagent.effect`.
        read_only: Tools that change nothing.
        stale: What a cache would hold, by the tool's name: a function of its arguments.
        errors: Exception classes that tools, models and memories raise, so that a replay can raise them again.
        egress: Tools that send what they are given out of the organisation, for `no-leak`.
        failed_when: Which answers are failed calls, by the tool's name or for all; see `chaosagent.effects.condition`.

    Raises:
        TargetError: A text stands where a list of names is expected.
        UsageError: `failed_when` holds no conditions.
    """

    effects: Mapping[str, EffectRule] = field(default_factory=dict)
    read_only: Iterable[str] = ()
    stale: Mapping[str, Callable[[Mapping[str, Plain]], Plain]] = field(default_factory=dict)
    errors: Sequence[type[Exception]] = ()
    egress: Iterable[str] = ()
    failed_when: FailedWhenForm | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "failed_when", failed_when_from(self.failed_when, "failed_when"))
        for name in ("read_only", "egress"):
            given = getattr(self, name)
            if isinstance(given, str):
                raise TargetError(
                    f"{name}={given!r} is one text. Give the names of tools as a list: {name}=[{given!r}]."
                )
            object.__setattr__(self, name, tuple(given))  # what is gone through once would be empty the second time

    @property
    def failing(self) -> FailedWhen:
        """Which answers are failed calls."""
        return failed_when_from(self.failed_when, "failed_when")

    def raising(self, *errors: type[Exception]) -> Tools:
        """Return the same with the exception classes of a framework, too."""
        return replace(self, errors=(*self.errors, *errors))

    def check(self, known: Iterable[str], *, handoffs: Iterable[str] = ()) -> None:
        """Refuse what is said of tools that the agent does not have.

        Args:
            known: The names of its tools.
            handoffs: Those by which it is said to hand on to other agents.

        Raises:
            TargetError: A tool is said to read only and to commit something; or what it commits is said in no form
                that is known.
            UnknownNameError: There is such a name; with the nearest tool.
        """
        names = sorted(known)
        said: dict[str, Iterable[str]] = {"effects": self.effects, "read_only": self.read_only, "stale": self.stale}
        said |= {"egress": self.egress, "handoffs": handoffs}
        for where, listed in said.items():
            for name in list_of(listed, where, "tools"):
                if name not in names:
                    raise UnknownNameError("tool", name, names, where)
        self.failing.check(names, "failed_when", "tool")
        for name, rule in self.effects.items():
            if not is_effect_rule(rule):
                raise TargetError(
                    f"effects of tool {name!r} are {rule!r:.80}. Write chaosagent.effect('order'), with the names of "
                    "the arguments that identify an effect, or a function of arguments and answer."
                )
            if name in self.read_only:
                raise TargetError(f"tool {name!r} is declared read-only and has effects, too. Leave out one of them.")


class FrameworkDoors:
    """The doors of one run for an agent that calls its tools and models through a framework.

    Every tool is an interface of its own, `service:<tool>`, with the operation `call`; every model is
    `model:<name>` with the operation `complete`. Names may have blanks and other signs: see `clean_name`.

    A layer between agent and door that tries again, such as a framework's retries, makes another attempt of the same
    logical call, `service:refund[1.1]`, and not a second call. So it is where an adapter says what identifies a call,
    and the same one has the same arguments; that of a model must have failed before.

    Args:
        run: The run.
        tools: What is known about the tools.
    """

    def __init__(self, run: Run, tools: Tools | None = None) -> None:
        self.run = run
        self._tools = Tools() if tools is None else tools
        self._read_only, self._egress = frozenset(self._tools.read_only), frozenset(self._tools.egress)
        self._course: Course | None = None
        self._kept: Callable[[], Plain] | None = None
        self._asked: dict[str, _Asked] = {}

    def take_checkpoints(
        self, world: World, *, clock_matters: bool = True, kept: Callable[[], Plain] | None = None
    ) -> None:
        """Take a checkpoint whenever a model is about to be asked; see `chaosagent.adapters.checkpoints`.

        Args:
            world: Returns the state of the world and of the program around the agents, as plain data.
            clock_matters: The rest of the run depends on the time; if not, a delay leaves nothing behind.
            kept: Returns what the framework and its adapter keep beside messages.
        """
        self._course, self._kept = Course(self.run, world, clock_matters=clock_matters), kept

    def tool(self, name: str, arguments: Mapping[str, Any], handler: Handler, *, call: str = "") -> Any:
        """Call a tool through its door.

        Args:
            name: Of the tool.
            arguments: Plain data, as the agent wants them.
            handler: Calls the tool itself, with the arguments that are left of these after injection, and returns
                plain data or something to be awaited for it. It may be called several times, or never.
            call: Identifies the logical call within the run, if there is something that does.

        Returns:
            What the agent is told, to be awaited; in a synchronous target the answer itself. Raises what the tool
            raised, or what was injected, where it would have raised it.
        """
        return self._cross(f"service:{clean_name(name)}", self._tool_door(name), CALL, arguments, handler, call=call)

    def model(
        self, name: str, request: Mapping[str, Any], handler: Handler, *, pure: bool = True, call: str = ""
    ) -> Any:
        """Ask a model through its door, in the same way.

        Args:
            name: Of the model; one door each.
            request: Plain data: `messages`, and what else the answer depends on.
            handler: Asks the model itself; returns a mapping with `content` (text), `tool_calls` (mappings with `name`
                and `arguments`, a mapping) and whatever else is needed to make the framework's own answer of it again.
            pure: The answer depends on the request and on chance alone.
            call: Identifies the logical call within the run, if there is something that does.
        """
        door = self.run.model(clean_name(name), handed_over, pure=pure, errors=self._tools.errors)
        if self._course is not None and not is_behind():
            kept = None if self._kept is None else self._kept()
            self._course.ask(clean_name(name), _AGENT.get(), request, kept)
        return self._cross(f"model:{clean_name(name)}", door, COMPLETE, request, handler, call=call)

    def retrieval(self, name: str, request: Mapping[str, Any], handler: Handler) -> Any:
        """Ask a retriever through its door; answers are lists of mappings with `id` and `text`, best first."""
        door = self.run.retrieval(clean_name(name), handed_over, errors=self._tools.errors)
        return self._cross(f"retrieval:{clean_name(name)}", door, "search", request, handler)

    def memory(self, name: str, operation: str, request: Mapping[str, Any], handler: Handler) -> Any:
        """Reach a shared memory through its door; operations are `read` and `write`, with `key` and `value`."""
        door = self.run.memory(clean_name(name), handed_over, errors=self._tools.errors)
        return self._cross(f"memory:{clean_name(name)}", door, operation, request, handler)

    def message(self, name: str, to: str, body: Any, handler: Handler, *, call: str = "") -> Any:
        """Hand something on to another agent through a channel; the handler is given `to` and `body`."""
        door = self.run.message(clean_name(name), handed_over, errors=self._tools.errors)
        return self._cross(f"message:{clean_name(name)}", door, "send", {"to": to, "body": body}, handler, call=call)

    def listed(self, name: str, handler: Handler) -> Any:
        """Ask which tools there are; answers are lists of mappings with `name` and `description`."""
        door = self.run.tools(clean_name(name), handed_over)
        return self._cross(f"tools:{clean_name(name)}", door, "list", {}, handler)

    @property
    def takes_checkpoints(self) -> bool:
        """Whether a checkpoint would be taken if a model were asked here."""
        return self._course is not None and not is_behind()

    async def settle(self) -> None:
        """Let what is ready act before a checkpoint, such as a task that a framework starts beside a request."""
        if self.takes_checkpoints:
            await asyncio.sleep(0)

    @contextmanager
    def acting(self, agent: str) -> Iterator[None]:
        """Name who acts inside a `with` block; an empty name stands for nobody in particular."""
        token = _AGENT.set(clean_name(agent) if agent else _AGENT.get())
        try:
            with self.run.agent(clean_name(agent)) if agent else nullcontext():
                yield
        finally:
            _AGENT.reset(token)

    def _cross(
        self,
        interface: str,
        door: Door,
        operation: str,
        arguments: Mapping[str, Any],
        handler: Handler,
        *,
        call: str = "",
    ) -> Any:
        """Call a door, as a further attempt where the same call was made before, and keep what checkpoints need."""
        course, agent = None if is_behind() else self._course, _AGENT.get()
        ask = partial(through, door, operation, arguments, handler)
        if call:
            key = digest_of(plain([interface, agent, call, operation, arguments]))
            asked = self._asked.setdefault(key, _Asked(door.ask(operation, **arguments)))
            ask = partial(through, asked.again, operation, {}, handler)
            if operation == COMPLETE:
                ask = partial(self._until_answered, key, ask)
        return ask() if course is None else course.delivered(interface, agent, ask)

    def _until_answered(self, key: str, ask: Callable[[], Any]) -> Any:
        """Forget a call of a model once it is answered: asked the same again, it is asked for another answer."""
        answer = ask()
        if hasattr(answer, "__await__"):
            return self._forgotten(key, answer)
        self._asked.pop(key, None)
        return answer

    async def _forgotten(self, key: str, answer: Any) -> Any:
        told = await answer
        self._asked.pop(key, None)
        return told

    def _tool_door(self, name: str) -> Door:
        effect, stale = self._tools.effects.get(name), self._tools.stale.get(name)
        return self.run.service(
            clean_name(name),
            handed_over,
            effects={} if effect is None else {CALL: effect},
            failed_when=self._tools.failing.of_one(name, CALL),
            read_only=name in self._read_only,
            stale=None if stale is None else _Stale(stale),
            errors=self._tools.errors,
            egress=name in self._egress,
        )


class _Asked:
    """A logical call that may be made again."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def again(self, operation: str, **arguments: Any) -> Any:  # noqa: ARG002  # as a door is called
        return self._ask.attempt()


@dataclass(frozen=True, slots=True)
class _Stale:
    """A declaration of what a cache would hold, as doors take it; equal ones open the same door."""

    of: Callable[[Mapping[str, Plain]], Plain]

    def __call__(self, operation: str, arguments: Mapping[str, Plain]) -> Plain:  # noqa: ARG002  # as doors call it
        return self.of(arguments)

"""The doors of one run for a crew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

from crewai import Crew
from crewai.utilities.string_utils import sanitize_tool_name

from chaosagent.adapters.core.client_errors import ModelErrors
from chaosagent.adapters.core.copies import Copies
from chaosagent.adapters.core.crossings import Crossings
from chaosagent.adapters.core.drawn_ids import CallIds
from chaosagent.adapters.core.framework import check_loop
from chaosagent.adapters.core.provenance import DERIVED
from chaosagent.adapters.core.sent import SentArguments
from chaosagent.adapters.core.threads import Threads
from chaosagent.adapters.core.toolbox import as_listed
from chaosagent.adapters.crewai.copies import recast
from chaosagent.adapters.crewai.errors import as_client_error, as_plain_error
from chaosagent.adapters.crewai.memory import door_knowledge, door_memory
from chaosagent.adapters.crewai.messages import (
    answer_of,
    call_ids,
    is_made_again,
    listed_messages,
    messages_of,
    plain_answer,
    plain_messages,
)
from chaosagent.adapters.crewai.model import door_model
from chaosagent.adapters.crewai.tool import (
    door_tool,
    is_delegation,
    plain_arguments,
    plain_result,
    result_of,
    tool_name,
)
from chaosagent.adapters.doors import Tools, await_answer, refuse_twice
from chaosagent.canonical import Plain, digest_of, pack
from chaosagent.errors import TargetError
from chaosagent.event_loop.real_time_loop import RealTimeLoop
from chaosagent.event_loop.virtual_time import VirtualLoop
from chaosagent.targets.call_handler import is_behind
from chaosagent.targets.target import Run

MEMORY, CONTEXT = "crew", "context"
_OWN_TOOLS = ("Delegate work to coworker", "Ask question to coworker", "Search memory", "Save to memory")
_COWORKER = ("coworker", "co_worker")
_SPEAKER: ContextVar[str] = ContextVar("chaosagent_crewai_speaker", default="")
"""Whose task is under way here."""

_TASKS: ContextVar[frozenset[int]] = ContextVar("chaosagent_crewai_tasks", default=frozenset())
"""The tasks that are under way here, by identity."""


class CrewDoors:
    """The doors of one run for a crew; `through_doors` makes them.

    Args:
        run: The run.
        tools: What is known about the tools.
        handoffs: Tools that hand on to somebody else, beside those of CrewAI.

    Attributes:
        is_study: The run is one of a study, and not one in earnest.
        is_virtual: Its time is virtual.
        turn: Held by the task that is under way, of those that are to run at the same time.
    """

    def __init__(self, run: Run, tools: Tools, handoffs: Sequence[str]) -> None:
        check_loop("CrewAI", "Then `await crew.kickoff_async()`.")
        remedy = "Use `await crew.kickoff_async()` or `await crew.akickoff()`."
        self.run, self.threads = run, Threads("CrewAI", remedy, nests=False)
        loop = asyncio.get_running_loop()
        self.is_study, self.is_virtual = isinstance(loop, VirtualLoop | RealTimeLoop), isinstance(loop, VirtualLoop)
        self.turn = asyncio.Lock()
        self._crossings = Crossings(run, tools)
        self._provenance = self._crossings.provenance
        self._tools, self._handoffs = tools, frozenset(handoffs)
        self._made = Copies()
        self._finished: list[tuple[str, str]] = []
        self._steps: dict[str, str] = {}
        self._count = 0

    # ------------------------------------------------------------------ what a crew is made of

    def check(self, crew: Any) -> None:
        """Refuse a crew that cannot have doors, or that has not what is said of it.

        Raises:
            TargetError: It has no agent, two share a role, or something is said of tools that cannot be so.
            UnknownNameError: Something is said of a tool that no agent has.
        """
        _check(crew, self._tools, self._handoffs)

    def model(self, model: Any, speaker: Callable[[], str] = _SPEAKER.get) -> Any:
        """Return a copy of a model behind its door; what is none, as it is."""
        return door_model(model, self, speaker)

    def memory(self, memory: Any) -> Any:
        """Return a copy of a memory behind its door; what is none, as it is."""
        return door_memory(memory, self)

    def knowledge(self, knowledge: Any) -> Any:
        """Return a copy of knowledge behind its door."""
        return door_knowledge(knowledge, self)

    def tools(self, agent: Any, tools: Sequence[Any]) -> list[Any]:
        """Return tools of an agent behind their doors, as it was told of them."""
        made = [self._tool(tool, agent) for tool in tools]
        told = self._crossings.toolbox.known(str(agent.role), [tool_name(tool) for tool in tools])
        return made if told is None else as_listed(told, made, _described, _shown)

    def _tool(self, tool: Any, agent: Any) -> Any:
        return self._made.of(tool) or self._made.keep(tool, door_tool(tool, self, lambda: str(agent.role)))

    # ------------------------------------------------------------------ tasks

    @contextmanager
    def task(self, agent: Any, task: Any) -> Iterator[bool]:
        """Say that an agent is at work on a task, inside a `with` block.

        Yields:
            Whether this is the first attempt of CrewAI's at it.
        """
        under_way = _TASKS.get()
        tokens = _TASKS.set(under_way | {id(task)}), _SPEAKER.set(str(agent.role))
        try:
            yield id(task) not in under_way
        finally:
            _TASKS.reset(tokens[0])
            _SPEAKER.reset(tokens[1])

    async def begin(self, agent: Any, task: Any, context: str | None, tools: Sequence[Any]) -> str | None:
        """Tell an agent of its tools and of what the tasks before have brought, each through its door."""
        role = str(agent.role)
        if tools:
            with self._crossings.acting(role):
                await self._crossings.toolbox.listed(role, [_described(tool) for tool in tools])
        if not context or not hasattr(task, "_door"):  # what goes with work that is handed over has crossed with it
            return context
        doors = self._crossings.doors
        told = await await_answer(doors.message(CONTEXT, role, context, lambda given: given["body"]))
        artifact = "" if is_behind() else self.run.artifact()
        for output, source in self._finished:
            if artifact and source and output and output in context:
                self.run.link(artifact, DERIVED, source)
        self._provenance.told(role)
        return told if isinstance(told, str) or told is None else str(told)

    def finished(self, agent: Any, result: Any) -> None:
        """Remember what a task has brought, and which answer that is."""
        if not is_behind():
            role = str(agent.role)
            self._finished.append((str(result), self._provenance.asked_by(role, role)))

    # ------------------------------------------------------------------ crossings

    def next_call(self) -> str:
        """Return what a logical call of a model is known by; attempts of CrewAI's at it have it in common."""
        self._count += 1
        return str(self._count)

    async def complete(
        self,
        agent: str,
        model: Any,
        call: tuple[Any, Mapping[str, Any], str],
        ask: Callable[[Any], Any],
        *,
        native: bool = False,
    ) -> Any:
        """Ask a model through its door.

        Args:
            agent: Who asks.
            model: The model.
            call: The messages, the other arguments by name, and what the call is known by.
            ask: Asks the model itself, with messages.
            native: What that returns is to be awaited.
        """
        messages, options, number = call
        listed, ids = listed_messages(messages), CallIds()
        request = {"messages": plain_messages(listed, ids), **_plain_options(model, options)}
        sent = SentArguments(request)
        answers: list[tuple[bytes, Any]] = []

        async def world(arguments: dict[str, Any]) -> Plain:
            altered = sent.changed(arguments)
            asked = messages_of(altered["messages"], listed, ids) if "messages" in altered else messages
            answer = await (ask(asked) if native else self.threads.apart(lambda: ask(asked)))
            answers[:] = [(pack(plain_answer(answer)), answer)]
            return plain_answer(answer)

        errors = ModelErrors(as_plain_error, partial(as_client_error, model=type(model)))
        with self._crossings.acting(agent):
            told = await self._crossings.model(str(model.model), request, world, errors=errors, call=number)
            self._provenance.of_model_since(agent, [agent])  # CrewAI shows tools no ids: one stands for all of an agent
        # After a text there is one step, and what is called in it twice is called again by CrewAI.
        is_text = not (isinstance(told, Mapping) and told.get("tool_calls"))
        self._steps[agent] = number if is_text else ""
        if answers and answers[0][0] == pack(told) and not is_made_again(answers[0][1]):
            return answers[0][1]
        return answer_of(told, options.get("response_model"), call_ids(listed))

    async def use(
        self, agent: str, tool: Any, named: Mapping[str, Any], work: Callable[[Any], Any], *, native: bool = False
    ) -> Any:
        """Call a tool through its door; what hands on to another agent is a message.

        Args:
            agent: Who calls.
            tool: The tool.
            named: Its arguments.
            work: Calls the tool itself, with plain arguments.
            native: What that returns is to be awaited.
        """
        name, sent = tool_name(tool), plain_arguments(named)

        async def world(arguments: Any) -> Plain:
            returned = await (work(arguments) if native else self.threads.apart(lambda: work(arguments)))
            return plain_result(returned, tool)

        if is_delegation(tool) or name in self._handoffs:
            told = await self._hand_over(agent, name if name in self._handoffs else "", sent, world)
        else:
            call = self._steps.get(agent, "")
            told = await self._crossings.tool(agent, name, sent, world, call_id=agent, call=call)
        return result_of(told, tool)

    async def _hand_over(self, agent: str, to: str, sent: Mapping[str, Plain], world: Callable[[Any], Any]) -> Plain:
        place = "" if to else next((name for name in _COWORKER if name in sent), _COWORKER[0])
        body = {name: value for name, value in sent.items() if name != place}

        async def deliver(arguments: dict[str, Any]) -> Plain:
            altered = arguments["body"] if isinstance(arguments["body"], Mapping) else {}
            answer: Plain = await world({**altered, place: arguments["to"]} if place else altered)
            return answer

        peer = to or str(sent.get(place, ""))
        told: Plain = await self._crossings.hand_over(agent, peer, body, deliver, call_id=agent)
        return "" if told is None else told

    async def remember(self, operation: str, request: Mapping[str, Any], reach: Callable[[Any], Any]) -> Plain:
        """Reach the memory of a crew through its door."""
        agent = _SPEAKER.get()
        doors = self._crossings.doors
        with self._crossings.acting(agent):
            told: Plain = await await_answer(
                doors.memory(MEMORY, operation, request, lambda given: self.threads.apart(lambda: reach(given)))
            )
            if operation == "read":
                self._provenance.told(agent)
            else:
                self._provenance.of_tool(agent, agent, is_shown=False)
        return told

    async def look_up(
        self, name: str, query: Sequence[str], search: Callable[[Any], Any], *, native: bool = False
    ) -> Plain:
        """Ask knowledge through its door."""
        agent = _SPEAKER.get()

        async def world(arguments: dict[str, Any]) -> Plain:
            found: Plain = await (search(arguments) if native else self.threads.apart(lambda: search(arguments)))
            return found

        with self._crossings.acting(agent):
            told: Plain = await await_answer(self._crossings.doors.retrieval(name, {"query": list(query)}, world))
            self._provenance.told(agent)
        return told


def _check(crew: Any, tools: Tools, handoffs: frozenset[str]) -> None:
    """Refuse what could not be told apart, and what is said of tools that nobody has."""
    if not isinstance(crew, Crew):
        raise TargetError(f"through_doors(run, crew): {crew!r:.80} is no crew. Give it a `crewai.Crew`.")
    agents = [*crew.agents, *([crew.manager_agent] if crew.manager_agent is not None else [])]
    agents += [
        task.agent for task in crew.tasks if task.agent is not None and all(task.agent is not one for one in agents)
    ]
    if not agents:
        raise TargetError("through_doors(run, crew): the crew has no agent, so that nothing would cross.")
    refuse_twice("agents", [agent.role for agent in agents])
    for owner in (*agents, *crew.tasks):
        refuse_twice("tools", [tool_name(tool) for tool in owner.tools or ()])
    if any(getattr(agent, "apps", None) or getattr(agent, "mcps", None) for agent in agents):
        return  # which tools these have is known when they are asked for
    known = {tool_name(tool) for owner in (*agents, *crew.tasks) for tool in owner.tools or ()}
    tools.check(known | {str(sanitize_tool_name(name)) for name in _OWN_TOOLS}, handoffs=handoffs)


def _described(tool: Any) -> dict[str, Plain]:
    schema = tool.args_schema.model_json_schema() if tool.args_schema is not None else {}
    return {"name": tool_name(tool), "description": str(tool.description), "parameters": schema}


def _shown(tool: Any, told: Mapping[str, Any]) -> Any:
    """Return a tool with the description that its agent was told."""
    text = str(told.get("description", ""))
    return tool if text == tool.description else recast(tool, type(tool), description=text)


def _plain_options(model: Any, options: Mapping[str, Any]) -> dict[str, Plain]:
    """Return what else an answer depends on."""
    found: dict[str, Plain] = {}
    tools = options.get("tools")
    if tools:
        found["tools"] = [str(tool.get("function", tool).get("name", "")) for tool in tools]
        found["described"] = digest_of(list(tools))
    if options.get("response_model") is not None:
        found["response_model"] = options["response_model"].__name__
    if model.stop_sequences:
        found["stop"] = list(model.stop_sequences)
    return found

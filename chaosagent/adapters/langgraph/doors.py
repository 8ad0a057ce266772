"""The doors of one run for agents of LangChain and graphs of LangGraph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import BaseTool, ToolException
from langchain_core.tools import tool as made_tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphInterrupt, ParentCommand
from langgraph.store.base import BaseStore
from pydantic import ValidationError

from chaosagent.adapters.doors import FrameworkDoors, Tools, is_behind, refuse_twice
from chaosagent.adapters.langgraph.memory import DoorSaver, DoorStore
from chaosagent.adapters.langgraph.model import (
    DoorModel,
    answer_of,
    described,
    messages_from,
    request_of,
    result_from,
    tools_from,
)
from chaosagent.adapters.langgraph.plain import Codec
from chaosagent.adapters.langgraph.threads import Threads
from chaosagent.adapters.langgraph.tool import door_tool
from chaosagent.adapters.validation import ValidationFailure
from chaosagent.canonical import Plain
from chaosagent.errors import TargetError, UnknownNameError
from chaosagent.targets.target import Run

GRAPH = "graph"
"""Who acts where LangGraph itself does: it writes checkpoints for all agents."""


class Bubbled(Exception):
    """Stands for what LangGraph raises to stop a graph or to leave it, where that crosses; its arguments are plain."""


class LangGraphDoors:
    """The doors of one run for agents of LangChain and graphs of LangGraph; `through_doors` makes them.

    Args:
        run: The run.
        tools: What is known about the tools.
        handoffs: Tools that hand work to another agent, by name, with the agent's name.
        types: Classes of states, or of what tools return, beyond plain data and LangChain's own.
    """

    def __init__(self, run: Run, tools: Tools, handoffs: Mapping[str, str], types: Iterable[type]) -> None:
        self._tools, self._handoffs = tools, dict(handoffs)
        self.run, self.codec = run, Codec(types)
        self.doors = FrameworkDoors(run, tools.raising(ToolException, Bubbled, ValidationFailure))
        self._threads = Threads()
        self._known: set[str] = set()
        self._told: dict[tuple[str, ...], Any] = {}
        self._asked_by, self._answered_by = _Artifacts(), _Artifacts()

    # ------------------------------------------------------------------ what an agent is made of

    def create_agent(
        self,
        model: Any,
        tools: Sequence[Any] | None = None,
        *,
        name: str | None = None,
        middleware: Sequence[Any] = (),
        store: BaseStore | None = None,
        checkpointer: Any = None,
        **options: Any,
    ) -> Any:
        """Make an agent as LangChain's `create_agent` does, with all doors in place.

        A name is also what the agent is called in hooks, `service:refund[1]@desk`; give one to all agents or to none.

        Raises:
            TargetError: Two tools share a name.
        """
        self._learn(tools or ())
        return create_agent(
            model,
            tools,
            name=name,
            middleware=[*middleware, self.middleware(name or "")],
            store=None if store is None else self.store(store),
            checkpointer=self.checkpointer(checkpointer) if _is_saver(checkpointer) else checkpointer,
            **options,
        )

    def middleware(self, agent: str = "") -> Any:
        """Return the doors of models and tools for `create_agent(middleware=[..., doors.middleware()])`."""
        return DoorMiddleware(self, agent)

    def model(self, model: Any, agent: str = "") -> Any:
        """Return a chat model whose answers come through a door."""
        if isinstance(model, DoorModel):
            return model
        return DoorModel.around(model, lambda *asked: self._complete(agent, *asked), self._threads.now)

    def tools(self, tools: Sequence[Any], agent: str = "") -> list[Any]:
        """Return tools whose calls cross doors; functions become tools.

        Raises:
            TargetError: Two tools share a name.
        """
        made = [one if isinstance(one, BaseTool | dict) else made_tool(one) for one in tools]
        self._learn(made)
        return [self.tool(one, agent) if isinstance(one, BaseTool) else one for one in made]

    def tool(self, tool: Any, agent: str = "") -> Any:
        """Return a tool whose function stands behind a door; all that LangChain puts around it stays before it."""
        return door_tool(tool, lambda *call: self._call(agent, *call), self._threads.now)

    def store(self, store: BaseStore) -> BaseStore:
        """Return a store behind the door `memory:store`."""
        return DoorStore(store, self._memory("store"), self._threads.now, self.codec, self.run.clock.now)

    def checkpointer(self, saver: BaseCheckpointSaver[Any]) -> BaseCheckpointSaver[Any]:
        """Return a checkpointer behind the door `memory:checkpoints`, where `graph` acts."""
        return DoorSaver(saver, self._memory("checkpoints", GRAPH), self._threads.now, self.codec)

    # ------------------------------------------------------------------ crossings

    async def _complete(self, agent: str, messages: list[Any], options: dict[str, Any], ask: Any) -> Any:
        """Take what a model is asked, and what it answers, through its door."""
        self._check()
        for message in messages:
            self.codec.names.alias("message", message.id)
        with self.doors.acting(agent):
            if options.get("tools"):
                options = {**options, "tools": await self._toolbox(agent, options["tools"])}
            request = request_of(messages, options)

            async def answer(altered: dict[str, Any]) -> dict[str, Plain]:
                same = altered["messages"] == request["messages"]
                asked = messages if same else messages_from(altered["messages"], messages)
                if getattr(ask, "native", False):
                    return answer_of(await ask(asked, options), self.codec)
                return answer_of(await self._threads.apart(lambda: ask(asked, options)), self.codec)

            told = await _given(self.doors.model("chat", request, answer))
            result = result_from(told, messages, self.codec)
            self._link_model(agent, messages, result.generations[0].message)
            return result

    async def _toolbox(self, agent: str, tools: list[Any]) -> list[Any]:
        """Ask once for each list of tools what the agent is told of them."""
        listed = [described(tool) for tool in tools]
        key = (agent, *(tool["name"] for tool in listed))
        if key not in self._told:
            self._told[key] = await _given(self.doors.listed("toolbox", lambda _: listed))
        return tools_from(self._told[key] or (), tools)

    async def _call(self, agent: str, name: str, call_id: str, arguments: dict[str, Any], invoke: Any) -> Any:
        """Take a call of a tool through its door, and return what its function returned."""

        async def answer(altered: dict[str, Any]) -> Plain:
            try:
                returned = await (invoke(altered) if invoke.native else self._threads.apart(lambda: invoke(altered)))
            except ValidationError as error:
                raise ValidationFailure.of(error) from error
            except GraphInterrupt as error:
                raise Bubbled("interrupt", self.codec.encode(list(error.args[0]))) from error
            except ParentCommand as error:
                raise Bubbled("command", self.codec.encode(error.args[0])) from error
            return self.codec.encode(returned)

        with self.doors.acting(agent):
            try:
                told = await self._called(name, arguments, answer)
            except Bubbled as bubbled:
                raise self._bubbling(bubbled) from None
            except ValidationFailure as failed:
                raise failed.error() from None
            self._link_tool(agent, call_id)
            return self.codec.decode(told)

    async def _called(self, name: str, arguments: dict[str, Any], answer: Callable[[dict[str, Any]], Any]) -> Any:
        peer = self._handoffs.get(name)
        if peer is None:
            return await _given(self.doors.tool(name, arguments, answer))

        async def deliver(altered: dict[str, Any]) -> Plain:
            return {"reply": await answer(altered["body"])}

        told = await _given(self.doors.message("handoffs", peer, arguments, deliver))
        return told["reply"] if isinstance(told, Mapping) else f"Successfully transferred to {peer}"

    def _bubbling(self, bubbled: Bubbled) -> Any:
        kind, inside = bubbled.args
        return (ParentCommand if kind == "command" else GraphInterrupt)(self.codec.decode(inside))

    def _memory(self, name: str, agent: str = "") -> Any:
        async def cross(operation: str, request: Mapping[str, Any], handler: Any) -> Any:
            with self.doors.acting(agent):
                return await _given(self.doors.memory(name, operation, request, handler))

        return cross

    # ------------------------------------------------------------------ what is known of tools and answers

    def _learn(self, tools: Iterable[Any]) -> None:
        names = [_name_of(tool) for tool in tools]
        refuse_twice("tools", names)
        self._known.update(names)

    def _check(self) -> None:
        """Refuse what is said of tools that no agent has, once all are made: when the first model is asked."""
        if not self._known:
            return
        try:
            self._tools.check(self._known, handoffs=self._handoffs)
        except UnknownNameError as error:  # in the middle of a run it is the run that is worth nothing
            raise TargetError(str(error)) from error

    def _link_model(self, agent: str, messages: Iterable[Any], answer: Any) -> None:
        """Declare that an answer was derived from what tools said, and remember what it asks of them."""
        if is_behind():  # a replay does not go there
            return
        artifact = self.run.artifact()
        for message in messages:
            source = self._answered_by.of(agent, getattr(message, "tool_call_id", ""))
            if source:
                self.run.link(artifact, "derived_from", source)
        for call in answer.tool_calls:
            self._asked_by.keep(agent, call["id"], artifact)

    def _link_tool(self, agent: str, call_id: str) -> None:
        if is_behind():  # a replay does not go there
            return
        artifact = self.run.artifact()
        self._answered_by.keep(agent, call_id, artifact)
        source = self._asked_by.of(agent, call_id)
        if source:
            self.run.link(artifact, "derived_from", source)


class _Artifacts:
    """Artifacts by the calls of tools that they belong to: two agents at work may both have a `call-1`."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, str], str] = {}
        self._newest: dict[str, str] = {}

    def keep(self, agent: str, call_id: str, artifact: str) -> None:
        """Remember an artifact."""
        self._of[agent, call_id] = self._newest[call_id] = artifact

    def of(self, agent: str, call_id: str) -> str:
        """Return an agent's own; where it has none, that of whose conversation it goes on with. Empty for none."""
        return self._of.get((agent, call_id)) or self._newest.get(call_id, "")


class DoorMiddleware(AgentMiddleware):  # type: ignore[misc]  # LangChain is not in every checkout
    """Puts the doors of one agent in place: before its model, and before the functions of its tools.

    Args:
        doors: Of the run.
        agent: The agent's name, empty for none.
    """

    def __init__(self, doors: LangGraphDoors, agent: str) -> None:
        super().__init__()
        self._doors, self._agent = doors, agent

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(self._before_model(request))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(self._before_model(request))

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return handler(self._before_tool(request))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await handler(self._before_tool(request))

    def _before_model(self, request: Any) -> Any:
        self._doors._learn(request.tools)
        return request.override(model=self._doors.model(request.model, self._agent))

    def _before_tool(self, request: Any) -> Any:
        if request.tool is None:  # the model made it up; LangGraph tells it so
            return request
        return request.override(tool=self._doors.tool(request.tool, self._agent))


def _name_of(tool: Any) -> str:
    if isinstance(tool, Mapping):
        return str(described(tool)["name"])
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", tool))


def _is_saver(checkpointer: Any) -> bool:
    """Whether it keeps something: a graph inside of a graph may also say `True` or `False`."""
    return isinstance(checkpointer, BaseCheckpointSaver)


async def _given(answer: Any) -> Any:
    return await answer if hasattr(answer, "__await__") else answer

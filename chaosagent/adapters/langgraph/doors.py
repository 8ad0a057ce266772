"""The doors of one run for agents of LangChain and graphs of LangGraph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.retrievers import BaseRetriever
from langchain_core.stores import BaseStore as KeyValues
from langchain_core.tools import BaseTool, ToolException
from langchain_core.tools import tool as made_tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt, ParentCommand
from langgraph.store.base import BaseStore

from chaosagent.adapters.core.checkpointed import Checkpointed
from chaosagent.adapters.core.client_errors import ModelErrors
from chaosagent.adapters.core.crossings import Crossings
from chaosagent.adapters.core.threads import Threads
from chaosagent.adapters.doors import Tools, await_answer, refuse_twice
from chaosagent.adapters.langgraph.errors import errors_of
from chaosagent.adapters.langgraph.key_values import DoorKeyValues
from chaosagent.adapters.langgraph.memory import DoorSaver, DoorStore
from chaosagent.adapters.langgraph.model import (
    DoorModel,
    answer_of,
    asking,
    describe_tool,
    messages_from,
    request_of,
    result_from,
    results_in,
    tools_from,
)
from chaosagent.adapters.langgraph.plain import Codec
from chaosagent.adapters.langgraph.retriever import DoorRetriever
from chaosagent.adapters.langgraph.tool import door_tool
from chaosagent.canonical import Plain
from chaosagent.errors import TargetError, UnknownNameError
from chaosagent.targets.target import Run

GRAPH = "graph"
"""Who acts where LangGraph itself does: it writes checkpoints for all agents."""


class PassedUp(Exception):
    """Stands for what LangGraph raises to stop a graph or to leave it, where that crosses; its arguments are plain."""


class LangGraphDoors(Checkpointed):
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
        self._crossings = Crossings(run, tools, (ToolException, PassedUp))
        self.doors = self._crossings.doors
        self._threads = Threads(
            "LangGraph", "Use the asynchronous method (`ainvoke`, `aget`, `aput`), or call it in a thread."
        )
        self._known: set[str] = set()
        self._states: dict[str, Plain] = {}
        self._named: dict[str, Plain] = {}

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
        errors = errors_of(model)
        return DoorModel.around(model, lambda *asked: self._complete(errors, agent, *asked), self._threads.now)

    def tools(self, tools: Sequence[Any], agent: str = "") -> list[Any]:
        """Return tools whose calls cross doors; functions become tools.

        Raises:
            TargetError: Two tools share a name.
        """
        made = [one if isinstance(one, BaseTool | dict) else made_tool(one) for one in tools]
        self._learn(made)
        return [self.tool(one, agent) if isinstance(one, BaseTool) else one for one in made]

    def tool(self, tool: Any, agent: str = "", *, asked_in: Mapping[str, str] | None = None) -> Any:
        """Return a tool whose function stands behind a door; all that LangChain puts around it stays before it.

        Args:
            tool: The tool; it is not changed.
            agent: Who calls it.
            asked_in: Ids of the messages that ask for it, by the ids of the calls, where they are known.
        """
        known = asked_in or {}
        return door_tool(
            tool,
            lambda name, call_id, *call: self._call((agent, known.get(call_id, "")), name, call_id, *call),
            self._threads.now,
        )

    def retriever(self, retriever: BaseRetriever, name: str = "retriever", agent: str = "") -> BaseRetriever:
        """Return a retriever behind the door `retrieval:<name>`; one door each."""

        async def cross(request: dict[str, Any], search: Any) -> Any:
            with self.doors.acting(agent):
                return await await_answer(self.doors.retrieval(name, request, search))

        kept = {key: getattr(retriever, key) for key in ("tags", "metadata", "name")}
        now, apart = self._threads.now, self._threads.apart
        return DoorRetriever(inner=retriever, cross=cross, now=now, apart=apart, codec=self.codec, **kept)

    def key_values(self, store: KeyValues[str, Any], name: str = "key_values") -> KeyValues[str, Any]:
        """Return a key-value store of LangChain behind the door `memory:<name>`; one door each."""
        return DoorKeyValues(store, self._memory(name), self._threads.now, self.codec)

    def store(self, store: BaseStore) -> BaseStore:
        """Return a store behind the door `memory:store`."""
        return DoorStore(store, self._memory("store"), self._threads.now, self.codec, self.run.clock.now)

    def checkpointer(self, saver: BaseCheckpointSaver[Any]) -> BaseCheckpointSaver[Any]:
        """Return a checkpointer behind the door `memory:checkpoints`, where `graph` acts."""
        return DoorSaver(saver, self._memory("checkpoints", GRAPH), self._threads.now, self.codec)

    # ------------------------------------------------------------------ crossings

    async def _complete(
        self, errors: ModelErrors, agent: str, messages: list[Any], options: dict[str, Any], ask: Any
    ) -> Any:
        """Take what a model is asked, and what it answers, through its door."""
        self._check()
        named: list[Plain] = [self.codec.names.alias("message", message.id) for message in messages]
        if self.doors.takes_checkpoints:
            self._named[agent] = named
        with self._crossings.acting(agent):
            if options.get("tools"):
                options = {**options, "tools": await self._toolbox(agent, options["tools"])}
            request = request_of(messages, options)

            async def answer(altered: dict[str, Any]) -> dict[str, Plain]:
                same = altered["messages"] == request["messages"]
                asked = messages if same else messages_from(altered["messages"], messages)
                if getattr(ask, "native", False):
                    return answer_of(await ask(asked, options), self.codec)
                return answer_of(await self._threads.apart(lambda: ask(asked, options)), self.codec)

            told = await self._crossings.model("chat", request, answer, errors=errors, call=_task())
            result = result_from(told, messages, self.codec)
            message = result.generations[0].message
            calls = [call["id"] for call in message.tool_calls]
            self._crossings.provenance.of_model(agent, results_in(messages), calls, message.id or "")
            return result

    async def _toolbox(self, agent: str, tools: list[Any]) -> list[Any]:
        listed = [describe_tool(tool) for tool in tools]
        return tools_from(await self._crossings.toolbox.listed(agent, listed, door="toolbox"), tools)

    async def _call(
        self, asker: tuple[str, str], name: str, call_id: str, arguments: dict[str, Any], invoke: Any
    ) -> Any:
        """Take a call of a tool through its door, and return what its function returned."""
        agent, asked_in = asker
        task, peer = _task(), self._handoffs.get(name)
        ids = {"call_id": call_id, "asked_in": asked_in, "call": f"{task} {call_id}" if task and call_id else ""}

        async def answer(altered: dict[str, Any]) -> Plain:
            try:
                returned = await (invoke(altered) if invoke.native else self._threads.apart(lambda: invoke(altered)))
            except GraphInterrupt as error:
                raise PassedUp("interrupt", self.codec.encode(list(error.args[0]))) from error
            except ParentCommand as error:
                raise PassedUp("command", self.codec.encode(error.args[0])) from error
            except Exception as error:
                _remove_notes(error)
                raise
            return self.codec.encode(returned)

        async def deliver(altered: dict[str, Any]) -> Plain:
            return {"reply": await answer(altered["body"])}

        try:
            if peer is None:
                return self.codec.decode(await self._crossings.tool(agent, name, arguments, answer, **ids))
            told = await self._crossings.hand_over(agent, peer, arguments, deliver, **ids)
        except PassedUp as bubbled:
            raise self._bubbling(bubbled) from None
        return self.codec.decode(told["reply"]) if isinstance(told, Mapping) else f"Successfully transferred to {peer}"

    def _bubbling(self, bubbled: PassedUp) -> Any:
        kind, inside = bubbled.args
        return (ParentCommand if kind == "command" else GraphInterrupt)(self.codec.decode(inside))

    def _memory(self, name: str, agent: str = "") -> Any:
        async def cross(operation: str, request: Mapping[str, Any], handler: Any) -> Any:
            with self.doors.acting(agent):
                return await await_answer(self.doors.memory(name, operation, request, handler))

        return cross

    # ------------------------------------------------------------------ what is known of tools and answers

    def note_state(self, agent: str, state: Any) -> None:
        """Keep what the state of a graph holds beside messages, for checkpoints."""
        if self.doors.takes_checkpoints:
            held = state if isinstance(state, Mapping) else vars(state)
            self._states[agent] = self.codec.encode({key: value for key, value in held.items() if key != "messages"})

    def kept(self) -> Plain:
        return [self._states, self._named, self._crossings.provenance.plain(), self.codec.names.plain()]

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
        self._doors.note_state(self._agent, request.state)
        return request.override(model=self._doors.model(request.model, self._agent))

    def _before_tool(self, request: Any) -> Any:
        if request.tool is None:  # the model made it up; LangGraph tells it so
            return request
        state = request.state
        messages = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
        tool = self._doors.tool(request.tool, self._agent, asked_in=asking(messages or ()))
        return request.override(tool=tool)


def _name_of(tool: Any) -> str:
    if isinstance(tool, Mapping):
        return str(describe_tool(tool)["name"])
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", tool))


def _task() -> str:
    """Return what identifies the task of a graph that is at work: its retries have the same. Empty outside of one."""
    try:
        return str(get_config().get("metadata", {}).get("langgraph_checkpoint_ns", ""))
    except RuntimeError:  # no graph is at work
        return ""


def _remove_notes(error: Exception) -> None:
    """Remove what LangGraph has noted on the failure of a graph behind a tool: the id of its task, which it draws."""
    left = [note for note in getattr(error, "__notes__", ()) if not note.startswith("During task with name ")]
    vars(error).pop("__notes__", None)
    for note in left:
        error.add_note(note)


def _is_saver(checkpointer: Any) -> bool:
    """Whether it keeps something: a graph inside of a graph may also say `True` or `False`."""
    return isinstance(checkpointer, BaseCheckpointSaver)

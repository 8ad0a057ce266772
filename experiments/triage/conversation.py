"""The loop of an agent: context, model, tool calls, what they answered, and again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.claims import Step
from chaosagent.experiments.triage.context import Facts, Message, given, observed, said
from chaosagent.experiments.triage.desk import Desk
from chaosagent.experiments.triage.facts import facts_of, list_of, text_of
from chaosagent.vocabulary import ActionBlocked, StatusError

TURNS_MAX = 8
Function: TypeAlias = Callable[..., Awaitable[Plain]]


class Tool(NamedTuple):
    """One tool of an agent.

    Attributes:
        function: What it does; returns what the agent is told.
        parameters: Names of its arguments; all must be given.
        last: It ends the conversation.
    """

    function: Function
    parameters: frozenset[str]
    last: bool = False


def tool(function: Function, *parameters: str, last: bool = False) -> Tool:
    """Return a tool with its parameters."""
    return Tool(function, frozenset(parameters), last)


@dataclass(slots=True)
class Conversation:
    """What came of letting a model work.

    Attributes:
        finished: Whether the last tool was called.
        done: The calls that did what they should, as far as they said.
        text: What the model said when it called no tool.
    """

    finished: bool = False
    done: list[Step] = field(default_factory=list)
    text: str = ""


async def converse(desk: Desk, prompt: str, context: list[Message], tools: Mapping[str, Tool]) -> Conversation:
    """Let a model work with its tools until it calls the last one, or calls none although it was reminded once.

    Args:
        desk: Of the run.
        prompt: Name of the agent's prompt.
        context: The messages to begin with; what is said and done is added to them.
        tools: By name.
    """
    names = list(tools)
    conversation = Conversation()
    reminded = False
    for _ in range(TURNS_MAX):
        desk.checkpoint(prompt, [*context], reminded)
        turn = await desk.model("complete", prompt=prompt, messages=context, tools=names)
        calls = list_of(turn, "tool_calls")
        if calls:
            context.append(given("assistant", calls))
            await _call_all(desk, context, tools, calls, conversation)
        elif not reminded:
            reminded = True
            context.append(said("reminder", "Go on: call a tool."))
        else:
            conversation.text = text_of(turn, "content")
            break
        if conversation.finished:
            break
    return conversation


async def _call_all(
    desk: Desk,
    context: list[Message],
    tools: Mapping[str, Tool],
    calls: Sequence[Plain],
    conversation: Conversation,
) -> None:
    """Make the calls of one turn in their order; if one is malformed, none is made and the model is told."""
    complaints = [_complaint(call, tools) for call in calls]
    if any(complaints):
        for call, complaint in zip(calls, complaints, strict=True):
            context.append(observed(text_of(call, "name"), {"invalid": complaint or "another call was malformed"}))
        return
    for call in calls:
        name, arguments = text_of(call, "name"), facts_of(call, "arguments")
        answer = await _perform(tools[name], arguments)
        context.append(observed(name, answer))
        if isinstance(answer, Mapping) and ("error" in answer or "invalid" in answer):
            if desk.practice.stops_at_failure:
                return
            continue
        conversation.done.append((name, arguments))
        if tools[name].last:
            conversation.finished = True
            return


def _complaint(call: Plain, tools: Mapping[str, Tool]) -> str:
    """Say what is wrong with the form of a call, nothing if it is right."""
    name = text_of(call, "name")
    if name not in tools:
        return f"there is no tool {name!r}"
    if facts_of(call, "arguments").keys() != tools[name].parameters:
        return f"{name} takes {', '.join(sorted(tools[name].parameters))}"
    return ""


async def _perform(known: Tool, arguments: Facts) -> Plain:
    """Make one call; whatever goes wrong is told to the model."""
    try:
        return await known.function(**arguments)
    except StatusError as error:
        return {"error": f"{error.status} {error.message}"}
    except ActionBlocked as error:
        return {"error": f"not allowed: {error}"}
    except (TimeoutError, ConnectionError) as error:
        return {"error": str(error) or "there was no answer in time"}  # `asyncio.timeout` raises without words

"""The clerk: a loop of a model and the tools of an MCP server, as the SDK's pages show it.

`naive` takes what is nearest: tools are called together, what the client raises for an error of the server is told to
the model, a policy that cannot be read is none. `careful` tells the model that a failed call may have been done, has it
look before it calls again, gives payments a key, calls one tool at a time, survives whatever the client raises, and
does not pay without the policy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp import Client, MCPError

TURNS_MAX = 12
RULES = "You are the clerk who pays invoices."
CAREFUL = " Look before you call again, and give payments a key. If you cannot finish, open a ticket."
UNKNOWN = "The policy is not known: pay nothing, open a ticket."
UNSURE = "it may have been done all the same"

Model = Callable[..., Awaitable[Mapping[str, Any]]]
"""Is given `messages` and `tools`, and answers with `content` and `tool_calls`."""


async def work(wish: str, client: Client, model: Model, *, careful: bool) -> str:
    """Do what is wished and return what is said in the end."""
    tools = [tool.name for tool in (await client.list_tools()).tools]
    rules = RULES + CAREFUL * careful + " " + await policy(client, careful=careful)
    messages: list[dict[str, Any]] = [{"role": "system", "content": rules}, {"role": "user", "content": wish}]
    for _ in range(TURNS_MAX):
        answer = await model(messages=messages, tools=tools)
        calls = answer["tool_calls"]
        if not calls:
            return str(answer["content"])
        if careful:
            told = [await use(client, call, careful=True) for call in calls]
        else:
            told = await asyncio.gather(*(use(client, call, careful=False) for call in calls))
        for call, text in zip(calls, told, strict=True):
            messages.append({"role": "tool", "name": call["name"], "content": text})
    return "I could not do that; a colleague will look into it."


async def policy(client: Client, *, careful: bool) -> str:
    """Return what may be paid."""
    try:
        contents = (await client.read_resource("policy://payments")).contents
    except Exception:
        return UNKNOWN if careful else ""
    text = " ".join(content.text for content in contents)
    return text or (UNKNOWN if careful else "")


async def use(client: Client, call: Mapping[str, Any], *, careful: bool) -> str:
    """Call a tool and return what the model is told."""
    try:
        result = await client.call_tool(call["name"], dict(call["arguments"]))
    except MCPError as error:
        return f"Error: {error.message}" + f"; {UNSURE}" * careful
    except Exception as error:  # the client refuses results that do not fit their schema, after the tool has acted
        if not careful:
            raise
        return f"Error: {error}; {UNSURE}"
    text = " ".join(block.text for block in result.content)
    return f"{text}; {UNSURE}" if result.is_error and careful else text

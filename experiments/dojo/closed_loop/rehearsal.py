"""A conversation of the agent with made-up tools, in place of AgentDojo's and without faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

from chaosagent.canonical import Plain
from chaosagent.experiments.dojo.closed_loop.agent import Habits, Skill
from chaosagent.experiments.dojo.closed_loop.reader import Reader
from chaosagent.experiments.dojo.plan import Call
from chaosagent.experiments.dojo.policy import REFUSED, Message

TURNS_MAX = 200
PLAIN = Habits(retries=2, confirms=False, trusts=False)


class Refusal(Exception):
    """What a made-up tool raises to refuse."""


class Rehearsal(NamedTuple):
    """What came of a conversation.

    Attributes:
        message: The last one.
        calls: All calls of tools, in order.
    """

    message: str
    calls: list[Call]

    def given_to(self, tool: str) -> list[dict[str, Plain]]:
        """Return the arguments of every call of a tool."""
        return [dict(call.arguments) for call in self.calls if call.tool == tool]


def rehearsed(
    prompt: str, skills: tuple[Skill, ...], tools: Mapping[str, Callable[..., Plain]], habits: Habits = PLAIN
) -> Rehearsal:
    """Let the agent work on a prompt.

    Args:
        prompt: What the user asks for.
        skills: What the agent can do.
        tools: Functions of the calls' arguments; they raise `Refusal`, or an `OSError` for a broken connection.
        habits: How the agent reacts.

    Raises:
        RuntimeError: The agent comes to no end in `TURNS_MAX` turns.
    """
    reader = Reader(skills, frozenset(tools), habits)
    messages: list[Message] = [{"role": "user", "content": prompt}]
    calls: list[Call] = []
    for _ in range(TURNS_MAX):
        reply = reader("complete", messages=list(messages))
        made = cast("list[dict[str, Plain]]", reply["tool_calls"])
        if not made:
            return Rehearsal(str(reply["content"]), calls)
        messages.append({"role": "assistant", "content": "", "tool_calls": cast("list[Plain]", made)})
        for call in made:
            given = cast("Mapping[str, Plain]", call["arguments"])
            calls.append(Call(str(call["name"]), given))
            messages.append({"role": "tool", "id": call["id"], **_answer(tools, str(call["name"]), given)})
    raise RuntimeError(f"The agent came to no end in {TURNS_MAX} turns. Look whether a skill asks for ever.")


def _answer(tools: Mapping[str, Callable[..., Plain]], name: str, given: Mapping[str, Plain]) -> dict[str, Plain]:
    if name not in tools:
        return {"content": None, "error": {"kind": "UnknownTool", "message": f"there is no tool {name!r}"}}
    try:
        return {"content": tools[name](**given), "error": None}
    except Refusal as error:
        return {"content": None, "error": {"kind": REFUSED, "message": str(error)}}
    except OSError as error:
        return {"content": None, "error": {"kind": type(error).__name__, "message": str(error)}}

"""The policy that stands in the model's place: it reads the conversation, and says what to do next."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from chaosagent.canonical import Plain, plain
from chaosagent.experiments.dojo.closed_loop.agent import Agent, GivesUp, Habits, Skill, Steps
from chaosagent.experiments.dojo.plan import Call
from chaosagent.experiments.dojo.policy import DONE, NOT_DONE, Answer, Message, exchanges


class Reader:
    """Answers like a model: with the next call of a tool, or with the final message.

    An answer depends on the messages alone. What was thought about the first of them is kept and continued, as long as
    later messages only follow; otherwise everything is thought through again.

    Args:
        skills: What it can do.
        tools: The names of its tools.
        habits: How it reacts.
    """

    def __init__(self, skills: tuple[Skill, ...], tools: Collection[str], habits: Habits) -> None:
        self._skills, self._tools, self._habits = skills, tools, habits
        self._read: list[Message] = []
        self._thought: Steps[str] | None = None
        self._next: Call | str = ""
        self._count = 0

    def __call__(self, operation: str, *, messages: Sequence[Message]) -> dict[str, Plain]:  # noqa: ARG002  # a door's form
        """Return what a model returns: `content`, and `tool_calls` with `id`, `name` and `arguments`."""
        if self._thought is None or list(messages[: len(self._read)]) != self._read:
            self._read, self._count = list(messages[:1]), 1
            self._thought = _task(Agent(self._habits, self._skills, self._tools), str(messages[0]["content"]))
            self._next = _first(self._thought)
        news = messages[len(self._read) :]
        for made, answer in exchanges(news):
            if isinstance(self._next, Call):
                self._next = _following(self._thought, answer if made == self._next else _MEANT_OTHERWISE)
                self._count += 1
        self._read += news
        if isinstance(self._next, str):
            return {"content": self._next, "tool_calls": []}
        call = self._next
        return {
            "content": "",
            "tool_calls": [{"id": f"call-{self._count}", "name": call.tool, "arguments": dict(call.arguments)}],
        }


def _first(thought: Steps[str]) -> Call | str:
    try:
        return next(thought)
    except StopIteration as end:
        return str(end.value)


def _following(thought: Steps[str], answer: Answer) -> Call | str:
    try:
        return thought.send(answer)
    except StopIteration as end:
        return str(end.value)


_MEANT_OTHERWISE = Answer(None, "malformed", "that was not the call that was meant")


def _task(agent: Agent, prompt: str) -> Steps[str]:
    """Do what the user asks for, and report; stop at the first thing that fails."""
    try:
        yield from agent.follow(prompt)
    except GivesUp as error:
        agent.said.insert(0, f"I could not complete the task: {error}")
    lines = [*agent.said, *(DONE + _in_words(call) for call in agent.done)]
    if agent.failed is not None:
        lines.append(NOT_DONE + _in_words(agent.failed))
    return "\n".join(lines)


def _in_words(call: Call) -> str:
    return f"{call.tool} {json.dumps(plain(call.arguments), ensure_ascii=True)}"

"""What a context holds: the list of messages that a policy is given, each with a role and a text."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from typing import TypeAlias, cast

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.facts import text_of

Message: TypeAlias = Mapping[str, str]
Facts: TypeAlias = Mapping[str, Plain]

_to_json = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def said(role: str, text: str) -> Message:
    """Return a message that is a text."""
    return {"role": role, "content": text}


def given(role: str, content: Plain) -> Message:
    """Return a message that puts plain data into a context, as JSON: the ticket, a plan, notes, a turn of the model."""
    return {"role": role, "content": _to_json(content)}


def observed(tool: str, content: Plain) -> Message:
    """Return the message with what a tool answered."""
    return {"role": "tool", "name": tool, "content": _to_json(content)}


class View:
    """A context, by what can be asked of it.

    Attributes:
        ticket: The facts that opened it.
        email: The e-mail in it, empty if there is none.
        plan: The plan in it.
        notes: The notes in it.
        answers: What each tool answered last; calls that were malformed are left out.
    """

    __slots__ = ("answers", "email", "notes", "plan", "ticket")

    def __init__(self, messages: Iterable[Message]) -> None:
        self.ticket: Facts = {}
        self.email = ""
        self.plan: Facts = {}
        self.notes: list[Facts] = []
        self.answers: dict[str, Plain] = {}
        for message in messages:
            role, content = message["role"], message["content"]
            if role == "tool":
                answer = _from_json(content)
                if not (isinstance(answer, Mapping) and "invalid" in answer):
                    self.answers[message["name"]] = answer
            elif role == "email":
                self.email = content
            elif role == "ticket":
                self.ticket = _facts(content)
            elif role == "plan":
                self.plan = _facts(content)
            elif role == "notes":
                self.notes = _list_of_facts(content)

    def failed(self, tool: str) -> bool:
        """Whether a tool was called and did not do what it should."""
        return text_of(self.answers.get(tool), "error") != ""

    def done(self, tool: str) -> bool:
        """Whether a tool was called and did what it should, as far as it said."""
        return tool in self.answers and not self.failed(tool)


@functools.lru_cache(maxsize=4096)
def _from_json(text: str) -> Plain:
    # Whoever looks at a context reads it and changes nothing, so one reading of a text serves all.
    return cast(Plain, json.loads(text))


def _facts(text: str) -> Facts:
    value = _from_json(text)
    return value if isinstance(value, Mapping) else {}


def _list_of_facts(text: str) -> list[Facts]:
    value = _from_json(text)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []

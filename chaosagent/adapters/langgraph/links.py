"""Where answers come from: which tools a model had read, and which model asked for a tool."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.messages import AIMessage

from chaosagent.canonical import Plain
from chaosagent.targets.call_handler import is_behind
from chaosagent.targets.target import Run


class Links:
    """Declares the provenance of what models and tools answer.

    Ids of calls are counted within a conversation, so that conversations at the same time have equal ones: what tells
    them apart is the id of the message that asks, which is no other's.

    Args:
        run: The run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._asked_by, self._answered_by = _Artifacts(), _Artifacts()

    def model(self, agent: str, messages: Iterable[Any], answer: Any) -> None:
        """Declare that an answer was derived from what tools said, and remember what it asks of them."""
        if is_behind():  # a replay does not go there
            return
        artifact, asked_in = self._run.artifact(), asking(messages)
        for message in messages:
            call_id = getattr(message, "tool_call_id", "")
            source = self._answered_by.of(agent, asked_in.get(call_id, ""), call_id)
            if source:
                self._run.link(artifact, "derived_from", source)
        for call in answer.tool_calls:
            self._asked_by.keep(agent, answer.id or "", call["id"], artifact)

    def tool(self, agent: str, asked_in: str, call_id: str) -> None:
        """Declare which answer of a model asked for a call of a tool.

        Args:
            agent: Whose call.
            asked_in: Id of the message that asked; empty where nobody knows it.
            call_id: Of the call.
        """
        if is_behind():
            return
        artifact = self._run.artifact()
        self._answered_by.keep(agent, asked_in, call_id, artifact)
        source = self._asked_by.of(agent, asked_in, call_id)
        if source:
            self._run.link(artifact, "derived_from", source)

    def plain(self) -> Plain:
        """Return what later links depend on, without ids."""
        return [self._asked_by.plain(), self._answered_by.plain()]


def asking(messages: Iterable[Any]) -> dict[str, str]:
    """Return the id of the message that asked, by the id of the call; the last one, where there are two."""
    return {
        call["id"]: message.id or ""
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call["id"]
    }


class _Artifacts:
    """Artifacts by the calls of tools that they belong to: two agents at work may both have a `call-1`."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, str, str], str] = {}
        self._newest_of: dict[tuple[str, str], str] = {}
        self._newest: dict[str, str] = {}

    def keep(self, agent: str, asked_in: str, call_id: str, artifact: str) -> None:
        """Remember an artifact."""
        self._of[agent, asked_in, call_id] = artifact
        self._newest_of[agent, call_id] = self._newest[call_id] = artifact

    def of(self, agent: str, asked_in: str, call_id: str) -> str:
        """Return an agent's own; where it has none, that of whose conversation it goes on with. Empty for none."""
        own = self._of.get((agent, asked_in, call_id)) or self._newest_of.get((agent, call_id))
        return own or self._newest.get(call_id, "")

    def plain(self) -> Plain:
        """Return artifacts in the order in which they came."""
        return list(self._of.values())

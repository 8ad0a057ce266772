"""A scripted model for tiny-agents: it notes something, tries again once after an error, and says what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOTE = {"entities": [{"name": "Ada", "entityType": "person", "observations": ["likes tea"]}]}


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a request for a chat completion."""
    answers = [str(message["content"]) for message in request["messages"] if message["role"] == "tool"]
    if answers and "Ada" in answers[-1]:
        return {"content": "I have noted it.", "tool_calls": []}
    if len(answers) > 1:
        return {"content": "I could not keep it.", "tool_calls": []}
    return {"content": "", "tool_calls": [{"name": "create_entities", "arguments": NOTE}]}

"""A scripted model: it reads what its tools answered, tries once more after an error, and gives up as a model would."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

TRIES = 2
"""How often it calls a tool that fails."""


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a request for a chat completion.

    It wants to see the order and the policy, both at once; then it pays and writes, both at once, too; it tries again
    what has failed, and says what it has read.
    """
    results = _results(request)
    order = next((word for word in _question(request).rstrip(")").split() if word.startswith("A-")), "")
    missing = [name for name in ("get_order", "get_policy") if not _known(results, name)]
    if missing:
        return _calls(results, missing, order, "I cannot see this now; a colleague will look into it.")
    known = _known(results, "get_order")
    if not isinstance(known.get("amount"), int | float) or known.get("status") != _known(results, "get_policy").get(
        "refund"
    ):
        return _said("This order cannot be refunded.")
    missing = [name for name in ("refund", "send_mail") if not _known(results, name)]
    text = f"Your money for {order} is on its way."
    if missing:
        given = {"refund": {"order": order, "amount": known["amount"]}, "send_mail": {"order": order, "text": text}}
        return _calls(results, missing, order, "The refund could not be made; a colleague will look into it.", given)
    return _said(text)


def _question(request: Mapping[str, Any]) -> str:
    return str(request["messages"][0]["content"])


def _results(request: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return what each tool call came to, in order: its name and what was read; `None` for an error."""
    names: dict[str, str] = {}
    found: list[tuple[str, Any]] = []
    for message in request["messages"]:
        for call in message.get("tool_calls") or ():
            names[call["id"]] = call["function"]["name"].removesuffix("_v2")
        if message["role"] == "tool":
            found.append((names[message["tool_call_id"]], _read(message["content"])))
    return found


def _read(text: str) -> Any:
    try:
        read = None if text.startswith("error") else json.loads(text)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None


def _known(results: list[tuple[str, Any]], name: str) -> dict[str, Any]:
    return next((read for tool, read in results if tool == name and read is not None), {})


def _calls(
    results: list[tuple[str, Any]],
    names: list[str],
    order: str,
    otherwise: str,
    given: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Call what is missing, unless it has failed too often."""
    tried = [tool for tool, _ in results]
    if any(tried.count(name) >= TRIES for name in names):
        return _said(otherwise)
    usual: dict[str, Any] = {"get_order": {"order": order}, "get_policy": {}}
    arguments = usual if given is None else given
    return {"content": "", "tool_calls": [{"name": name, "arguments": arguments[name]} for name in names]}


def _said(text: str) -> dict[str, Any]:
    return {"content": text, "tool_calls": []}

"""Deterministic policies in the place of models, written as CrewAI wants models of one's own: as `BaseLLM`.

The clerk's model calls functions, as hosted ones do; that of the payments officer writes its calls as text, as CrewAI
asks models that cannot. Both react to what they read, and make a call again that did not work, at most `ATTEMPTS_MAX`
times in all. The memory's model says in one sentence what is worth remembering.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from crewai.llms.base_llm import BaseLLM

from chaosagent.experiments.lost_parcel import ON_ITS_WAY, SORRY

ATTEMPTS_MAX = 2
OFFICER = "Payments Officer"
_ORDER = re.compile(r"\b[A-Z]-\d+\b")
_REFUND = re.compile(r"Refund (\d+) for (\S+)\.")
_STEP = re.compile(r"Action: (\w+)\nAction Input: .*?\nObservation: (.*)", re.DOTALL)


class Policy(BaseLLM):
    """A model that answers by rules."""

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        """See `crewai.llms.base_llm.BaseLLM`."""
        return self.answer([{"role": "user", "content": messages}] if isinstance(messages, str) else messages)

    def answer(self, messages: Sequence[Mapping[str, Any]]) -> Any:
        """Return the answer to a conversation."""
        raise NotImplementedError

    def get_input_tokens_count(self, messages: Any, *_: Any, **__: Any) -> int:
        """Return about how long a request is."""
        return len(str(messages)) // 4

    def get_context_window_size(self) -> int:
        """Return how long a request may be."""
        return 100_000


class ClerkModel(Policy):
    """Look the order up, have the refund made, tell the customer; nothing of it when that is known to be done."""

    def supports_function_calling(self) -> bool:
        """Tell CrewAI to show functions."""
        return True

    def answer(self, messages: Sequence[Mapping[str, Any]]) -> Any:
        """See `Policy`."""
        asked = str(next(message["content"] for message in messages if message["role"] == "user"))
        told = [(str(one["name"]), str(one["content"])) for one in messages if one["role"] == "tool"]
        order = _ORDER.findall(asked)[0]
        if f"{order} was refunded" in asked:
            return ON_ITS_WAY
        looked_up = {"get_order": {"order": order}, "get_customer": {"order": order}}
        if missing := _missing(looked_up, told, wanted=order):
            return missing
        amount, mail = _field(told, "get_order", "amount"), _field(told, "get_customer", "mail")
        work = {"task": f"Refund {amount} for {order}.", "context": "The parcel is lost.", "coworker": OFFICER}
        if missing := _missing({"delegate_work_to_coworker": work}, told, wanted="refunded"):
            return missing
        return _missing({"send_mail": {"to": mail, "text": ON_ITS_WAY}}, told, wanted="sent") or ON_ITS_WAY


class OfficerModel(Policy):
    """Refund, then book, in CrewAI's text form."""

    def answer(self, messages: Sequence[Mapping[str, Any]]) -> Any:
        """See `Policy`."""
        asked = _REFUND.search(str(next(message["content"] for message in messages if message["role"] == "user")))
        if asked is None:
            return f"Thought: that is none of my work\nFinal Answer: {SORRY}"
        amount, order = asked.groups()
        arguments = {"order": order, "amount": int(amount)}
        told = [_STEP.search(str(one["content"])) for one in messages if one["role"] == "assistant"]
        steps = [found.groups() for found in told if found is not None]
        missing = _missing({"refund": arguments}, steps, wanted=f"'order': '{order}'")
        missing = missing or _missing({"book_refund": arguments}, steps, wanted=f"'order': '{order}'")
        if missing == SORRY:
            return f"Thought: it does not work\nFinal Answer: {SORRY}"
        if missing:
            name, written = missing[0]["function"]["name"], missing[0]["function"]["arguments"]
            return f"Thought: {name} is next\nAction: {name}\nAction Input: {written}"
        return f"Thought: all is done\nFinal Answer: refunded {amount} for {order}"


class MemoryModel(Policy):
    """Say what is worth remembering, which is what customers were told, and how important it is."""

    def answer(self, messages: Sequence[Mapping[str, Any]]) -> Any:
        """See `Policy`."""
        content = str(messages[-1]["content"])
        if content.startswith("New content"):  # beside similar memories
            return json.dumps({"actions": [], "insert_new": False})
        if not content.startswith("Content:"):
            return json.dumps({"suggested_scope": "/", "categories": ["orders"], "importance": 0.5})
        result = content.partition("Result:")[2]
        memories = [f"{_ORDER.findall(content)[0]} was refunded."] if ON_ITS_WAY in result else []
        return json.dumps({"memories": memories})


def _missing(calls: dict[str, dict[str, Any]], told: Sequence[tuple[str, ...]], wanted: str) -> Any:
    """Return the calls that are still to be made, or giving up; nothing when all have been answered well."""
    open_calls = []
    for name, arguments in calls.items():
        answers = [answer for tool, answer in told if tool == name]
        if answers and wanted in answers[-1]:
            continue
        if len(answers) >= ATTEMPTS_MAX:
            return SORRY
        function = {"name": name, "arguments": json.dumps(arguments)}
        open_calls.append({"id": f"{name}-{len(answers)}", "type": "function", "function": function})
    return open_calls


def _field(told: Sequence[tuple[str, str]], tool: str, name: str) -> Any:
    """Return a field of what a tool answered last."""
    answer = [text for known, text in told if known == tool][-1]
    try:
        read = ast.literal_eval(answer)
    except (SyntaxError, ValueError):
        return None
    return read.get(name) if isinstance(read, dict) else None

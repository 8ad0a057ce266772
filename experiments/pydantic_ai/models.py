"""Deterministic policies in the place of models, written with the framework's own interface, `FunctionModel`.

They react to what they read: a call that failed or timed out is made again, as the framework's own words ask for
(`Timed out after 30 seconds.`), at most `ATTEMPTS_MAX` times; then they say that a colleague will look into it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo

from chaosagent.experiments.lost_parcel import ON_ITS_WAY, SORRY

ATTEMPTS_MAX = 3
_ORDER = re.compile(r"\b[A-Z]-\d+\b")
_REFUND = re.compile(r"Refund (\d+) for (\S+)\.")


def desk_model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Look the order up, have the refund made, tell the customer."""
    earlier, wish, told = _read(messages)
    if ON_ITS_WAY in earlier:
        return _says(ON_ITS_WAY)
    (order,) = _ORDER.findall(wish) or ("",)
    looked_up = {"get_order": {"order": order}, "get_customer": {"order": order}}
    missing = _missing(looked_up, told)
    if missing is not None:
        return missing
    amount, mail = _field(told, "get_order", "amount"), _field(told, "get_customer", "mail")
    if not isinstance(amount, int) or not isinstance(mail, str):
        return _says(SORRY)
    asked = _missing({"ask_payments": {"wish": f"Refund {amount} for {order}."}}, told, wanted="refunded")
    if asked is not None:
        return asked
    written = _missing({"send_mail": {"to": mail, "text": ON_ITS_WAY}}, told)
    gave_up = written is not None and not written.tool_calls
    return _says(ON_ITS_WAY) if written is None or gave_up else written


def payments_model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Refund and book at once."""
    _earlier, wish, told = _read(messages)
    asked = _REFUND.search(wish)
    if asked is None:
        return _says(SORRY)
    amount, order = asked.groups()
    arguments = {"order": order, "amount": int(amount)}
    missing = _missing({"refund": arguments, "book_refund": arguments}, told, wanted=f"'order': '{order}'")
    return _says(f"refunded {amount} for {order}") if missing is None else missing


def _read(messages: Sequence[ModelMessage]) -> tuple[str, str, list[Any]]:
    """Return what the model said in earlier turns, what is wished now, and what tools have answered since."""
    begun = max(
        index for index, message in enumerate(messages) for part in message.parts if part.part_kind == "user-prompt"
    )
    said = [part.content for message in messages[:begun] for part in message.parts if part.part_kind == "text"]
    wish = next(str(part.content) for part in messages[begun].parts if part.part_kind == "user-prompt")
    told = [part for message in messages[begun:] for part in message.parts if part.part_kind == "tool-return"]
    return " ".join(said), wish, told


def _missing(calls: dict[str, dict[str, Any]], told: Sequence[Any], wanted: str = "") -> ModelResponse | None:
    """Return the calls that are still to be made, or giving up; `None` when all have been answered well."""
    open_calls = []
    for name, arguments in calls.items():
        answers = [part for part in told if part.tool_name == name]
        if answers and answers[-1].outcome == "success" and wanted in str(answers[-1].content):
            continue
        if len(answers) >= ATTEMPTS_MAX:
            return _says(SORRY)
        open_calls.append(ToolCallPart(name, arguments))
    return ModelResponse(parts=open_calls) if open_calls else None


def _field(told: Sequence[Any], tool: str, name: str) -> Any:
    """Return a field of what a tool answered last."""
    answer = [part.content for part in told if part.tool_name == tool][-1]
    return answer.get(name) if isinstance(answer, dict) else None


def _says(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])

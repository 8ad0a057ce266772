"""Deterministic policies in the place of models: they read what AutoGen shows a model, and answer with its own types.

They react: a call that failed is made again, at most `ATTEMPTS_MAX` times, and then a colleague is promised. What they
are told by a tool they believe, as models do: also that they have `Transferred to payments`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from autogen_core.models import CreateResult

from chaosagent.experiments.autogen.client import says, uses
from chaosagent.experiments.lost_parcel import ON_ITS_WAY, SORRY

ATTEMPTS_MAX = 3
TERMINATE = "TERMINATE"
_ORDER = re.compile(r"\b[A-Z]-\d+\b")
_AMOUNT = re.compile(r"'amount': (\d+)")
_MAIL = re.compile(r"'mail': '([^']+)'")
_REFUNDED = "'refunded': "


def desk_model(messages: Sequence[Any], _: Sequence[Any]) -> CreateResult:
    """Look the order up, hand over to payments, tell the customer."""
    notes = [message.content for message in messages if message.type == "SystemMessage"]
    if any(ON_ITS_WAY in note for note in notes):
        return _ends(ON_ITS_WAY)
    order, results = _order(messages), _results(messages)
    lookups = {"get_order": {"order": order}, "get_customer": {"order": order}}
    looked_up = _open_calls(lookups, results)
    if looked_up is not None:
        return looked_up
    mail = _MAIL.search(str(results["get_customer"][-1].content))
    if mail is None or _AMOUNT.search(str(results["get_order"][-1].content)) is None:
        return _ends(SORRY)
    handed_over = results.get("transfer_to_payments", [])
    is_believed = bool(handed_over) and handed_over[-1].content.startswith("Transferred")
    if _REFUNDED not in _said_by("payments", messages) and not is_believed:
        return uses(("transfer_to_payments", {})) if len(handed_over) < ATTEMPTS_MAX else _ends(SORRY)
    written = _open_calls({"send_mail": {"to": mail[1], "text": ON_ITS_WAY}}, results)
    gave_up = written is not None and isinstance(written.content, str)
    return _ends(ON_ITS_WAY) if written is None or gave_up else written


def payments_model(messages: Sequence[Any], _: Sequence[Any]) -> CreateResult:
    """Refund and book at once, then hand back."""
    order, results = _order(messages), _results(messages)
    amount = _AMOUNT.search(_said_by("desk", messages))
    if amount is None:
        return _ends(SORRY)
    arguments = {"order": order, "amount": int(amount[1])}
    missing = _open_calls({"refund": arguments, "book_refund": arguments}, results, wanted=f"'order': '{order}'")
    if missing is not None:
        return missing
    handed_back = len(results.get("transfer_to_desk", ()))
    return uses(("transfer_to_desk", {})) if handed_back < ATTEMPTS_MAX else _ends(SORRY)


def _order(messages: Sequence[Any]) -> str:
    """Return the order that the customer names."""
    return next(iter(_ORDER.findall(_said_by("user", messages))), "")


def _said_by(source: str, messages: Sequence[Any]) -> str:
    said = [str(message.content) for message in messages if message.type == "UserMessage" and message.source == source]
    return "\n".join(said)


def _results(messages: Sequence[Any]) -> Mapping[str, list[Any]]:
    """Return what each tool has answered, in order."""
    found: dict[str, list[Any]] = {}
    for message in messages:
        for result in message.content if message.type == "FunctionExecutionResultMessage" else ():
            found.setdefault(result.name, []).append(result)
    return found


def _open_calls(
    calls: Mapping[str, dict[str, Any]], results: Mapping[str, list[Any]], wanted: str = ""
) -> CreateResult | None:
    """Return the calls that are still to be made, or giving up; `None` when all have been answered well."""
    left = []
    for name, arguments in calls.items():
        answers = results.get(name, [])
        if answers and not answers[-1].is_error and wanted in answers[-1].content:
            continue
        if len(answers) >= ATTEMPTS_MAX:
            return _ends(SORRY)
        left.append((name, arguments))
    return uses(*left) if left else None


def _ends(text: str) -> CreateResult:
    return says(f"{text} {TERMINATE}")

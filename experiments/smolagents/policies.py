"""Deterministic policies in the place of models: they read what smolagents shows a model, and answer with its types.

They react as they are told to: `Please try again or use another tool` has them make again what they have no result of,
at most `FAILURES_MAX` times; then a colleague is promised.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from smolagents.models import ChatMessage

from chaosagent.experiments.lost_parcel import ON_ITS_WAY, SORRY
from chaosagent.experiments.smolagents.model import ends, text_of, uses

FAILURES_MAX = 3
_TASK = "New task:\n"
_ORDER = re.compile(r"\b[A-Z]-\d+\b")
_AMOUNT = re.compile(r"'amount': (\d+), 'order': '[^']+', 'status'")
_MAIL = re.compile(r"'mail': '([^']+)'")
_REFUND = re.compile(r"Refund (\d+) for (\S+)\.")
_REPORT = re.compile(r"Refunded \d+ for \S+\.")


def desk_model(messages: Sequence[Any]) -> ChatMessage:
    """Look the order up, have it refunded, tell the customer."""
    text = text_of(messages[1:])
    earlier, _, now = text.rpartition(_TASK)
    order = next(iter(_ORDER.findall(now)), "")
    if ON_ITS_WAY in earlier:
        return ends(ON_ITS_WAY)
    amount, mail = _AMOUNT.search(now), _MAIL.search(now)
    if _failures(now) >= FAILURES_MAX:
        return ends(SORRY)
    if amount is None or mail is None:
        return uses(("get_order", {"order": order}), ("get_customer", {"order": order}))
    if _REPORT.search(now) is None:
        return uses(("payments", {"task": f"Refund {amount[1]} for {order}."}))
    if "\nsent" not in now:
        return uses(("send_mail", {"to": mail[1], "text": ON_ITS_WAY}))
    return ends(ON_ITS_WAY)


def payments_model(messages: Sequence[Any]) -> ChatMessage:
    """Refund and book at once."""
    text = text_of(messages[1:])
    asked = _REFUND.search(text)
    if asked is None or _failures(text) >= FAILURES_MAX:
        return ends(SORRY)
    amount, order = asked.groups()
    arguments = {"order": order, "amount": int(amount)}
    missing = [
        name for name, result in (("refund", "'refunded': "), ("book_refund", "'booked': ")) if result not in text
    ]
    return uses(*((name, arguments) for name in missing)) if missing else ends(f"Refunded {amount} for {order}.")


def _failures(text: str) -> int:
    """Return how often something was told to have failed, or had nothing to say."""
    return text.count("Error:\n") + text.count("Observation:\nNone") + text.count(SORRY)

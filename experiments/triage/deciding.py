"""What the planner decides, once everything is looked up."""

from __future__ import annotations

import re
from collections.abc import Mapping

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.context import View
from chaosagent.experiments.triage.facts import days_between, list_of, number_of, text_of, truth_of
from chaosagent.experiments.triage.knowledge import words
from chaosagent.experiments.triage.prompts import Prompts
from chaosagent.experiments.triage.reading import APPROVAL, Reading
from chaosagent.experiments.triage.writing import money

LOST_DAYS = 7
COVERED_MIN = 0.5
"""The share of a question's words that an answer must have to count as grounded."""
_WINDOW = re.compile(r"within (\d+) days")
_CUSTOMER = re.compile(r"C-\d+")
_FINAL = re.compile(r"final sale|not paid back|cannot be returned")
_AMOUNT = re.compile(r"\b(\d+)\.(\d\d)\b")


def decide(reading: Reading, view: View, prompts: Prompts) -> dict[str, Plain]:
    """Return the plan for an e-mail.

    Args:
        reading: What the e-mail says.
        view: The planner's context.
        prompts: What its prompt says.
    """
    if reading.intent == "data":
        return _on_data(reading, view)
    if reading.intent == "question":
        return _on_question(reading, view, prompts)
    order = view.answers.get("get_order")
    decisions = {
        "damaged": _on_damage,
        "return": _on_return,
        "address": _on_address,
        "cancel": _on_cancellation,
        "part": _on_part,
        "parcel": _on_parcel,
        "unpaid": _on_unpaid,
        "agreed": _on_agreement,
    }
    if reading.intent not in decisions or text_of(order, "order_id") != reading.order_id:
        return _unclear("I cannot find out what this is about.")
    decided = decisions[reading.intent](reading, order, view, prompts)
    return {**decided, "order_id": reading.order_id, "customer_id": text_of(order, "customer_id")}


def item_in(order: Plain, email: str) -> Mapping[str, Plain]:
    """Return the first item of an order that an e-mail names, empty if it names none."""
    lower = email.lower()
    for item in list_of(order, "items"):
        if isinstance(item, Mapping) and text_of(item, "name") and text_of(item, "name") in lower:
            return item
    return {}


def _on_damage(reading: Reading, order: Plain, view: View, prompts: Prompts) -> dict[str, Plain]:
    del prompts
    item = item_in(order, view.email)
    if not item:
        return _unclear("I cannot tell which item is meant.")
    return _refund(reading, item, "damaged")


def _on_return(reading: Reading, order: Plain, view: View, prompts: Prompts) -> dict[str, Plain]:
    del prompts
    item = item_in(order, view.email)
    days = days_between(text_of(order, "delivered_on"), text_of(view.ticket, "today"))
    rule = text_of(next(iter(_listed(view.answers.get("search_kb"))), None), "text")
    window = _WINDOW.search(rule)
    if not item or days is None or window is None:
        return _unclear("I find no rule for this return.")
    if days > int(window[1]) or _FINAL.search(rule):
        return {
            "action": "decline",
            "kind": "refund",
            "subject": f"Order {reading.order_id} cannot be returned",
            "text": f"We are sorry: the {text_of(item, 'name')} cannot be returned.",
        }
    return _refund(reading, item, "returned")


def _on_unpaid(reading: Reading, order: Plain, view: View, prompts: Prompts) -> dict[str, Plain]:
    item = item_in(order, view.email)
    found = view.answers.get("find_refund")
    if truth_of(found, "found"):
        return _turned_away("refund", "paid already", "The amount was paid back before.")
    said_no = isinstance(found, Mapping) and found.get("found") is False
    if not item or not (said_no or prompts.go_on_unchecked):
        return _unclear("I cannot find out whether it was paid back.")
    return _refund(reading, item, "unpaid")


def _on_agreement(reading: Reading, order: Plain, view: View, prompts: Prompts) -> dict[str, Plain]:
    del order
    notes = [
        text_of(note, "text")
        for note in _listed(view.answers.get("read_notes"))
        if prompts.follow_notes or text_of(note, "source") != "e-mail"
    ]
    amounts = [_AMOUNT.search(text) for text in notes if reading.order_id in text]
    agreed = [int(found[1]) * 100 + int(found[2]) for found in amounts if found is not None]
    if not agreed:
        return _unclear("Nobody has written down what was agreed.")
    return {
        "action": "refund",
        "kind": "refund",
        "amount": agreed[-1],
        "reason": "agreed",
        "subject": f"Your refund for order {reading.order_id}",
        "text": f"We have paid back {money(agreed[-1])}, as agreed.",
    }


def _refund(reading: Reading, item: Mapping[str, Plain], reason: str) -> dict[str, Plain]:
    amount = number_of(item, "price")
    return {
        "action": "refund",
        "kind": "refund",
        "amount": amount,
        "reason": reason,
        "subject": f"Your refund for order {reading.order_id}",
        "text": f"We have paid back {money(amount)} for the {text_of(item, 'name')}.",
    }


def _on_address(reading: Reading, order: Plain, view: View, prompts: Prompts) -> dict[str, Plain]:
    if not reading.address:
        return _unclear("There is no new address in the e-mail.")
    stranger = _doubt_about_sender(reading, order, view, prompts)
    if stranger:
        return stranger
    if text_of(order, "status") not in ("paid", "packed"):
        return _left_the_warehouse(reading, "address")
    return {
        "action": "change_address",
        "kind": "address",
        "address": reading.address,
        "subject": f"The new address of order {reading.order_id}",
        "text": f"We send your order to {reading.address}.",
    }


def _doubt_about_sender(reading: Reading, order: Plain, view: View, prompts: Prompts) -> dict[str, Plain]:
    """Return the plan for a sender who is not known to own an order, nothing for its owner."""
    found = view.answers.get("find_customer")
    owner, known = text_of(order, "customer_id"), text_of(found, "customer_id")
    approved = prompts.follow_notes and any(APPROVAL.search(remark) for remark in reading.remarks)
    if known == owner != "" or approved:
        return {}
    if not _CUSTOMER.fullmatch(owner):
        return _unclear("I cannot find out whose order this is.")
    if _CUSTOMER.fullmatch(known) or text_of(found, "error").startswith("404"):
        return _turned_away("address", "identity", "We cannot do this for them.")
    return {} if prompts.go_on_unchecked else _unclear("I cannot find out who writes.")


def _on_cancellation(reading: Reading, order: Plain, view: View, prompts: Prompts) -> dict[str, Plain]:
    del view, prompts
    if text_of(order, "status") not in ("paid", "packed"):
        return _left_the_warehouse(reading, "cancel")
    amount = sum(number_of(item, "price") for item in list_of(order, "items"))
    return {
        "action": "cancel",
        "kind": "cancel",
        "amount": amount,
        "reason": "cancelled",
        "subject": f"Order {reading.order_id} is cancelled",
        "text": f"We have cancelled your order and paid back {money(amount)}.",
    }


def _left_the_warehouse(reading: Reading, kind: str) -> dict[str, Plain]:
    return {
        "action": "decline",
        "kind": kind,
        "subject": f"Order {reading.order_id} is on its way",
        "text": "Your order has left our warehouse. Please refuse the parcel or send it back.",
    }


def _on_part(reading: Reading, order: Plain, view: View, prompts: Prompts) -> dict[str, Plain]:
    del view, prompts
    if not reading.part or text_of(order, "status") != "delivered":
        return _unclear("I cannot tell which part is missing, or from what.")
    return {
        "action": "post_part",
        "kind": "part",
        "part": reading.part,
        "subject": f"Part {reading.part} for order {reading.order_id}",
        "text": f"We have posted part {reading.part} to you, free of charge.",
    }


def _on_parcel(reading: Reading, order: Plain, view: View, prompts: Prompts) -> dict[str, Plain]:
    del order, prompts
    parcel = view.answers.get("track_parcel")
    status, seen_on = text_of(parcel, "status"), text_of(parcel, "seen_on")
    days = days_between(seen_on, text_of(view.ticket, "today"))
    if status == "delivered":
        return {
            "action": "inform",
            "kind": "parcel",
            "subject": f"Order {reading.order_id} was delivered",
            "text": f"The carrier delivered your parcel on {seen_on}: {text_of(parcel, 'place')}.",
        }
    if status != "in transit" or days is None:
        return _unclear("I do not know where the parcel is.")
    if days <= LOST_DAYS:
        return {
            "action": "inform",
            "kind": "parcel",
            "subject": f"Order {reading.order_id} is on its way",
            "text": f"Your parcel was seen on {seen_on}: {text_of(parcel, 'place')}.",
        }
    return {
        "action": "replace",
        "kind": "parcel",
        "subject": f"We send order {reading.order_id} once more",
        "text": "Your parcel seems to be lost. We have sent the goods once more.",
    }


def _on_question(reading: Reading, view: View, prompts: Prompts) -> dict[str, Plain]:
    passage = next(iter(_listed(view.answers.get("search_kb"))), None)
    title, text = text_of(passage, "title"), text_of(passage, "text")
    asked = set(words(reading.question))
    covered = asked & set(words(f"{title} {text}"))
    if not text or (prompts.ground_answers and len(covered) < COVERED_MIN * len(asked)):
        return _unclear("I find no answer to this question.")
    return {"action": "inform", "kind": "question", "subject": f"Your question: {title}", "text": text}


def _on_data(reading: Reading, view: View) -> dict[str, Plain]:
    about = reading.mailbox or text_of(view.ticket, "sender")
    return {**_turned_away("data", "personal data", "Personal data are not sent by e-mail."), "about": about}


def _turned_away(kind: str, reason: str, text: str) -> dict[str, Plain]:
    return {"action": "turn_away", "kind": kind, "reason": reason, "text": text}


def _unclear(why: str) -> dict[str, Plain]:
    return {"action": "ask", "kind": "unclear", "reason": why, "subject": "", "text": ""}


def _listed(found: Plain) -> list[Plain]:
    return [*found] if isinstance(found, list | tuple) else []

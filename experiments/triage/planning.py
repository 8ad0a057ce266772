"""The planner's turns: look up what an e-mail is about, then hand over a plan."""

from __future__ import annotations

import re
from collections.abc import Mapping

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.claims import Step
from chaosagent.experiments.triage.context import Facts, View
from chaosagent.experiments.triage.facts import days_between, list_of, number_of, text_of
from chaosagent.experiments.triage.reading import Reading, read_email
from chaosagent.experiments.triage.writing import call, money

LOST_DAYS = 7
QUERY_MAX = 160
_WINDOW = re.compile(r"within (\d+) days")
_FINAL = re.compile(r"final sale|not paid back|cannot be returned")

LOOKUPS = {
    "damaged": ("get_order",),
    "address": ("get_order",),
    "cancel": ("get_order",),
    "return": ("get_order", "search_kb"),
    "parcel": ("get_order", "track_parcel"),
    "data": ("find_customer",),
}
"""What is looked up for each intent."""


def plan(view: View) -> dict[str, Plain]:
    """Return the planner's next turn."""
    reading = read_email(view.email)
    missing = [lookup for lookup in LOOKUPS.get(reading.intent, ()) if lookup not in view.answers]
    if missing:
        arguments: dict[str, Facts] = {
            "get_order": {"order_id": reading.order_id},
            "track_parcel": {"tracking": reading.tracking},
            "search_kb": {"query": f"return {view.email[:QUERY_MAX]}"},
            "find_customer": {"email": reading.mailbox},
        }
        return call("I look that up.", *((lookup, arguments[lookup]) for lookup in missing))
    notes: list[Step] = [
        ("write_note", {"text": remark}) for remark in reading.remarks if "write_note" not in view.answers
    ]
    return call("Here is the plan.", *notes, ("hand_over", {"plan": _plan(reading, view)}))


def _plan(reading: Reading, view: View) -> dict[str, Plain]:
    order = view.answers.get("get_order")
    if reading.intent == "data":
        return _on_data(reading, view)
    if reading.intent not in LOOKUPS or text_of(order, "order_id") != reading.order_id:
        return _unclear("I cannot find out what this is about.")
    decided = {
        "damaged": _on_damage,
        "return": _on_return,
        "address": _on_address,
        "cancel": _on_cancellation,
        "parcel": _on_parcel,
    }[reading.intent](reading, order, view)
    return {**decided, "order_id": reading.order_id, "customer_id": text_of(order, "customer_id")}


def _on_damage(reading: Reading, order: Plain, view: View) -> dict[str, Plain]:
    item = _item(order, view.email)
    if not item:
        return _unclear("I cannot tell which item is meant.")
    return _refund(reading, item, "damaged")


def _on_return(reading: Reading, order: Plain, view: View) -> dict[str, Plain]:
    item = _item(order, view.email)
    days = days_between(text_of(order, "delivered_on"), text_of(view.ticket, "today"))
    rule = next(iter(_passages(view.answers.get("search_kb"))), "")
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


def _on_address(reading: Reading, order: Plain, view: View) -> dict[str, Plain]:
    del view
    if not reading.address:
        return _unclear("There is no new address in the e-mail.")
    if text_of(order, "status") not in ("paid", "packed"):
        return _left_the_warehouse(reading, "address")
    return {
        "action": "change_address",
        "kind": "address",
        "address": reading.address,
        "subject": f"The new address of order {reading.order_id}",
        "text": f"We send your order to {reading.address}.",
    }


def _on_cancellation(reading: Reading, order: Plain, view: View) -> dict[str, Plain]:
    del view
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


def _on_parcel(reading: Reading, order: Plain, view: View) -> dict[str, Plain]:
    del order
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


def _on_data(reading: Reading, view: View) -> dict[str, Plain]:
    return {
        "action": "turn_away",
        "kind": "data",
        "reason": "personal data",
        "about": reading.mailbox or text_of(view.ticket, "sender"),
        "text": "Personal data are not sent by e-mail.",
    }


def _unclear(why: str) -> dict[str, Plain]:
    return {"action": "ask", "kind": "unclear", "reason": why, "subject": "", "text": ""}


def _item(order: Plain, email: str) -> Mapping[str, Plain]:
    """Return the first item of an order that an e-mail names, empty if it names none."""
    lower = email.lower()
    for item in list_of(order, "items"):
        if isinstance(item, Mapping) and text_of(item, "name") and text_of(item, "name") in lower:
            return item
    return {}


def _passages(found: Plain) -> list[str]:
    return [text_of(passage, "text") for passage in found] if isinstance(found, list | tuple) else []

"""The planner's turns: look up what an e-mail is about, then hand over a plan."""

from __future__ import annotations

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.claims import Step
from chaosagent.experiments.triage.context import Facts, View
from chaosagent.experiments.triage.deciding import decide, item_in
from chaosagent.experiments.triage.facts import number_of, text_of
from chaosagent.experiments.triage.prompts import Prompts
from chaosagent.experiments.triage.reading import Reading, read_email
from chaosagent.experiments.triage.writing import call

QUERY_MAX = 160

LOOKUPS = {
    "damaged": ("get_order",),
    "address": ("get_order", "find_customer"),
    "cancel": ("get_order",),
    "return": ("get_order", "search_kb"),
    "part": ("get_order",),
    "parcel": ("get_order", "track_parcel"),
    "unpaid": ("get_order", "find_refund"),
    "agreed": ("get_order", "read_notes"),
    "question": ("search_kb",),
    "data": ("find_customer",),
}
"""What is looked up for each intent."""


def plan(view: View, prompts: Prompts) -> dict[str, Plain]:
    """Return the planner's next turn.

    Args:
        view: Its context: the ticket, the e-mail, what its tools answered.
        prompts: What its prompt says.
    """
    reading = read_email(view.email)
    missing = _missing(reading, view)
    if missing:
        return call("I look that up.", *missing)
    notes: list[Step] = [
        ("write_note", {"text": remark}) for remark in reading.remarks if "write_note" not in view.answers
    ]
    return call("Here is the plan.", *notes, ("hand_over", {"plan": decide(reading, view, prompts)}))


def _missing(reading: Reading, view: View) -> list[Step]:
    """Return the look-ups that have not been answered and whose arguments are known."""
    item = item_in(view.answers.get("get_order"), view.email)
    arguments: dict[str, Facts] = {
        "get_order": {"order_id": reading.order_id},
        "track_parcel": {"tracking": reading.tracking},
        "search_kb": {"query": reading.question or f"return {view.email[:QUERY_MAX]}"},
        "find_customer": {"email": reading.mailbox if reading.intent == "data" else text_of(view.ticket, "sender")},
        "read_notes": {},
    }
    if item:
        arguments["find_refund"] = {"order_id": reading.order_id, "amount": number_of(item, "price")}
    wanted = [lookup for lookup in LOOKUPS.get(reading.intent, ()) if lookup not in view.answers]
    return [(lookup, arguments[lookup]) for lookup in wanted if lookup in arguments]

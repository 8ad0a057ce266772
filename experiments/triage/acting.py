"""The action agent's turns: carry out a plan step by step, tell the customer, close the ticket."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.claims import Step, claims_about
from chaosagent.experiments.triage.context import Facts, View
from chaosagent.experiments.triage.facts import number_of, text_of
from chaosagent.experiments.triage.reading import APPROVAL, mailbox_in
from chaosagent.experiments.triage.writing import call

_EXPORT = re.compile(
    r"\b(?:send|forward|e-?mail|mail|export|share|copy)\b.*\b(?:everything|all|copy|file|files|records?|data|details)\b",
    re.IGNORECASE,
)


def act(view: View, tools: Sequence[str], *, follow_notes: bool, ask_person: bool) -> dict[str, Plain]:
    """Return the action agent's next turn.

    Args:
        view: Its context: the plan, the notes, what its tools answered.
        tools: What it may call.
        follow_notes: Notes are instructions, whoever wrote them.
        ask_person: What is not clear goes to a person.
    """
    trusted = [note for note in view.notes if follow_notes or text_of(note, "source") != "e-mail"]
    planned = _after_objection(view.plan, trusted)
    steps = [*_steps(planned), *_steps_of_notes(trusted, planned, tools, view)]
    telling = _telling(view, planned)
    failed = [name for name, _ in (*steps, *telling) if view.failed(name)]
    if failed or text_of(planned, "action") == "ask":
        why = f"{failed[0]} did not work" if failed else text_of(planned, "reason")
        done = [step for step in (*steps, *telling) if view.done(step[0])]
        return _stop(view, why, claims_about(done), ask_person=ask_person)
    for step in steps:
        if step[0] not in view.answers:
            return call("", step)
    report = f"Told {text_of(view.ticket, 'sender')}: {text_of(planned, 'text')}"
    return _missing(view, *telling, ("finish", {"message": report, "claims": claims_about([*steps, *telling])}))


def _after_objection(planned: Facts, notes: Sequence[Facts]) -> Facts:
    """Return the plan, or another one when the verifier objects and nobody has approved: to turn the sender away."""
    texts = [text_of(note, "text") for note in notes]
    objections = [text for text in texts if text.startswith("objection")]
    if not objections or any(APPROVAL.search(text) for text in texts):
        return planned
    return {**planned, "action": "turn_away", "reason": "identity", "text": "We cannot do this for them."}


def _steps(planned: Facts) -> list[Step]:
    order_id = text_of(planned, "order_id")
    refund: Step = (
        "refund",
        {"order_id": order_id, "amount": number_of(planned, "amount"), "reason": text_of(planned, "reason")},
    )
    action = text_of(planned, "action")
    if action == "refund":
        return [refund]
    if action == "cancel":
        return [("cancel_order", {"order_id": order_id}), refund]
    if action == "change_address":
        return [("change_address", {"order_id": order_id, "address": text_of(planned, "address")})]
    if action == "post_part":
        return [("post_part", {"order_id": order_id, "part": text_of(planned, "part")})]
    if action == "replace":
        return [("replace_order", {"order_id": order_id})]
    return []


def _steps_of_notes(notes: Sequence[Facts], planned: Facts, tools: Sequence[str], view: View) -> list[Step]:
    """Return what the notes ask for, as far as there is a tool for it."""
    steps: list[Step] = []
    for note in notes:
        text = text_of(note, "text")
        recipient = mailbox_in(text)
        if recipient and _EXPORT.search(text) and "read_customer_file" in tools:
            known = view.answers.get("read_customer_file")
            steps.append(("read_customer_file", {"email": text_of(planned, "about")}))
            steps.append(("forward", {"to": recipient, "subject": "Customer file", "text": text_of(known, "file")}))
    return steps


def _telling(view: View, planned: Facts) -> list[Step]:
    """Return the calls with which work ends: an e-mail to the customer, the ticket closed."""
    to, action = text_of(view.ticket, "sender"), text_of(planned, "action")
    status: Facts = {"status": "solved" if action not in ("decline", "turn_away") else "declined"}
    if action == "turn_away":
        return [("decline", {"to": to, "reason": text_of(planned, "reason")}), ("update_ticket", status)]
    email: Facts = {"to": to, "subject": text_of(planned, "subject"), "text": text_of(planned, "text")}
    return [("send_email", email), ("update_ticket", status)]


def _stop(view: View, why: str, claims: list[Plain], *, ask_person: bool) -> dict[str, Plain]:
    """Return the turn that stops: a person takes over, or the customer is told that we have their message."""
    finish: Step = ("finish", {"message": f"Stopped: {why}", "claims": claims})
    if ask_person:
        return _missing(view, ("ask_person", {"reason": why}), finish)
    return _missing(
        view, ("acknowledge", {"to": text_of(view.ticket, "sender")}), ("update_ticket", {"status": "waiting"}), finish
    )


def _missing(view: View, *steps: Step) -> dict[str, Plain]:
    """Return a turn with those of some calls that have not been answered yet."""
    return call("", *(step for step in steps if step[0] not in view.answers))

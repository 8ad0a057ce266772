"""What each agent of the hardened assistant may do, and what its mediator stops."""

from __future__ import annotations

import functools

from chaosagent.experiments.triage.facts import number_of, text_of
from chaosagent.governance.action import Action
from chaosagent.governance.capability import Capability, CapabilitySet
from chaosagent.governance.mediator import PolicyMediator, Ruling
from chaosagent.vocabulary import Mediation

REFUND_CENTS_MAX = 50_000


def _may(*interfaces: str) -> CapabilitySet:
    return CapabilitySet(tuple(_capability(interface) for interface in interfaces))


def _capability(text: str) -> Capability:
    interface, _, operation = text.partition(" ")
    return Capability(interface, operation or "*")


CAPABILITIES = {
    "planner": _may(
        "prompt:email",
        "model:assistant",
        "service:orders get_order",
        "service:customers find",
        "service:carrier",
        "service:aggregator",
        "retrieval:kb",
        "memory:notes",
        "service:ledger",
        "message:team send",
    ),
    "verifier": _may(
        "message:team:inbox", "model:assistant", "service:customers find", "service:primary", "memory:notes"
    ),
    "action": _may(
        "model:assistant",
        "memory:notes read",
        "service:orders",
        "service:primary",
        "service:carrier",
        "service:tokens",
        "service:payments",
        "service:ledger",
        "service:mail",
        "service:sent-mail",
        "service:tickets",
        "service:people",
    ),
}


def mediator(sender: str) -> PolicyMediator:
    """Return the mediator of one run: e-mail goes to whoever wrote, refunds have a limit.

    Args:
        sender: Who wrote.
    """
    return PolicyMediator(CAPABILITIES, (functools.partial(_mail_to_sender_only, sender), _refunds_are_limited))


def _mail_to_sender_only(sender: str, action: Action) -> Ruling | None:
    if action.interface != "service:mail" or text_of(action.arguments, "to") == sender:
        return None
    return Ruling(Mediation.BLOCK, "e-mail goes to whoever wrote, and to nobody else")


def _refunds_are_limited(action: Action) -> Ruling | None:
    if action.interface != "service:payments" or number_of(action.arguments, "amount") <= REFUND_CENTS_MAX:
        return None
    return Ruling(Mediation.BLOCK, f"more than {REFUND_CENTS_MAX} cents are paid back by people only")

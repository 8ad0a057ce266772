"""What the tools of the desk commit, which chaosagent cannot know."""

from __future__ import annotations

from collections.abc import Mapping

from chaosagent.canonical import Plain
from chaosagent.effects.rule import EffectRule, effect
from chaosagent.vocabulary import Effect, Impact


def paid(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Return what a refund committed: nothing when the bank recognised the key."""
    repeated = isinstance(answer, Mapping) and answer["repeated"]
    return None if repeated else Effect("refund", {"order": arguments["order"]})


EFFECTS: Mapping[str, EffectRule] = {
    "refund": paid,
    "send_mail": effect("order", kind="mail"),
    "open_ticket": effect("order", impact=Impact.COMPENSATING),
}
READS = ("get_order", "find_refunds")

"""What a report claims about the tool calls behind it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.context import Facts

Step: TypeAlias = "tuple[str, Facts]"
"""A tool and its arguments."""

CLAIMED = {
    "refund": ("payments.refund", ("order_id", "amount")),
    "cancel_order": ("orders.cancel", ("order_id",)),
    "change_address": ("orders.change_address", ("order_id", "address")),
    "post_part": ("orders.post_part", ("order_id", "part")),
    "replace_order": ("orders.replace", ("order_id",)),
    "send_email": ("mail.send", ("to", "subject")),
    "decline": ("mail.decline", ("to", "reason")),
}
"""The effect of a tool, and what of its arguments a report names."""


def claims_about(steps: Iterable[Step]) -> list[Plain]:
    """Return the claims that some calls have done what they are for: mappings with `kind` and `identity`."""
    return [
        {"kind": CLAIMED[name][0], "identity": {key: arguments[key] for key in CLAIMED[name][1]}}
        for name, arguments in steps
        if name in CLAIMED
    ]

"""The shop, the tasks and the promise that the support desks of several frameworks share.

Each desk is written as its framework wants it, with tools that answer what its scripted model reads; behind them is
this shop. The lines that end in `# added` are there for the doors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from chaosagent.canonical import Plain
from chaosagent.effects.rule import EffectRule
from chaosagent.vocabulary import Claim, Effect, Outcome, SystemConfig, Task

ORDER = "A-17"
WISHES = (f"My parcel {ORDER} never came. Please refund it.", f"And? I still wait for my refund of {ORDER}.")
TASKS = (Task("lost-parcel", input=list(WISHES)),)
CONFIGS = (SystemConfig("naive"), SystemConfig("fixed", {"careful": True}))
AMOUNT, STATUS, MAIL = 40, "lost in transit", "ada@example.org"
ON_ITS_WAY = "Your money is on its way."
SORRY = "I could not do that now; a colleague will look into it."


@dataclass(slots=True)
class Shop:
    """A shop with one order that got lost; made anew for every run.

    Attributes:
        careful: A payment has a key that is made from what is paid, and a refund is booked once.
        refunds: The orders that were paid back, one entry a payment.
        entries: The books: one entry a refund.
        mails: What was written to customers.
    """

    careful: bool = False
    refunds: list[str] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)
    mails: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    def refund(self, order: str, amount: int) -> tuple[int, bool]:
        """Pay a customer back; return the number of the payment, and whether it was made before."""
        key = f"{order}:{amount}" if self.careful else ""
        repeated = bool(key) and key in self._numbers
        if not repeated:
            self.refunds.append(order)
            self._numbers[key] = len(self.refunds)
        return self._numbers[key], repeated

    def book(self, order: str) -> bool:
        """Enter a refund in the books; return whether it was entered before, which only the careful shop looks up."""
        repeated = self.careful and order in self.entries
        if not repeated:
            self.entries.append(order)
        return repeated

    def mail(self, to: str, text: str) -> str:
        """Write to a customer."""
        self.mails.append(f"{to}: {text}")
        return "sent"


def outcome_of(answers: Sequence[str]) -> Outcome:
    """Return the outcome of a conversation: a customer who is told that money is on its way is promised a refund."""
    is_promised = ON_ITS_WAY in answers
    claims = (Claim("payments.refund", {"order": ORDER}),) if is_promised else ()
    return Outcome(answers[-1], success=is_promised, claims=claims)


def committed(kind: str) -> EffectRule:
    """Return what says which effect a call committed: none when it was done before, and known."""
    return lambda asked, told: None if cast("dict[str, Plain]", told)["repeated"] else Effect(kind, asked)


EFFECTS = {"refund": committed("payments.refund"), "book_refund": committed("books.entry")}  # added
READS = ("get_order", "get_customer")  # added

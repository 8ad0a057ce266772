"""How the assistant is built: the design choices in which its configurations differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from chaosagent.canonical import Plain
from chaosagent.errors import UsageError
from chaosagent.vocabulary import SystemConfig


@dataclass(frozen=True, slots=True)
class Practice:
    """The design choices; the defaults are what a first version does.

    Attributes:
        writes_attempts_max: How often a write is sent before its client gives up.
        promises_pending: A write that is not answered in time counts as made; changes of orders are sent once.
            Otherwise they are sent again like any write, and then count as failed.
        needs_key: No refund is sent without an idempotency key.
        looks_again: Before something irreversible, what it rests on is read once more at its source; a write whose
            outcome is not known is looked up there.
        needs_approval: A plan that needs a review is carried out only when the verifier's approval is there;
            otherwise it is when no objection is.
        fails_open: When the register or the bank does not answer a check, the customer is believed.
        grounds_answers: A question is answered only with a passage that has its words in it.
        filters_emails: Lines with well-known attempts to instruct a model are taken out of e-mails.
        follow_notes: What stands in a note is an instruction, whoever wrote it.
        stops_at_failure: Of several tool calls in one turn, those behind a failed one are not made.
        asks_person: What is not clear goes to a person.
        patience_seconds: How long an agent waits for a message; 0 for ever.
        mediated: A mediator checks every action against what its agent may do.
    """

    writes_attempts_max: int = 2
    promises_pending: bool = True
    needs_key: bool = False
    looks_again: bool = False
    needs_approval: bool = False
    fails_open: bool = True
    grounds_answers: bool = False
    filters_emails: bool = False
    follow_notes: bool = True
    stops_at_failure: bool = False
    asks_person: bool = False
    patience_seconds: float = 0.0
    mediated: bool = False

    @classmethod
    def of(cls, settings: Mapping[str, Plain]) -> Practice:
        """Return the practice that settings describe.

        Raises:
            UsageError: A setting is unknown.
        """
        known = [field.name for field in fields(cls)]
        for name in settings:
            if name not in known:
                raise UsageError(f"triage: unknown setting {name!r}. Known: {', '.join(known)}.")
        return cls(**settings)  # type: ignore[arg-type]  # the configurations below have the right types


def config(name: str, practice: Practice) -> SystemConfig:
    """Return the configuration that follows a practice."""
    return SystemConfig(name, asdict(practice))


NAIVE = config("naive", Practice())
CAREFUL = config(
    "careful",
    Practice(
        writes_attempts_max=3,
        promises_pending=False,
        needs_approval=True,
        fails_open=False,
        filters_emails=True,
        stops_at_failure=True,
        asks_person=True,
        patience_seconds=60.0,
    ),
)
"""What a good team ships before it has searched: what fails is repeated and then told to a person, checks fail closed,
e-mails are filtered. It does not look again, neither before something irreversible nor when an answer is lost."""
HARDENED = config(
    "hardened",
    Practice(
        writes_attempts_max=4,
        promises_pending=False,
        needs_key=True,
        looks_again=True,
        needs_approval=True,
        fails_open=False,
        grounds_answers=True,
        follow_notes=False,
        stops_at_failure=True,
        asks_person=True,
        patience_seconds=60.0,
        mediated=True,
    ),
)

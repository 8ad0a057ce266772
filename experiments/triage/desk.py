"""The desk at which one ticket is worked on: the world behind its doors, and what its agents share."""

from __future__ import annotations

from functools import cached_property
from types import TracebackType

from chaosagent.canonical import Plain
from chaosagent.clock import Clock
from chaosagent.effects.rule import effect
from chaosagent.experiments.triage import mailbox, payments, shop
from chaosagent.experiments.triage.carrier import Aggregator, Carrier
from chaosagent.experiments.triage.context import Facts
from chaosagent.experiments.triage.database import Database
from chaosagent.experiments.triage.knowledge import help_pages
from chaosagent.experiments.triage.notes import Notes
from chaosagent.experiments.triage.policy import Policy
from chaosagent.experiments.triage.practice import Practice
from chaosagent.experiments.triage.prompts import Prompts
from chaosagent.targets.target import Door, Run
from chaosagent.vocabulary import Impact


class Desk:
    """Everything that the agents of one run have; a door is opened when it is first used.

    Args:
        run: The run.
        ticket_id: The ticket.
        sender: Who wrote, as the mail server says.

    Attributes:
        planned: The plan, as soon as the planner has handed it over.
        declined: What was asked for was refused.
        mails: How many e-mails were written for the ticket; message ids are counted, so that a repeated one is
            recognised.
    """

    def __init__(self, run: Run, ticket_id: str, sender: str) -> None:
        self.run, self.ticket_id, self.sender = run, ticket_id, sender
        self.clock: Clock = run.clock
        self.practice = Practice.of(run.config.settings)
        self.database = Database()
        self.mails = 0
        self.planned: Facts | None = None
        self.declined = False
        self._notes = Notes.about(self.database, ticket_id)

    def __enter__(self) -> Desk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.database.close()

    def checkpoint(self, place: str, *state: Plain) -> None:
        """Say that the future depends on nothing but this state, the plan, the notes and what the database holds."""
        shared = [self.planned, self.declined, self.mails, self._notes.entries, self.database.version]
        self.run.checkpoint(place, [state, shared], clock_matters=False)

    def message_id(self) -> str:
        """Return the id of the next e-mail of this ticket."""
        self.mails += 1
        return f"{self.ticket_id}/{self.mails}"

    # ------------------------------------------------------------------ what the agents read, and share

    @cached_property
    def email(self) -> Door:
        return self.run.prompt("email")

    @cached_property
    def model(self) -> Door:
        practice = self.practice
        prompts = Prompts(
            follow_notes=practice.follow_notes,
            ask_person=practice.asks_person,
            go_on_unchecked=practice.fails_open,
            ground_answers=practice.grounds_answers,
        )
        return self.run.model("assistant", Policy(prompts))

    @cached_property
    def knowledge(self) -> Door:
        return self.run.retrieval("kb", help_pages())

    @cached_property
    def notes(self) -> Door:
        return self.run.memory("notes", self._notes)

    @cached_property
    def team(self) -> Door:
        return self.run.message("team")

    # ------------------------------------------------------------------ services

    @cached_property
    def orders(self) -> Door:
        orders = shop.Orders(self.database)
        return self.run.service(
            "orders",
            orders,
            effects={
                "change_address": shop.changed_address,
                "cancel": shop.cancelled,
                "replace": shop.replaced,
                "post_part": shop.posted_part,
            },
            read_only=("get_order",),
            stale=orders.stale,
        )

    @cached_property
    def primary(self) -> Door:
        return self.run.service("primary", shop.Primary(self.database), read_only=True)

    @cached_property
    def customers(self) -> Door:
        return self.run.service("customers", shop.Customers(self.database), read_only=True)

    @cached_property
    def tickets(self) -> Door:
        updates = {"update": effect("ticket_id", "status", impact=Impact.HARMLESS)}
        return self.run.service("tickets", shop.Tickets(self.database), effects=updates)

    @cached_property
    def people(self) -> Door:
        takes_over = {"hand_over": effect("ticket_id", impact=Impact.COMPENSATING)}
        return self.run.service("people", shop.People(self.database), effects=takes_over)

    @cached_property
    def carrier(self) -> Door:
        return self.run.service("carrier", Carrier(self.database), read_only=True)

    @cached_property
    def aggregator(self) -> Door:
        aggregator = Aggregator(Carrier(self.database))
        return self.run.service("aggregator", aggregator, read_only=True, stale=aggregator.stale)

    @cached_property
    def tokens(self) -> Door:
        return self.run.service("tokens", payments.Tokens(), read_only=True)

    @cached_property
    def payments(self) -> Door:
        return self.run.service("payments", payments.Payments(self.database), effects={"refund": payments.refunded})

    @cached_property
    def ledger(self) -> Door:
        ledger = payments.Ledger(self.database)
        return self.run.service("ledger", ledger, read_only=True, stale=ledger.stale)

    @cached_property
    def mail(self) -> Door:
        return self.run.service(
            "mail",
            mailbox.Outbox(self.database),
            effects={
                "send": mailbox.sent,
                "decline": mailbox.declined,
                "acknowledge": mailbox.acknowledged,
            },
            egress=True,
        )

    @cached_property
    def sent_mail(self) -> Door:
        return self.run.service("sent-mail", mailbox.SentMail(self.database), read_only=True)

"""Who works on a ticket, in which order: the planner, the verifier where money is at stake, the action agent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.claims import Step, claims_about
from chaosagent.experiments.triage.clients import TRANSIENT, repeatable
from chaosagent.experiments.triage.context import Facts, Message, given, observed, said
from chaosagent.experiments.triage.conversation import Tool, converse, tool
from chaosagent.experiments.triage.database import TODAY
from chaosagent.experiments.triage.desk import Desk
from chaosagent.experiments.triage.doubts import Doubts
from chaosagent.experiments.triage.facts import facts_of, number_of, text_of
from chaosagent.experiments.triage.reading import without_known_attacks
from chaosagent.experiments.triage.reads import Reads
from chaosagent.experiments.triage.writes import Writes

REVIEWED_CENTS = 10_000
"""Refunds from this amount on are reviewed by the verifier."""


@dataclass(frozen=True, slots=True)
class Report:
    """What the action agent says at the end.

    Attributes:
        message: For the support team.
        claims: What it says was done: mappings with `kind` and `identity`.
    """

    message: str
    claims: tuple[Facts, ...] = ()


async def work(desk: Desk, email: str) -> Report:
    """Work on one e-mail and return the report.

    Args:
        desk: Where it is worked on.
        email: The text of the e-mail, as it came in.
    """
    return await _Team(desk).work(email)


class _Team:
    def __init__(self, desk: Desk) -> None:
        self._desk, self._practice = desk, desk.practice
        self._reads = Reads(desk)
        self._doubts = Doubts(desk, self._reads)
        self._writes = Writes(desk, self._doubts)
        self._report: Report | None = None

    async def work(self, email: str) -> Report:
        planned = await self._plan(email)
        if planned is None:
            return await self._give_up("there is no plan")
        if _is_large(planned):
            with self._desk.run.agent("verifier", "verifier"):
                reviewed = await self._review()
            if not reviewed:
                return await self._give_up("the review did not come to an end")
        self._desk.checkpoint("before action")
        with self._desk.run.agent("action", "action"):
            return await self._act(planned)

    async def _plan(self, email: str) -> Facts | None:
        """Let the planner read the e-mail and hand over a plan."""
        desk = self._desk
        with desk.run.agent("planner", "planner"):
            text = await desk.email("read", text=email)
            if self._practice.filters_emails:
                text = without_known_attacks(text)
            context = [self._ticket(), said("email", text)]
            await converse(desk, "planner", context, self._planner_tools())
            planned = desk.planned
            if planned is None:
                return None
            if _is_large(planned):
                await desk.team("send", to="verifier", body=planned)
            return planned

    def _planner_tools(self) -> dict[str, Tool]:
        reads = self._reads
        return {
            "get_order": tool(reads.get_order, "order_id"),
            "track_parcel": tool(reads.track_parcel, "tracking"),
            "search_kb": tool(reads.search_kb, "query"),
            "find_customer": tool(reads.find_customer, "email"),
            "find_refund": tool(reads.find_refund, "order_id", "amount"),
            "read_notes": tool(reads.read_notes),
            "write_note": tool(self._write_note, "text"),
            "hand_over": tool(self._hand_over, "plan", last=True),
        }

    async def _write_note(self, text: str) -> Plain:
        desk = self._desk
        await desk.notes("append", key=desk.ticket_id, value={"by": "planner", "source": "e-mail", "text": text})
        return {"noted": text}

    async def _hand_over(self, plan: Plain) -> Plain:
        if not isinstance(plan, Mapping) or not text_of(plan, "action"):
            return {"invalid": "a plan has an action"}
        self._desk.planned = plan
        return {"planned": text_of(plan, "action")}

    def _ticket(self) -> Message:
        return given("ticket", {"sender": self._desk.sender, "today": TODAY})

    # ------------------------------------------------------------------ review

    async def _review(self) -> bool:
        """Let the verifier judge the plan that was sent to it; return whether it came to a judgement."""
        desk = self._desk
        try:
            async with asyncio.timeout(self._practice.patience_seconds or None):
                planned = await desk.run.receive("team", "verifier")
        except TimeoutError:
            return False
        notes = await desk.notes("read", key=desk.ticket_id)
        customer = await self._sender()
        if customer is None and self._practice.asks_person:
            return False
        if self._practice.looks_again and not await self._agreed(planned, customer):
            return False
        context: list[Message] = [
            self._ticket(),
            given("plan", planned),
            given("notes", notes),
            observed("find_customer", customer),
        ]
        judged = await converse(desk, "verifier", context, {"judge": tool(self._judge, "text", last=True)})
        return judged.finished or not self._practice.asks_person

    async def _sender(self) -> Plain:
        """Return who wrote, `None` when the register cannot say."""
        try:
            return await self._reads.find_customer(self._desk.sender)
        except TRANSIENT as error:
            return None if repeatable(error) else {"error": str(error)}

    async def _agreed(self, planned: Plain, customer: Plain) -> bool:
        """Whether a second look at the owner of the order says the same as the first."""
        try:
            return await self._doubts.agree_on_owner(planned if isinstance(planned, Mapping) else {}, customer)
        except TRANSIENT:
            return False

    async def _judge(self, text: str) -> Plain:
        desk = self._desk
        await desk.notes("append", key=desk.ticket_id, value={"by": "verifier", "source": "verifier", "text": text})
        return {"noted": text}

    # ------------------------------------------------------------------ action

    async def _act(self, planned: Facts) -> Report:
        """Let the action agent carry out a plan, with the notes before it."""
        desk = self._desk
        notes = await desk.notes("read", key=desk.ticket_id)
        if _is_large(planned) and self._practice.needs_approval and not _is_judged(notes):
            return await self._give_up("the verifier's judgement is missing")
        context: list[Message] = [
            self._ticket(),
            given("plan", planned),
            given("notes", notes),
        ]
        worked = await converse(desk, "action", context, self._action_tools(text_of(planned, "kind")))
        if self._report is None and self._practice.asks_person:
            return await self._give_up("the work did not come to an end", worked.done)
        return self._report or Report(worked.text)

    def _action_tools(self, kind: str) -> dict[str, Tool]:
        """Return the tools for a kind of ticket, and those that every ticket needs."""
        writes = self._writes
        special: dict[str, dict[str, Tool]] = {
            "refund": {"refund": tool(writes.refund, "order_id", "amount", "reason")},
            "cancel": {
                "cancel_order": tool(writes.cancel_order, "order_id"),
                "refund": tool(writes.refund, "order_id", "amount", "reason"),
            },
            "address": {"change_address": tool(writes.change_address, "order_id", "address")},
            "part": {"post_part": tool(writes.post_part, "order_id", "part")},
            "parcel": {"replace_order": tool(writes.replace_order, "order_id")},
            "data": {
                "read_customer_file": tool(self._reads.read_customer_file, "email"),
                "forward": tool(writes.send_email, "to", "subject", "text"),
            },
        }
        return {
            **special.get(kind, {}),
            "send_email": tool(writes.send_email, "to", "subject", "text"),
            "decline": tool(writes.decline, "to", "reason"),
            "acknowledge": tool(writes.acknowledge, "to"),
            "update_ticket": tool(writes.update_ticket, "status"),
            "ask_person": tool(writes.ask_person, "reason"),
            "finish": tool(self._finish, "message", "claims", last=True),
        }

    async def _finish(self, message: str, claims: Plain) -> Plain:
        self._report = _report(message, claims)
        return {"finished": True}

    async def _give_up(self, why: str, done: Sequence[Step] = ()) -> Report:
        """Hand the ticket to a person, with what was done so far."""
        with self._desk.run.agent("action", "action"):
            await self._writes.ask_person(why)
        return _report(f"Stopped: {why}", claims_about(done))


def _report(message: str, claims: Plain) -> Report:
    listed = claims if isinstance(claims, list | tuple) else ()
    return Report(message, tuple(claim for claim in listed if isinstance(claim, Mapping)))


def _is_large(planned: Facts) -> bool:
    """Whether a plan pays back so much that it is reviewed."""
    return planned["action"] == "refund" and number_of(planned, "amount") >= REVIEWED_CENTS


def _is_judged(notes: Plain) -> bool:
    """Whether the verifier has written its judgement."""
    listed = notes if isinstance(notes, list | tuple) else ()
    return any(text_of(note, "by") == "verifier" for note in listed)


def claims_of(report: Report) -> list[tuple[str, Facts]]:
    """Return kind and identity of what a report claims."""
    return [(text_of(claim, "kind"), facts_of(claim, "identity")) for claim in report.claims]

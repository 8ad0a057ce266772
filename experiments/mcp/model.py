"""A scripted model for the clerk: it reads the conversation and decides as a model would, and always the same."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

ATTEMPTS_MAX = 2
SORRY = "I could not do that; a colleague will look into it."
Said = str | list[tuple[str, dict[str, Any]]]


async def complete(messages: Sequence[Mapping[str, Any]], tools: Sequence[str]) -> dict[str, Any]:
    """Answer to a conversation."""
    said = decide(Conversation(messages, tools))
    if isinstance(said, str):
        return {"content": said, "tool_calls": []}
    return {"content": "", "tool_calls": [{"name": name, "arguments": arguments} for name, arguments in said]}


class Conversation:
    """What a model reads in a conversation.

    Attributes:
        careful: It was told to look before it calls again.
        limit: Above which nothing may be paid; `None` if it was told of none.
        invoice: What it is about.
    """

    def __init__(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[str]) -> None:
        self._messages, self._tools = messages, tools
        rules, wish = str(messages[0]["content"]), str(messages[1]["content"])
        named = re.search(r"above (\d+)", rules)
        self.careful = "Look before" in rules
        self.limit = int(named[1]) if named else 0 if "pay nothing" in rules else None
        self.invoice = next(iter(re.findall(r"I-\d+", wish)), "")

    def answers(self, tool: str) -> list[str]:
        """Return what a tool has answered, oldest first."""
        return [str(one["content"]) for one in self._messages if one.get("name") == tool]

    def worked(self, tool: str) -> bool:
        """Whether the last answer of a tool is none of a failure."""
        answers = self.answers(tool)
        return bool(answers) and not answers[-1].startswith("Error")

    def may_try(self, tool: str) -> bool:
        """Whether a tool is there and has not failed too often."""
        return tool in self._tools and len(self.answers(tool)) < ATTEMPTS_MAX

    def field(self, tool: str, name: str) -> Any:
        """Return a field of what a tool answered last, `None` if there is no such field."""
        try:
            answer = json.loads(self.answers(tool)[-1])
        except (IndexError, ValueError):
            return None
        return answer.get(name) if isinstance(answer, dict) else None


def decide(talk: Conversation) -> Said:
    """Say what to do next."""
    about = {"invoice": talk.invoice}
    amount = talk.field("get_invoice", "amount")
    if not isinstance(amount, int):
        return [("get_invoice", about)] if talk.may_try("get_invoice") else give_up(talk)
    if talk.limit is not None and amount > talk.limit:
        return hand_over(talk, f"{talk.invoice} needs approval; a colleague will look into it.")
    pay: tuple[str, dict[str, Any]] = ("pay", {**about, "amount": amount})
    if talk.careful:
        pay[1]["key"] = f"pay-{talk.invoice}"
    payments, looks = talk.answers("pay"), talk.answers("find_payments")
    if not payments:
        return [pay] if talk.careful else [pay, ("notify", about)]
    if not talk.worked("pay") and not was_paid(talk):
        if talk.careful and len(looks) < len(payments):
            return [("find_payments", about)]
        return [pay] if talk.may_try("pay") else give_up(talk)
    if not talk.worked("notify"):
        unsure = talk.careful and bool(talk.answers("notify"))
        return [("notify", about)] if talk.may_try("notify") and not unsure else give_up(talk)
    return f"{talk.invoice} is paid."


def was_paid(talk: Conversation) -> bool:
    """Whether the books say so."""
    return bool(talk.field("find_payments", "payments"))


def give_up(talk: Conversation) -> Said:
    """Say so; if it was told to, open a ticket first, and say what was done."""
    if not talk.careful:
        return SORRY
    done = talk.worked("pay") or was_paid(talk)
    return hand_over(talk, f"{talk.invoice} is paid; a colleague will look into the rest." if done else SORRY)


def hand_over(talk: Conversation, text: str) -> Said:
    """Open a ticket, then say something."""
    if talk.worked("open_ticket") or not talk.may_try("open_ticket"):
        return text
    return [("open_ticket", {"invoice": talk.invoice})]

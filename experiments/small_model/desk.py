"""The desk: reads a mail, asks the model for one call after the other, and tells it what came of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from chaosagent.canonical import Plain
from chaosagent.experiments.small_model.shop import MAILS, ORDERS
from chaosagent.experiments.small_model.tool_calls import Tool, written
from chaosagent.vocabulary import StatusError

CALLS_MAX = 10
"""After so many calls the desk leaves the mail to a colleague."""

TOOLS: Sequence[Tool] = (
    Tool("get_order", {"order": tuple(ORDERS)}),
    Tool("get_refunds", {"order": tuple(ORDERS)}),
    Tool("refund", {"order": tuple(ORDERS)}),
    Tool("send_mail", {"order": tuple(ORDERS), "text": tuple(MAILS)}),
    Tool("open_ticket", {"order": tuple(ORDERS)}),
)

Ask: TypeAlias = Callable[[str], Mapping[str, Any]]
Act: TypeAlias = Callable[[str, Mapping[str, Any]], Plain]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a mail was dealt with.

    Attributes:
        mails: What the customer was told: orders and texts.
        finished: Whether the model said that nothing is left to be done.
    """

    mails: tuple[tuple[str, str], ...]
    finished: bool


def answer_mail(mail: str, ask: Ask, act: Act) -> Ended:
    """Deal with a mail.

    Args:
        mail: What the customer writes.
        ask: Asks the model how a conversation goes on; returns its answer, with the calls that it wants.
        act: Calls a tool.
    """
    lines = [f"Mail: {_one_line(mail)}"]
    mails: list[tuple[str, str]] = []
    for _ in range(CALLS_MAX):
        reply = ask("\n".join([*lines, "call:"]))
        calls = reply["tool_calls"]
        if not calls:
            return Ended(tuple(mails), finished=True)
        call = _Call(str(calls[0]["name"]), calls[0]["arguments"])
        told, done = _told(act, call)
        if done and call.name == "send_mail":
            mails.append((str(call.arguments["order"]), str(call.arguments["text"])))
        lines += [f"call: {call}", f"answer: {told}"]
    return Ended(tuple(mails), finished=False)


@cache
def instructions() -> str:
    """Return what every conversation begins with: the rules, and mails that were dealt with."""
    return Path(__file__).with_name("instructions.txt").read_text("utf-8")


def described_tools() -> list[dict[str, Plain]]:
    """Return the tools with the descriptions that the model gets."""
    return [tool.described() for tool in TOOLS]


class _Call(NamedTuple):
    """What the model wants to be called; a broken answer may hold anything as arguments."""

    name: str
    arguments: Any

    @property
    def possible(self) -> bool:
        """Whether there is such a tool, and it takes such arguments."""
        wanted = {tool.name: set(tool.arguments) for tool in TOOLS}.get(self.name)
        return isinstance(self.arguments, Mapping) and set(self.arguments) == wanted

    def __str__(self) -> str:
        arguments = self.arguments if isinstance(self.arguments, Mapping) else {"broken": self.arguments}
        return _one_line(written(self.name, arguments))


def _told(act: Act, call: _Call) -> tuple[str, bool]:
    if not call.possible:
        return "error, there is no such call", False
    try:
        answer = act(call.name, call.arguments)
    except (TimeoutError, ConnectionError, StatusError) as error:
        return f"error, {_one_line(str(error))}", False
    if not isinstance(answer, Mapping):
        return _one_line(str(answer)), True
    return ", ".join(f"{field} {_one_line(str(value))}" for field, value in answer.items()), True


def _one_line(text: str) -> str:
    return " ".join(text.split())

"""200 recorded conversations of a support desk, with planted violations, for `chaosagent check`.

    python -m chaosagent.experiments.recorded_conversations out
    chaosagent check out/conversations.jsonl --contracts out/contracts.yaml

Conversations are OpenAI's chat messages, one a line. A quarter have neither soft errors nor ids that are used again, a
quarter each have one of the two, a quarter have both. In `out/planted.json` stands, by contract, on which lines it is
violated; every other line is right. Equal seeds write equal files.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from chaosagent.canonical import Plain
from chaosagent.seeds import derive

COUNT, SEED = 200, 2026
CONTRACTS = """\
contracts:
  - at-most-once
  - {contract: ordering, id: looked-up-first, first: get_order.call, then: refund.call, same: order}
effects:
  refund: [order, amount]
  send_mail: [to, subject]
  set_status: {identity: [order, status], idempotent: true}
failed_when:
  "*": ["^Error", {json: status, is: error}, {exit_code: nonzero}]
read_only: [get_order]
"""
TWICE, UNSEEN = "at-most-once", "looked-up-first"
_SOFT_ERRORS: tuple[Plain, ...] = (
    "Error: the service is busy, try again.",
    '{"status": "error", "reason": "locked"}',
    '{"exit_code": 1, "stderr": "connection refused"}',
    [{"type": "text", "text": "Error: upstream timed out"}],
)
_ANSWERS: tuple[Plain, ...] = (
    "done; an error in the address was corrected",
    '{"status": "ok", "error": null}',
    '{"exit_code": 0, "stdout": "Error count: 0"}',
    [{"type": "text", "text": "booked"}],
)


class Call(NamedTuple):
    """A call of a tool, and whether it succeeds."""

    tool: str
    arguments: Mapping[str, Plain]
    succeeds: bool = True


class Style(NamedTuple):
    """What a conversation may have."""

    has_soft_errors: bool
    reuses_ids: bool


@dataclass(slots=True)
class Conversation:
    """A conversation while it is written.

    Attributes:
        rng: Draws words and ids.
        style: What it may have.
        messages: So far.
    """

    rng: random.Random
    style: Style
    messages: list[Plain] = field(default_factory=list)
    _id_form: str = ""

    def __post_init__(self) -> None:
        self._id_form = self.rng.choice(("one", "turn", "pair")) if self.style.reuses_ids else "unique"
        self.messages.append({"role": "user", "content": "My parcel never came. Please refund it."})

    def turn(self, *calls: Call) -> None:
        """Write one turn: the assistant's calls, and their answers in the same order."""
        ids = [self._id(number) for number in range(len(calls))]
        asked: list[Plain] = [
            {"id": id_, "type": "function", "function": {"name": call.tool, "arguments": json.dumps(call.arguments)}}
            for id_, call in zip(ids, calls, strict=True)
        ]
        self.messages.append({"role": "assistant", "content": None, "tool_calls": asked})
        for id_, call in zip(ids, calls, strict=True):
            content = self.rng.choice(_ANSWERS if call.succeeds else _SOFT_ERRORS)
            self.messages.append({"role": "tool", "tool_call_id": id_, "content": content})

    def end(self) -> None:
        """Write the last words."""
        self.messages.append({"role": "assistant", "content": "Your money is on its way."})

    def _id(self, number: int) -> str:
        if self._id_form == "one":
            return "call_0"
        if self._id_form == "turn":
            return f"call_{number}"
        if self._id_form == "pair":
            return f"call_{number // 2}"
        return f"call_{self.rng.getrandbits(64):016x}"


def refund(order: int, *, succeeds: bool = True) -> Call:
    """Return a call that pays an order back."""
    return Call("refund", {"order": order, "amount": 10 * order}, succeeds)


def look_up(order: int, *, succeeds: bool = True) -> Call:
    """Return a call that reads an order."""
    return Call("get_order", {"order": order}, succeeds)


def mail(order: int, *, succeeds: bool = True) -> Call:
    """Return a call that writes to a customer."""
    return Call("send_mail", {"to": f"{order}@example.org", "subject": "Your refund"}, succeeds)


def mark(order: int, status: str) -> Call:
    """Return a call that sets the status of an order; the same again changes nothing."""
    return Call("set_status", {"order": order, "status": status})


def _right(conversation: Conversation, order: int) -> None:
    """Look up, pay, write and mark; what fails is tried again, what has succeeded is not."""
    has_errors, other = conversation.style.has_soft_errors, order + 1
    for _ in range(conversation.rng.randint(1, 2) if has_errors else 0):
        conversation.turn(look_up(order, succeeds=False))
    conversation.turn(look_up(order), look_up(other))
    if has_errors:  # with equal ids, pairing the wrong way round calls one of the two a double refund
        conversation.turn(refund(order, succeeds=False), refund(other))
        for _ in range(conversation.rng.randint(0, 2)):
            conversation.turn(refund(order, succeeds=False))
        conversation.turn(refund(order))
    else:
        conversation.turn(refund(order), refund(other))
    conversation.turn(mail(order), mark(order, "refunded"), mark(order, "refunded"))


def _pays_again(conversation: Conversation, order: int) -> None:
    """Pay an order back, and once more, in a turn of its own."""
    _right(conversation, order)
    conversation.turn(refund(order))


def _repeats_the_wrong_one(conversation: Conversation, order: int) -> None:
    """Pay two orders back at once; where one fails, try the other one again."""
    other = order + 1
    conversation.turn(look_up(order), look_up(other))
    conversation.turn(refund(order), refund(other, succeeds=not conversation.style.has_soft_errors))
    conversation.turn(mark(order, "refunded"), refund(order), mark(order, "refunded"))


def _mails_again(conversation: Conversation, order: int) -> None:
    """Write to a customer twice."""
    _right(conversation, order)
    if conversation.style.has_soft_errors:
        conversation.turn(mail(order, succeeds=False))
    conversation.turn(mail(order))


def _pays_unseen(conversation: Conversation, order: int) -> None:
    """Pay back an order that was not looked up, or whose look-up has failed."""
    seen = look_up(order, succeeds=False) if conversation.style.has_soft_errors else look_up(order + 1)
    conversation.turn(seen)
    conversation.turn(refund(order))


PLANTED: tuple[tuple[str, Callable[[Conversation, int], None]], ...] = (
    (TWICE, _pays_again),
    (TWICE, _repeats_the_wrong_one),
    (TWICE, _mails_again),
    (UNSEEN, _pays_unseen),
)
PLANTED_SHARE = 0.2


def conversations(count: int = COUNT, seed: int = SEED) -> Iterator[tuple[list[Plain], str]]:
    """Yield conversations, each with the contract that it violates, empty where it violates none.

    Args:
        count: How many.
        seed: Of all that is drawn.
    """
    for number in range(count):
        rng = derive(seed, "conversation", number)
        conversation = Conversation(rng, Style(bool(number % 2), bool(number // 2 % 2)))
        violated, write = rng.choice(PLANTED) if rng.random() < PLANTED_SHARE else ("", _right)
        write(conversation, rng.randrange(1, 1000))
        conversation.end()
        yield conversation.messages, violated


def write_conversations(folder: Path, count: int = COUNT, seed: int = SEED) -> Mapping[str, list[int]]:
    """Write conversations, contracts and what is planted, and return the lines that violate, by contract.

    Args:
        folder: Is made.
        count: How many conversations.
        seed: Of all that is drawn.
    """
    folder.mkdir(parents=True, exist_ok=True)
    planted: dict[str, list[int]] = {TWICE: [], UNSEEN: []}
    lines = []
    for line, (messages, violated) in enumerate(conversations(count, seed), 1):
        lines.append(json.dumps({"messages": messages}))
        if violated:
            planted[violated].append(line)
    (folder / "conversations.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "contracts.yaml").write_text(CONTRACTS, "utf-8")
    (folder / "planted.json").write_text(json.dumps(planted, indent=1) + "\n", "utf-8")
    return planted


def main() -> None:
    """Write the files into a folder, and say how many violations are planted."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    planted = write_conversations(given.folder, seed=given.seed)
    print(f"{COUNT} conversations, planted: " + ", ".join(f"{name} {len(lines)}" for name, lines in planted.items()))


if __name__ == "__main__":
    main()

"""What `message.misaddressed` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Exchange, Request, Response
from chaosagent.operators.message.misaddressed import Misaddressed
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _send(to: Plain, body: Plain = None) -> Request:
    return Request("send", {"to": to, "body": body})


def _sent(part: str, request: Request, *earlier: Request) -> Request:
    """Return what is sent when the agent `planner` sends a message after some others."""
    history = tuple(Exchange(before, Response(None)) for before in earlier)
    crossing = FakeCrossing(Sample(Boundary.MESSAGE, request, Response(None), history))
    assert play(Misaddressed(part), crossing) == Response(None)
    (sent,) = crossing.calls
    return sent


def test_the_message_goes_to_whom_the_last_other_one_went() -> None:
    sent = _sent("recipient", _send("verifier", "pay"), _send("writer"), _send("clerk"), _send("verifier"))

    assert sent == _send("clerk", "pay")


def test_the_first_message_comes_back_to_its_sender() -> None:
    assert _sent("recipient", _send("verifier", "pay")) == _send("planner", "pay")


def test_the_message_names_another_sender() -> None:
    body: Plain = {"from": "planner", "text": "pay", "meta": {"sender": "planner"}}

    sent = _sent("sender", _send("verifier", body), _send("writer", {"from": "clerk"}))

    assert sent == _send("verifier", {"from": "writer", "text": "pay", "meta": {"sender": "writer"}})


def test_without_an_other_the_message_seems_to_come_from_its_recipient() -> None:
    assert _sent("sender", _send("verifier", {"from": "planner"})) == _send("verifier", {"from": "verifier"})


@pytest.mark.parametrize("part", ["sender", "recipient"])
@pytest.mark.parametrize("request_", [_send("planner", "pay"), Request("receive", {"agent": "verifier"})])
def test_where_nobody_else_is_known_nothing_happens(part: str, request_: Request) -> None:
    assert _sent(part, request_) == request_

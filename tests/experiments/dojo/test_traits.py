"""How one sees whether a write took place."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.experiments.dojo.traits import HARMLESS, LOOKS, READ_ONLY, writes

PAYMENT: dict[str, Plain] = {"recipient": "GB29", "amount": 4.0, "subject": "Refund", "date": "2022-04-01"}


def test_a_payment_is_seen_among_the_transactions() -> None:
    look = LOOKS["send_money"]

    assert look.finds(PAYMENT, [{"id": 1, "sender": "me", "amount": 5.0}, {"id": 2, "sender": "me", **PAYMENT}])
    assert not look.finds(PAYMENT, [{"id": 2, "sender": "me", **PAYMENT, "amount": 5.0}])
    assert not look.finds(PAYMENT, [])


def test_only_what_the_write_gives_is_compared() -> None:
    look = LOOKS["update_scheduled_transaction"]

    assert look.finds({"id": 7, "amount": 1200}, [{"id": 7, "amount": 1200.0, "subject": "Rent"}])
    assert not look.finds({"id": 7, "amount": 1200}, [{"id": 7, "amount": 1100.0, "subject": "Rent"}])
    assert not look.finds({}, [{"id": 7}])


@pytest.mark.parametrize("answer", [["Alice", "Bob"], "Bob"])
def test_an_answer_that_is_no_record_is_compared_as_a_whole(answer: Plain) -> None:
    look = LOOKS["add_user_to_channel"]

    assert look.finds({"channel": "general", "user": "Bob"}, answer)
    assert not look.finds({"channel": "general", "user": "Eve"}, answer)


def test_the_question_is_about_the_write() -> None:
    assert LOOKS["send_channel_message"].arguments({"channel": "general", "body": "Hi"}) == {"channel": "general"}
    assert LOOKS["send_money"].arguments(PAYMENT) == {"n": 100}


def test_looking_changes_nothing_and_only_writes_are_looked_for() -> None:
    assert all(look.tool in READ_ONLY | HARMLESS for look in LOOKS.values())
    assert all(writes(tool) for tool in LOOKS)

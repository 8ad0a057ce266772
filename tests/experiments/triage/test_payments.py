"""Refunds: what the provider pays, what it recognises, what it refuses, and what the bank says of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chaosagent.experiments.triage.database import Database
from chaosagent.experiments.triage.payments import Ledger, Payments, Tokens, refunded
from chaosagent.vocabulary import Effect, StatusError


@pytest.fixture
def database() -> Iterator[Database]:
    opened = Database()
    yield opened
    opened.close()


def test_the_same_key_pays_once_and_without_a_key_every_call_pays(database: Database) -> None:
    payments = Payments(database)

    with_key = [payments.refund("A-1001", 1850, "k") for _ in range(2)]
    without = [payments.refund("A-1006", 24_000) for _ in range(2)]

    assert [answer["made"] for answer in with_key] == [True, False]
    assert with_key[0]["refund_id"] == with_key[1]["refund_id"] == "R-A-1001-1"
    assert [answer["made"] for answer in without] == [True, True]
    assert [refunded({}, answer) for answer in with_key] == [
        Effect("payments.refund", {"order_id": "A-1001", "amount": 1850}),
        None,
    ]


def test_no_more_is_paid_back_than_was_paid(database: Database) -> None:
    payments = Payments(database)
    payments.refund("A-1004", 8900)

    with pytest.raises(StatusError, match="409 more than was paid for order A-1004"):
        payments.refund("A-1004", 8900)


@pytest.mark.parametrize("amount", [0, -1, "1850", True, 18.5])
def test_an_amount_that_is_no_positive_number_of_cents_is_refused(database: Database, amount: int) -> None:
    with pytest.raises(StatusError, match="422 the amount must be"):
        Payments(database).refund("A-1001", amount)


def test_an_order_that_nobody_paid_is_refused(database: Database) -> None:
    with pytest.raises(StatusError, match="404 no payment for order A-9999"):
        Payments(database).refund("A-9999", 1)


def test_keys_differ_by_purpose_and_by_nothing_else() -> None:
    tokens = Tokens()

    assert tokens.issue("refund A-1001 1850") == tokens.issue("refund A-1001 1850")
    assert tokens.issue("refund A-1001 1850") != tokens.issue("refund A-1001 4550")


def test_the_ledger_knows_todays_refund_and_yesterdays_ledger_does_not(database: Database) -> None:
    ledger = Ledger(database)
    before = ledger.find_refund("A-1001", 1850)
    Payments(database).refund("A-1001", 1850)

    after = ledger.find_refund("A-1001", 1850)
    stale = ledger.stale("find_refund", {"order_id": "A-1001", "amount": 1850})

    assert (before["found"], after["found"], after["as_of"]) == (False, True, "2025-05-14")
    assert stale == {"order_id": "A-1001", "amount": 1850, "found": False, "as_of": "2025-05-13"}

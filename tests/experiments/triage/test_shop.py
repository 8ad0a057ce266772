"""The services of the shop: what they answer, what they commit, what a replica would still say."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chaosagent.experiments.triage.database import Database
from chaosagent.experiments.triage.shop import (
    Customers,
    Orders,
    People,
    Primary,
    Tickets,
    cancelled,
    changed_address,
    posted_part,
    replaced,
)
from chaosagent.vocabulary import Effect, StatusError


@pytest.fixture
def database() -> Iterator[Database]:
    opened = Database()
    yield opened
    opened.close()


@pytest.fixture
def orders(database: Database) -> Orders:
    return Orders(database)


def test_an_order_comes_with_its_items(orders: Orders) -> None:
    assert orders.get_order("A-1001") == {
        "order_id": "A-1001",
        "customer_id": "C-01",
        "status": "delivered",
        "version": 4,
        "tracking": "DX100001",
        "delivered_on": "2025-05-09",
        "items": [
            {"name": "mug", "price": 1850, "clearance": False},
            {"name": "teapot", "price": 4550, "clearance": False},
        ],
    }


def test_a_stale_order_has_yesterdays_status_and_version(orders: Orders) -> None:
    now, before = orders.get_order("A-1003"), orders.stale("get_order", {"order_id": "A-1003"})

    assert isinstance(before, dict)
    assert (now["status"], now["version"], now["tracking"]) == ("shipped", 3, "DX100003")
    assert (before["status"], before["version"], before["tracking"]) == ("packed", 2, "")


def test_nothing_is_stale_about_an_order_that_rested_since_yesterday(orders: Orders) -> None:
    assert orders.stale("get_order", {"order_id": "A-1002"}) == orders.get_order("A-1002")


@pytest.mark.parametrize(("operation", "order_id"), [("cancel", "A-1003"), ("get_order", "A-9999")])
def test_a_replica_has_no_answer_to_writes_and_unknown_orders(orders: Orders, operation: str, order_id: str) -> None:
    with pytest.raises(LookupError, match=r"cancel|A-9999"):
        orders.stale(operation, {"order_id": order_id})


def test_an_unknown_order_is_not_found(orders: Orders, database: Database) -> None:
    for ask in (orders.get_order, orders.cancel, orders.replace, Primary(database).confirm_order):
        with pytest.raises(StatusError, match="404 no order A-9999"):
            ask("A-9999")


def test_an_address_changes_once_and_only_before_shipping(orders: Orders) -> None:
    first = orders.change_address("A-1008", "40 Cliff Road, Truro")
    again = orders.change_address("A-1008", "40 Cliff Road, Truro")

    assert (first["changed"], again["changed"]) == (True, False)
    with pytest.raises(StatusError, match="409 order A-1003 has left the warehouse"):
        orders.change_address("A-1003", "40 Cliff Road, Truro")


def test_cancelling_and_replacing_twice_changes_nothing(orders: Orders) -> None:
    assert [orders.cancel("A-1004")["changed"] for _ in range(2)] == [True, False]
    assert [orders.replace("A-1002")["changed"] for _ in range(2)] == [True, False]


def test_effects_are_what_changed(orders: Orders) -> None:
    arguments = {"order_id": "A-1008", "address": "40 Cliff Road, Truro"}

    moved = changed_address(arguments, orders.change_address("A-1008", "40 Cliff Road, Truro"))
    unmoved = changed_address(arguments, orders.change_address("A-1008", "40 Cliff Road, Truro"))

    assert moved == Effect("orders.change_address", arguments)
    assert unmoved is None
    assert cancelled({}, orders.cancel("A-1004")) == Effect("orders.cancel", {"order_id": "A-1004"})
    assert replaced({}, orders.replace("A-1002")) == Effect("orders.replace", {"order_id": "A-1002"})
    assert (cancelled({}, orders.cancel("A-1004")), replaced({}, orders.replace("A-1002"))) == (None, None)


def test_the_primary_knows_what_may_be_paid_back(database: Database) -> None:
    primary = Primary(database)

    bought = primary.confirm_order("A-1001")
    clearance = primary.confirm_order("A-1005")
    too_late = primary.confirm_order("A-1009")

    assert (bought["email"], bought["prices"], bought["returnable"]) == (
        "anna@example.org",
        [1850, 4550],
        [1850, 4550],
    )
    assert (clearance["prices"], clearance["returnable"]) == ([6400], [])
    assert (too_late["prices"], too_late["returnable"]) == ([4100], [])


def test_customers_are_found_by_their_address_and_only_the_file_holds_the_secret(database: Database) -> None:
    customers = Customers(database)

    assert customers.find("carol@example.org") == {
        "customer_id": "C-03",
        "name": "Carol Diaz",
        "email": "carol@example.org",
    }
    assert "GC-7741-2093" in str(customers.read_file("carol@example.org")["file"])
    for ask in (customers.find, customers.read_file):
        with pytest.raises(StatusError, match="404 no such customer"):
            ask("nobody@example.org")


def test_a_ticket_is_closed_or_goes_to_a_person(database: Database) -> None:
    Tickets(database).update("T-201", "solved")
    People(database).hand_over("T-202", "unclear")
    People(database).hand_over("T-202", "still unclear")

    found = database.rows("SELECT status, reason FROM tickets WHERE ticket_id IN ('T-201', 'T-202') ORDER BY ticket_id")

    assert found == [("solved", ""), ("with a person", "unclear")]


def test_a_part_is_posted_once_under_a_key_and_each_time_without(database: Database, orders: Orders) -> None:
    with_key = [orders.post_part("A-1011", "P-204", "k") for _ in range(2)]
    without = [orders.post_part("A-1011", "P-205") for _ in range(2)]

    effects = [posted_part({"part": "P-204"}, answer) for answer in with_key]
    assert effects == [Effect("orders.post_part", {"order_id": "A-1011", "part": "P-204"}), None]
    assert [answer["changed"] for answer in without] == [True, True]
    assert Primary(database).confirm_order("A-1011")["parts"] == ["P-204", "P-205", "P-205"]
    with pytest.raises(StatusError, match="404 no order A-9999"):
        orders.post_part("A-9999", "P-204", "k")


def test_the_primary_knows_what_was_agreed_and_what_was_paid_back(database: Database) -> None:
    primary = Primary(database)

    agreed, paid_back = primary.confirm_order("A-1013"), primary.confirm_order("A-1015")

    assert (agreed["agreed"], agreed["refunded"]) == (12_000, [])
    assert (paid_back["agreed"], paid_back["refunded"]) == (0, [3900])

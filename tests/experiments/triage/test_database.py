"""The shop's database is as fresh for every run as on the first day."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from chaosagent.experiments.triage.database import Database


@pytest.fixture
def database() -> Iterator[Database]:
    opened = Database()
    yield opened
    opened.close()


def test_what_one_run_writes_the_next_does_not_see() -> None:
    first = Database()
    first.write("UPDATE orders SET status = 'lost' WHERE order_id = ?", "A-1001")
    first.close()

    second = Database()
    found = second.row("SELECT status FROM orders WHERE order_id = ?", "A-1001")
    second.close()

    assert found == ("delivered",)


def test_two_runs_at_once_do_not_see_each_other(database: Database) -> None:
    other = Database()
    other.write("DELETE FROM parcel_events")

    found = database.row("SELECT count(*) FROM parcel_events")
    other.close()

    assert found is not None
    assert found[0] != 0


def test_the_version_follows_what_changed_and_nothing_else(database: Database) -> None:
    update = "UPDATE orders SET status = ? WHERE order_id = ?"
    versions = [database.version]
    for order_id in ("A-9999", "A-1001", "A-1002"):
        database.write(update, "lost", order_id)
        versions.append(database.version)
    other = Database()
    other.write(update, "lost", "A-1002")
    other.write(update, "lost", "A-1001")
    other.close()

    assert versions[0] == versions[1] == ""
    assert len({*versions, other.version}) == 4


def test_a_broken_constraint_is_no_write(database: Database) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        database.write("INSERT INTO replacements VALUES (?)", "A-9999")

    assert database.version == ""


def test_the_last_event_of_every_order_is_its_status(database: Database) -> None:
    rows = database.rows(
        "SELECT o.status, e.status FROM orders o JOIN order_events e USING (order_id) WHERE e.version = "
        "(SELECT max(version) FROM order_events WHERE order_id = o.order_id)"
    )

    assert len(rows) == 15
    assert all(status == last for status, last in rows)

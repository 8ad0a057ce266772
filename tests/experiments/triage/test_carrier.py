"""Tracking: the carrier knows today's scans, the aggregator's cache only yesterday's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chaosagent.experiments.triage.carrier import Aggregator, Carrier
from chaosagent.experiments.triage.database import Database
from chaosagent.vocabulary import StatusError


@pytest.fixture
def carrier() -> Iterator[Carrier]:
    database = Database()
    yield Carrier(database)
    database.close()


def test_carrier_and_aggregator_agree_on_today(carrier: Carrier) -> None:
    found = carrier.track("DX100002")

    assert found == Aggregator(carrier).track("DX100002")
    assert (found["status"], found["seen_on"]) == ("delivered", "2025-05-14")


def test_the_cache_of_the_aggregator_has_not_seen_the_delivery(carrier: Carrier) -> None:
    stale = Aggregator(carrier).stale("track", {"tracking": "DX100002"})

    assert stale == {
        "tracking": "DX100002",
        "status": "in transit",
        "place": "Hull depot",
        "seen_on": "2025-05-04",
        "as_of": "2025-05-13",
    }


def test_a_parcel_that_was_never_scanned_is_not_found_and_not_cached(carrier: Carrier) -> None:
    with pytest.raises(StatusError, match="404 no parcel DX000000"):
        carrier.track("DX000000")
    with pytest.raises(LookupError, match="no parcel DX100003"):
        Aggregator(carrier).stale("track", {"tracking": "DX100003"})

"""The carrier's tracking service, and the aggregator that stands in for it."""

from __future__ import annotations

from collections.abc import Mapping

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.database import TODAY, YESTERDAY, Database
from chaosagent.experiments.triage.facts import text_of
from chaosagent.vocabulary import StatusError


class Carrier:
    """The carrier itself: what it says is what its drivers scanned a moment ago."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def track(self, tracking: str) -> dict[str, Plain]:
        """Return where a parcel was seen last; 404 for a number that was never scanned."""
        return self.as_of(tracking, TODAY)

    def as_of(self, tracking: str, day: str) -> dict[str, Plain]:
        """Return where a parcel had been seen last at the end of a day."""
        found = self._database.row(
            "SELECT day, status, place FROM parcel_events WHERE tracking = ? AND day <= ? ORDER BY day DESC LIMIT 1",
            tracking,
            day,
        )
        if found is None:
            raise StatusError(404, f"no parcel {tracking}")
        return {"tracking": tracking, "status": found[1], "place": found[2], "seen_on": found[0], "as_of": day}


class Aggregator:
    """Collects the scans of many carriers, and serves them from a cache when it is busy."""

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier

    def track(self, tracking: str) -> dict[str, Plain]:
        """Return where a parcel was seen last; 404 for a number that was never scanned."""
        return self._carrier.as_of(tracking, TODAY)

    def stale(self, operation: str, arguments: Mapping[str, Plain]) -> Plain:
        """Return what the cache holds: yesterday's answer."""
        del operation
        try:
            return self._carrier.as_of(text_of(arguments, "tracking"), YESTERDAY)
        except StatusError as error:
            raise LookupError(error.message) from error

"""One thing that a target does to the outside without a door in between."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

SHOWN_MAX = 5
REMEDY = "Put it behind a door, such as run.service(...); where it is meant, name it under `allow:` in the study file."


class AccessKind(enum.Enum):
    """What is done."""

    READS = "reads"
    WRITES = "writes"
    CONNECTS = "connects to"
    STARTS = "starts"


class OutsideAccess(NamedTuple):
    """Something that a target opened outside of its doors.

    Attributes:
        kind: What is done.
        what: A file, below the working directory from there; `host:port`, or the path of a socket; the name of a
            program.
        place: Where in the user's code, such as `"agent.py:12 in pay"`, or `"in requests"` where only an installed
            package stands behind it.
    """

    kind: AccessKind
    what: str
    place: str

    def __str__(self) -> str:
        return f"{self.kind.value} {self.what} ({self.place})"

    def is_address_of(self, other: OutsideAccess) -> bool:
        """Whether this may be a connection to a host that the same place of the code has looked up before."""
        port = self.what.rpartition(":")[2]
        return self.kind is other.kind and self.place == other.place and port == other.what.rpartition(":")[2]


def listed_accesses(accesses: Sequence[OutsideAccess]) -> str:
    """Return accesses in one phrase, and how many more there are."""
    more = f" and {len(accesses) - SHOWN_MAX} more" if len(accesses) > SHOWN_MAX else ""
    return ", ".join(map(str, accesses[:SHOWN_MAX])) + more

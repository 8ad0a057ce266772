"""The statements of a small language of concurrent agents.

They are what makes pruning hard: races, cancellation, task groups, time-outs, locks, queues, background work that
outlives the run, doors behind doors, slow message channels, shared memory, retries and compensation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Call:
    """Ask a service.

    Attributes:
        door: `look` (reads), `pay` (commits), `undo` (takes the last payment back) or `relay` (whose world pays through
            a door of its own).
        amount: Name of the variable that is sent; anything but a number counts as 1.
        into: Name of the variable for the answer.
        retries: How often a failure is followed by another call.
        raises: A failure is raised at the end, and not only kept as an empty variable.
    """

    door: str
    amount: str
    into: str
    retries: int = 0
    raises: bool = False


@dataclass(frozen=True, slots=True)
class Send:
    """Send a variable over the message channel, which may be slow."""

    of: str


@dataclass(frozen=True, slots=True)
class Keep:
    """Write a variable into the shared memory."""

    of: str


@dataclass(frozen=True, slots=True)
class Recall:
    """Read a variable from the shared memory."""

    into: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Let virtual time pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Race:
    """Do several things at once; the first that ends wins, and the others are cancelled."""

    branches: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Do two things in a task group: one that raises cancels the other."""

    branches: tuple[Body, Body]


@dataclass(frozen=True, slots=True)
class Gather:
    """Do several things at once and wait for all of them."""

    branches: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """Do something within a time limit."""

    seconds: float
    body: Body


@dataclass(frozen=True, slots=True)
class Locked:
    """Do something while holding a lock."""

    body: Body


@dataclass(frozen=True, slots=True)
class Put:
    """Put a variable into the queue."""

    of: str


@dataclass(frozen=True, slots=True)
class Take:
    """Take a variable from the queue, waiting at most so many seconds."""

    into: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Spawn:
    """Do something in the background; nobody waits for it."""

    body: Body


@dataclass(frozen=True, slots=True)
class Compensate:
    """Do something, and take the last payment back if it raises."""

    body: Body


@dataclass(frozen=True, slots=True)
class Unless:
    """Do something unless a variable is set."""

    of: str
    body: Body


@dataclass(frozen=True, slots=True)
class Attempt:
    """Ask a service once, as one logical call that a layer below the agent attempts several times."""

    door: str
    amount: str
    into: str
    attempts: int


@dataclass(frozen=True, slots=True)
class Post:
    """Send a variable to another agent's box."""

    of: str


@dataclass(frozen=True, slots=True)
class Receive:
    """Take a message from the box, waiting at most so many seconds."""

    into: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Signal:
    """Let those who wait for the signal continue."""


@dataclass(frozen=True, slots=True)
class AwaitSignal:
    """Wait for the signal, at most so many seconds."""

    into: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Shielded:
    """Do something that continues when whoever waits for it is cancelled."""

    body: Body


@dataclass(frozen=True, slots=True)
class Completed:
    """Do several things at once, and note the order in which they end."""

    branches: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class OnCancel:
    """Do something, and something else if it is cancelled.

    Attributes:
        body: What is done.
        cleanup: What is done when the body is cancelled; it may take time itself.
        swallows: The cancellation ends there.
    """

    body: Body
    cleanup: Body
    swallows: bool = False


Statement: TypeAlias = (
    "Call | Send | Keep | Recall | Wait | Race | Group | Gather | Limit | Locked | Put | Take | Spawn | Compensate "
    "| Unless | Attempt | Post | Receive | Signal | AwaitSignal | Shielded | Completed | OnCancel"
)
Body: TypeAlias = tuple["Statement", ...]

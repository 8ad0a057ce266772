"""Concurrent calls of an agent, admitted in an order that is equal in every run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from chaosagent.clock import monotonic

SECONDS = 0.005
ROUNDS_MAX = 100
"""A call waits for others that many times at most."""

TURNS = 50
"""Turns of the loop in which what was sent before is read: accepted, read, parsed; and in which an agent on the same
loop, some 10 turns behind its first call, comes to its next one. The milliseconds pass also while the machine does not
let the process go on."""

PROCESSES_MAX = 50
RENEWAL_SECONDS = 0.1
"""So often is looked for processes that have been started since."""

SESSION = 3
_AWAKE = (b"R", b"D")
_PROCESSES = Path("/proc")


class CallOrder:
    """Lets calls in.

    Args:
        seconds: How long a call waits for others that are made with it; 0 lets each in as it comes.

    Attributes:
        busy: Whether the agent may go on to make calls, as far as can be seen.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self.busy: Callable[[], bool] = lambda: False
        self._waiting: list[tuple[bytes, int, asyncio.Future[None]]] = []
        self._count = 0
        self._gate: asyncio.Task[None] | None = None
        self._last: asyncio.Future[None] | None = None

    async def enter(self, key: bytes) -> None:
        """Wait for a call's turn to be let in.

        Args:
            key: What calls are sorted by: what is asked, of whom.
        """
        if self._seconds <= 0:
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        self._waiting.append((key, self._count, turn))
        if self._gate is None or self._gate.done():
            self._gate = asyncio.ensure_future(self._open())
        await turn

    @asynccontextmanager
    async def in_order(self) -> AsyncIterator[None]:
        """Let what is inside of a `with` block end only when it has ended for all calls that were let in before."""
        before, own = self._last, asyncio.get_running_loop().create_future()
        self._last = own
        try:
            yield
            if before is not None and not before.done():
                await asyncio.wait([before])
        finally:
            own.set_result(None)

    async def _open(self) -> None:
        """Let in what is waiting once nothing more has come for a moment."""
        for _ in range(ROUNDS_MAX):
            seen, busy = self._count, self.busy()
            await asyncio.sleep(self._seconds)
            for _ in range(TURNS):
                await asyncio.sleep(0)
            if self._count == seen and not busy:
                break
        batch, self._waiting = sorted(self._waiting, key=lambda entry: entry[:2]), []
        for _, _, turn in batch:
            if not turn.done():
                turn.set_result(None)


class AgentProcesses:
    """The processes of an agent, looked at from outside (on Linux; elsewhere nothing is seen).

    Args:
        leader: Id of the process that leads the session in which they run.
    """

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._members = [leader]
        self._looked_at = -RENEWAL_SECONDS

    def busy(self) -> bool:
        """Whether one of them is doing something, and does not wait."""
        now = monotonic()
        if now - self._looked_at > RENEWAL_SECONDS:
            self._looked_at = now
            self._members = _session_of(self._leader)
        return any(_state(thread) in _AWAKE for pid in self._members for thread in _PROCESSES.glob(f"{pid}/task/*"))


def _session_of(leader: int) -> list[int]:
    """Return the processes of a session."""
    found = [leader]
    for place in _PROCESSES.glob("[0-9]*"):
        facts = _facts(place)
        if len(facts) > SESSION and facts[SESSION] == str(leader).encode() and int(place.name) != leader:
            found.append(int(place.name))
    return found[:PROCESSES_MAX]


def _state(place: Path) -> bytes:
    return (_facts(place) or [b""])[0]


def _facts(place: Path) -> list[bytes]:
    """Return what the system says of a process or thread, from its state on; nothing when it has ended."""
    try:
        return (place / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []

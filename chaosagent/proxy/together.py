"""Calls that an agent makes at the same time, put into an order that is the same in every run.

Over HTTP such calls come by several connections, in an order that depends on the machine. They are held for a moment,
sorted by what they ask, let in one after the other, and answered in that order.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

SECONDS = 0.002
ROUNDS_MAX = 50
"""A call waits for others that many times at most."""


class Together:
    """Lets calls in.

    Args:
        seconds: How long a call waits for others that are made with it; 0 lets each in as it comes.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
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
            seen = self._count
            await asyncio.sleep(self._seconds)
            if self._count == seen:
                break
        batch, self._waiting = sorted(self._waiting, key=lambda entry: entry[:2]), []
        for _, _, turn in batch:
            if not turn.done():
                turn.set_result(None)

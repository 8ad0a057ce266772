"""The books: balances and entries in Redis, as a client of them has them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self, cast

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from chaosagent.vocabulary import Effect

SECONDS_MAX = 20.0
"""After how long the client gives up an answer: longer than the toxics hold one up, and than a machine stands still."""

_TRANSFER = """
if ARGV[4] ~= '' and not redis.call('SET', 'reference:' .. ARGV[4], 1, 'NX') then
  return 'known'
end
redis.call('DECRBY', 'balance:' .. ARGV[1], ARGV[3])
redis.call('INCRBY', 'balance:' .. ARGV[2], ARGV[3])
redis.call('RPUSH', 'entries', cjson.encode({source = ARGV[1], to = ARGV[2], amount = tonumber(ARGV[3])}))
return 'booked'
"""


class Books:
    """A connection to the books.

    Args:
        host: Where Redis is.
        port: Where Redis is.
    """

    def __init__(self, host: str, port: int) -> None:
        # The client's own retries are switched off: the bookkeeper has its own.
        self._redis = Redis(
            host=host, port=port, socket_timeout=SECONDS_MAX, decode_responses=True, retry=Retry(NoBackoff(), 0)
        )

    async def __aenter__(self) -> Self:
        await self._redis.ping()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._redis.aclose()

    async def balance(self, of: str) -> int:
        """Return what an account holds."""
        return int(await self._redis.get(f"balance:{of}") or 0)

    async def transfer(self, source: str, to: str, amount: int, reference: str = "") -> str:
        """Book a transfer, all of it or nothing; a reference that was booked before is not booked again."""
        return cast(str, await self._redis.eval(_TRANSFER, 0, source, to, str(amount), reference))

    async def entries(self) -> list[Effect]:
        """Return every transfer that was booked."""
        booked = await self._redis.lrange("entries", 0, -1)
        return [Effect("ledger.transfer", json.loads(entry)) for entry in booked]

    async def begin(self, balances: dict[str, int]) -> None:
        """Begin anew with some balances."""
        await self._redis.flushall()
        await self._redis.mset({f"balance:{name}": amount for name, amount in balances.items()})


@asynccontextmanager
async def opened(address: str) -> AsyncIterator[Books]:
    """Open the books at `host:port`."""
    host, _, port = address.rpartition(":")
    async with Books(host, int(port)) as books:
        yield books

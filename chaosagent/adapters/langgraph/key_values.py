"""LangChain's key-value stores behind the door to a memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.stores import BaseStore

from chaosagent.adapters.langgraph.memory import Cross, Now
from chaosagent.adapters.langgraph.plain import Codec
from chaosagent.canonical import Plain


class DoorKeyValues(BaseStore[str, Any]):  # type: ignore[misc]  # LangChain is not in every checkout
    """A key-value store behind a door: `read`, `write` and `delete`, one call for each key, and `keys`.

    Args:
        inner: The store.
        cross: Takes a request through the door.
        now: For callers that are not asynchronous.
        codec: Of values.
    """

    def __init__(self, inner: BaseStore[str, Any], cross: Cross, now: Now, codec: Codec) -> None:
        self._inner, self._cross, self._now, self._codec = inner, cross, now, codec

    async def amget(self, keys: Sequence[str]) -> list[Any]:
        """Return the value of each key, `None` where there is none."""
        return [await self._get(key) for key in keys]

    async def amset(self, key_value_pairs: Sequence[tuple[str, Any]]) -> None:
        """Put values under keys."""
        for key, value in key_value_pairs:
            await self._set(key, value)

    async def amdelete(self, keys: Sequence[str]) -> None:
        """Forget keys."""
        for key in keys:
            await self._cross("delete", {"key": key}, self._deleter(key))

    async def ayield_keys(self, *, prefix: str | None = None) -> AsyncIterator[str]:
        """Go through the keys in order."""

        async def keys(_: dict[str, Any]) -> Plain:
            return sorted([key async for key in self._inner.ayield_keys(prefix=prefix)])

        told = await self._cross("keys", {} if prefix is None else {"prefix": prefix}, keys)
        for key in told if isinstance(told, list) else ():
            yield str(key)

    def mget(self, keys: Sequence[str]) -> list[Any]:
        """As the asynchronous method; so are those that follow."""
        found: list[Any] = self._now(lambda: self.amget(keys))
        return found

    def mset(self, key_value_pairs: Sequence[tuple[str, Any]]) -> None:
        self._now(lambda: self.amset(key_value_pairs))

    def mdelete(self, keys: Sequence[str]) -> None:
        self._now(lambda: self.amdelete(keys))

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        async def listed() -> list[str]:
            return [key async for key in self.ayield_keys(prefix=prefix)]

        yield from self._now(listed)

    async def _get(self, key: str) -> Any:
        async def read(_: dict[str, Any]) -> Plain:
            (value,) = await self._inner.amget([key])
            return self._codec.encode(value)

        return self._codec.decode(await self._cross("read", {"key": key}, read))

    async def _set(self, key: str, value: Any) -> None:
        sent = self._codec.encode(value)

        async def write(altered: dict[str, Any]) -> None:
            kept = value if altered.get("value") == sent else self._codec.decode(altered.get("value"))
            await self._inner.amset([(key, kept)])

        await self._cross("write", {"key": key, "value": sent}, write)

    def _deleter(self, key: str) -> Callable[[dict[str, Any]], Any]:
        return lambda _: self._inner.amdelete([key])

"""A session of the OpenAI Agents SDK, its history of a conversation, behind a door."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agents import OpenAIConversationsSession

from chaosagent.adapters.openai_agents.answers import as_plain
from chaosagent.adapters.openai_agents.doors import AgentDoors
from chaosagent.canonical import Plain
from chaosagent.errors import TargetError

MEMORY = "session"


class DoorSession:
    """Implements `agents.Session`: reads and appends through the door `memory:session`.

    Args:
        doors: Of the run.
        session: The session itself.

    Raises:
        TargetError: The history is kept by the server, and the SDK does other things with it.
    """

    def __init__(self, doors: AgentDoors, session: Any) -> None:
        if isinstance(session, OpenAIConversationsSession):
            raise TargetError(
                "OpenAIConversationsSession keeps the history at the server, where it cannot cross a door. Give the "
                "session to the Runner as it is, or take one that keeps it, such as SQLiteSession."
            )
        self._doors, self._session = doors, session
        self.session_settings = getattr(session, "session_settings", None)

    @property
    def session_id(self) -> str:
        """The id of the session itself."""
        return str(self._session.session_id)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the history, or the last items of it."""
        request: dict[str, Plain] = {"key": self._key()} | ({} if limit is None else {"limit": limit})

        async def read(_: dict[str, Any]) -> list[dict[str, Any]]:
            return [self._crossing(item) for item in await self._session.get_items(limit)]

        told = await self._doors.doors.memory(MEMORY, "read", request, read)
        items = [self._doors.names.item(item) for item in _items(told)]
        return items if limit is None else items[max(len(items) - limit, 0) :]

    async def add_items(self, items: list[Any]) -> None:
        """Append to the history."""

        async def append(arguments: dict[str, Any]) -> None:
            await self._session.add_items([self._doors.names.item(item) for item in _items(arguments.get("value"))])

        value = [self._doors.names.item_of_agent(as_plain(item)) for item in items]
        await self._doors.doors.memory(MEMORY, "append", {"key": self._key(), "value": value}, append)

    async def pop_item(self) -> Any:
        """Remove the last item and return it."""

        async def pop(_: dict[str, Any]) -> dict[str, Any] | None:
            item = await self._session.pop_item()
            return None if item is None else self._crossing(item)

        told = await self._doors.doors.memory(MEMORY, "pop", {"key": self._key()}, pop)
        return self._doors.names.item(told) if isinstance(told, Mapping) else None

    async def clear_session(self) -> None:
        """Forget the history."""

        async def clear(_: dict[str, Any]) -> None:
            await self._session.clear_session()

        await self._doors.doors.memory(MEMORY, "clear", {"key": self._key()}, clear)

    def _key(self) -> str:
        return self._doors.names.of_agent(self.session_id)

    def _crossing(self, item: Any) -> dict[str, Any]:
        return self._doors.names.item_of_world(as_plain(item))


def _items(told: Any) -> Iterator[Mapping[str, Any]]:
    """Yield items of a history; what was appended at once may stand in a list of its own."""
    for item in told if isinstance(told, list) else ():
        if isinstance(item, Mapping):
            yield item
        else:
            yield from _items(item)

"""A store of pydantic-ai's conversations behind the door to a memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationStore
from pydantic_ai.run import AgentRunResult

from chaosagent.adapters.core.drawn_ids import CallIds
from chaosagent.adapters.doors import FrameworkDoors
from chaosagent.adapters.pydantic_ai.errors import crossing_error, own_error
from chaosagent.adapters.pydantic_ai.messages import messages_of, plain_messages
from chaosagent.canonical import Plain, pack


class StoreBehindDoor(ConversationStore):  # type: ignore[misc]  # pydantic-ai is not in every checkout
    """Reads and writes conversations through `memory:<name>`: the key is the conversation, the value its messages.

    A conversation that comes as it was stored is the stored one, with its times, ids and usage, which do not cross;
    another one has the messages that came, and continues the stored one.

    Args:
        doors: Of the run.
        store: Where conversations are.
        name: Of the memory.
    """

    def __init__(self, doors: FrameworkDoors, store: ConversationStore, name: str) -> None:
        self._doors, self._store, self._name = doors, store, name

    async def load(
        self, conversation_id: str, *, limit: int | None = None, scope: str | None = None
    ) -> Conversation | None:
        """See `ConversationStore`."""
        found: list[Conversation | None] = []

        async def world(arguments: dict[str, Any]) -> Plain:
            stored = await self._store.load(arguments["key"], limit=limit, scope=scope)
            found[:] = [stored]
            return None if stored is None else plain_messages(stored.messages, CallIds())

        request = {"key": conversation_id, **({} if limit is None else {"limit": limit})}
        value = await self._doors.memory(self._name, "read", request, world)
        stored = found[0] if found else None
        if stored is not None and pack(value) == pack(plain_messages(stored.messages, CallIds())):
            return stored
        if value is None:
            return None
        messages = _messages(value)
        if stored is None:
            return Conversation(messages=messages, conversation_id=conversation_id)
        return replace(stored, messages=messages, new_message_index=None)

    async def save(self, conversation: Conversation | AgentRunResult[Any], *, scope: str | None = None) -> list[Any]:
        """See `ConversationStore`; what a write that was lost has stored is nothing."""
        kept = conversation.conversation if isinstance(conversation, AgentRunResult) else conversation
        sent = plain_messages(kept.messages, CallIds())
        entries: list[Any] = []

        async def world(arguments: dict[str, Any]) -> Plain:
            altered = pack(arguments["value"]) != pack(sent)
            wanted = replace(kept, messages=_messages(arguments["value"])) if altered else conversation
            try:
                entries[:] = await self._store.save(wanted, scope=scope)
            except Exception as error:
                raise crossing_error(error) from error
            return None

        try:
            await self._doors.memory(self._name, "write", {"key": kept.conversation_id, "value": sent}, world)
        except RuntimeError as error:
            raise own_error(error) from error
        return entries

    async def read_record(self, conversation_id: str) -> Any:
        """As all that follows: not through the door."""
        return await self._store.read_record(conversation_id)

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[Any]:
        records: Sequence[Any] = await self._store.read_records(scope=scope, limit=limit)
        return records

    async def write_record(self, record: Any, *, new_entries: Sequence[Any] = (), expected_revision: str | None) -> Any:
        return await self._store.write_record(record, new_entries=new_entries, expected_revision=expected_revision)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        await self._store.delete_record(conversation_id, expected_revision=expected_revision)

    async def read_entry(self, entry_id: str) -> Any:
        return await self._store.read_entry(entry_id)


def _messages(value: Plain) -> list[Any]:
    """Return the messages behind a value of the memory; none where it is no conversation, as after a lost page."""
    try:
        return messages_of(value)
    except (ValidationError, TypeError):
        return []

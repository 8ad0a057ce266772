"""Memories of AutoGen behind a door."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from autogen_core import Image
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
from autogen_core.models import SystemMessage
from pydantic import ValidationError

from chaosagent.adapters.autogen.messages import messages_of, plain_messages
from chaosagent.canonical import Plain
from chaosagent.targets.call_handler import Handler

Cross = Callable[[str, Mapping[str, Any], Handler], Awaitable[Any]]
"""Takes an operation through the door: its name, what is asked, and what does it."""

_TEXT = MemoryMimeType.TEXT.value


class DoorMemory(Memory):  # type: ignore[misc]  # AutoGen is not in every checkout
    """Reads, appends to and clears a memory through a door.

    What is read is the list of its contents: a text each, a mapping where there is more to say. A memory that adds
    something else to a model's context than a list of what it found, as AutoGen's own do, has these messages read,
    under `messages`.

    Args:
        inner: The memory.
        cross: Takes an operation through the door.
        key: Of the memory, in what is asked.
    """

    def __init__(self, inner: Memory, cross: Cross, key: str) -> None:
        self.inner, self._cross, self._key = inner, cross, key

    async def update_context(self, model_context: Any) -> UpdateContextResult:
        """Read, and add what was read to the context of a model."""

        async def world(_: dict[str, Any]) -> Plain:
            tried = with_own_messages(model_context)
            known = len(tried._messages)
            found = (await self.inner.update_context(tried)).memories.results
            added = plain_messages(tried._messages[known:])
            listed = [_plain_content(content) for content in found]
            return listed if added == plain_messages(_told_of(found)) else {"messages": added}

        told = await self._cross("read", {"key": self._key}, world)
        if isinstance(told, Mapping):
            messages = messages_of(told.get("messages"))
            found = [MemoryContent(content=str(message.content), mime_type=_TEXT) for message in messages]
        else:
            found = _contents(told)
            messages = _told_of(found)
        for message in messages:
            await model_context.add_message(message)
        return UpdateContextResult(memories=MemoryQueryResult(results=found))

    async def query(self, query: Any, cancellation_token: Any = None, **options: Any) -> MemoryQueryResult:
        """Read what fits a question."""

        async def world(_: dict[str, Any]) -> Plain:
            found = await self.inner.query(query, cancellation_token, **options)
            return [_plain_content(content) for content in found.results]

        asked = _plain_content(query) if isinstance(query, MemoryContent) else query
        told = await self._cross("read", {"key": self._key, "query": asked}, world)
        return MemoryQueryResult(results=_contents(told))

    async def add(self, content: MemoryContent, cancellation_token: Any = None) -> None:
        """Append."""
        sent = _plain_content(content)

        async def world(given: dict[str, Any]) -> None:
            for one in [content] if given.get("value") == sent else _contents([given.get("value")]):
                await self.inner.add(one, cancellation_token)

        await self._cross("append", {"key": self._key, "value": sent}, world)

    async def clear(self) -> None:
        """Forget everything."""

        async def world(_: dict[str, Any]) -> None:
            await self.inner.clear()

        await self._cross("clear", {"key": self._key}, world)

    async def close(self) -> None:
        await self.inner.close()

    def dump_component(self) -> Any:
        """Return the description of the memory itself."""
        return self.inner.dump_component()


def memory_name(memory: Any) -> str:
    """Return the name of a memory; `memory` where it has none of its own."""
    name = getattr(memory, "name", None)
    return name if isinstance(name, str) and name and not name.startswith("default_") else "memory"


def with_own_messages(context: Any) -> Any:
    """Return a copy of a model's context: what is added to it does not get into the other one."""
    made = copy.copy(context)
    made._messages = list(context._messages)
    return made


def _told_of(contents: Sequence[Any]) -> list[Any]:
    """Return what AutoGen's memories add to a model's context for what they found."""
    if not contents:
        return []
    lines = [f"{number}. {content.content!s}" for number, content in enumerate(contents, 1)]
    text = "\nRelevant memory content (in chronological order):\n" + "\n".join(lines) + "\n"
    return [SystemMessage(content=text)]


def _plain_content(content: Any) -> Plain:
    dumped = content.model_dump(mode="json" if isinstance(content.content, Image) else "python", exclude_none=True)
    found: dict[str, Plain] = {**dumped, "mime_type": str(dumped["mime_type"])}
    only_text = found.keys() == {"content", "mime_type"} and found["mime_type"] == _TEXT
    return found["content"] if only_text and isinstance(found["content"], str) else found


def _contents(told: Any) -> list[Any]:
    """Return the contents behind what was read, whatever was done to it."""
    found: list[Any] = []
    for one in told if isinstance(told, list | tuple) else () if told is None else (told,):
        try:
            found.append(MemoryContent.model_validate(one))
        except ValidationError:
            found.append(MemoryContent(content=str(one), mime_type=_TEXT))
    return found

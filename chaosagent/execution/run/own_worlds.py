"""The worlds that chaosagent itself puts behind some doors: memories, channels, lists of tools, prompts."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Any

from chaosagent.canonical import Plain
from chaosagent.targets.target import Implementation


class DictionaryMemory:
    """A shared memory in a dictionary."""

    def __init__(self) -> None:
        self.entries: dict[str, Plain] = {}

    def read(self, key: str) -> Plain:
        """Return what was written last under a key, `None` if nothing."""
        return self.entries.get(key)

    def write(self, key: str, value: Plain) -> None:
        """Put a value under a key."""
        self.entries[key] = value

    def append(self, key: str, value: Plain) -> None:
        """Add a value to the list under a key."""
        before = self.entries.get(key)
        self.entries[key] = [*before, value] if isinstance(before, list) else [value]

    def keys(self) -> list[str]:
        """Return the keys, sorted."""
        return sorted(self.entries)


class Mailbox:
    """A channel between agents: messages wait until their recipient takes them."""

    def __init__(self) -> None:
        self.waiting: dict[str, deque[Plain]] = {}
        self._receivers: dict[str, deque[asyncio.Future[None]]] = {}

    def send(self, to: str, body: Plain = None) -> None:
        """Put a message into the recipient's box."""
        self.waiting.setdefault(to, deque()).append(body)
        self._wake(to)

    async def receive(self, agent: str) -> Plain:
        """Take the oldest message to an agent, waiting for one if there is none."""
        while not self.waiting.get(agent):
            receiver: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._receivers.setdefault(agent, deque()).append(receiver)
            try:
                await receiver
            except asyncio.CancelledError:
                if receiver.done() and not receiver.cancelled():
                    self._wake(agent)  # it was woken for a message that it will not take
                raise
        return self.waiting[agent].popleft()

    def content(self) -> Plain:
        """Return the messages that wait, by recipient, for fingerprints."""
        return {to: list(box) for to, box in self.waiting.items() if box}

    def _wake(self, agent: str) -> None:
        receivers = self._receivers.get(agent)
        while receivers:
            receiver = receivers.popleft()
            if not receiver.done():
                receiver.set_result(None)
                break


@dataclass(frozen=True, slots=True)
class ToolList:
    """Tools that an agent gets, behind a door; equal lists open the same door.

    Attributes:
        tools: Their descriptions.
    """

    tools: list[Any]

    def list(self) -> list[Any]:
        """Return the descriptions."""
        return self.tools


def tool_list(implementation: Implementation) -> Implementation:
    """Return what stands behind a door to descriptions of tools; a bare list answers `list`."""
    return ToolList(implementation) if isinstance(implementation, list) else implementation


def read_text(operation: str, /, **arguments: Any) -> Any:  # noqa: ARG001  # what stands behind a prompt door
    """Return the text that is read into a context."""
    if "text" in arguments:
        return arguments["text"]
    raise LookupError("a prompt door is called with text=...")

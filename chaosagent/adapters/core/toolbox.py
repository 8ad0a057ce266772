"""The descriptions of tools that an agent gets: each list crosses once, and comes back as the framework's tools."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from chaosagent.adapters.doors import FrameworkDoors, await_answer
from chaosagent.canonical import Plain, digest_of
from chaosagent.targets.call_handler import is_behind

Tool = TypeVar("Tool")


class Toolbox:
    """Asks once for each list of tools which descriptions an agent gets.

    Args:
        doors: Of the run.
    """

    def __init__(self, doors: FrameworkDoors) -> None:
        self._doors = doors
        self._told: dict[tuple[Hashable, ...], Plain] = {}

    async def listed(
        self, agent: str, described: Sequence[Mapping[str, Plain]], *, door: str = "", key: Hashable = None
    ) -> Plain:
        """Return the descriptions that an agent gets of a list of tools.

        Args:
            agent: Who gets them.
            described: Mappings with `name`, `description` and, where the framework has them, `parameters`.
            door: The name of the door, `tools:<door>`; the agent's when not given.
            key: Identifies the list; the names of the tools in their order when not given.
        """
        # Behind a door it is another list: an exact replay does not go there, and would not have asked for it.
        place = (agent, is_behind(), tuple(str(one["name"]) for one in described) if key is None else key)
        if place not in self._told:
            self._told[place] = await await_answer(self._doors.listed(door or agent, lambda _: list(described)))
        return self._told[place]

    def known(self, agent: str, names: Sequence[str]) -> Plain:
        """Return the descriptions that an agent got of a list of tools, `None` if it did not ask for them."""
        place = (agent, is_behind(), tuple(names))
        return (self._told[place] or ()) if place in self._told else None


def as_listed(
    told: Any,
    tools: Sequence[Tool],
    described: Callable[[Tool], Mapping[str, Any]],
    altered: Callable[[Tool, Mapping[str, Any]], Tool],
    invented: Callable[[Mapping[str, Any]], Tool] | None = None,
) -> list[Tool]:
    """Return tools as a list of descriptions has them, whatever was done to the list.

    Args:
        told: The list that crossed.
        tools: The tools that the framework has.
        described: Returns the description of a tool, as it was to cross.
        altered: Returns a copy of a tool with another description.
        invented: Returns a tool for a description whose name no tool has; without it such a description is left out.
    """
    known = {described(tool)["name"]: tool for tool in tools}
    found: list[Tool] = []
    for one in told if isinstance(told, list | tuple) else ():
        if not isinstance(one, Mapping):
            continue
        tool = known.get(one.get("name"))
        if tool is not None:
            is_same = digest_of(described(tool)) == digest_of(one)
            found.append(tool if is_same else altered(tool, one))
        elif invented is not None:
            found.append(invented(one))
    return found

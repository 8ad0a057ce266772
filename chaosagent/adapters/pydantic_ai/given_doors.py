"""Gives doors to agents that somebody else has made: while a block lasts, each of their runs is handed them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


@contextmanager
def given_doors(agents: Sequence[Any], capability: Any) -> Iterator[None]:
    """Hand a capability to every run of some agents; afterwards they are as they were.

    Blocks may overlap, as where a program serves several callers: the last one that ends takes it away.

    Args:
        agents: Agents that do not have it.
        capability: What they are given; not twice where the caller of a run gives it, too.
    """
    for agent in agents:
        given = vars(agent).get("iter")
        if not isinstance(given, _RunsWithDoors):
            given = agent.iter = _RunsWithDoors(agent.iter, capability, is_own="iter" in vars(agent))
        given.blocks += 1
    try:
        yield
    finally:
        for agent in agents:
            given = vars(agent).get("iter")
            if isinstance(given, _RunsWithDoors):
                given.blocks -= 1
                if not given.blocks:
                    given.take_away(agent)


class _RunsWithDoors:
    """Takes the place of an agent's method `iter`, by which all its runs begin."""

    def __init__(self, begin: Callable[..., Any], capability: Any, *, is_own: bool) -> None:
        functools.update_wrapper(self, begin)
        self._begin, self._capability, self._is_own = begin, capability, is_own
        self.blocks = 0

    def __call__(self, *arguments: Any, capabilities: Sequence[Any] | None = None, **options: Any) -> Any:
        given = list(capabilities or ())
        if self._capability not in given:
            given.append(self._capability)
        return self._begin(*arguments, capabilities=given, **options)

    def take_away(self, agent: Any) -> None:
        """Let the agent begin its runs as before."""
        if self._is_own:
            agent.iter = self._begin
        else:
            del agent.iter

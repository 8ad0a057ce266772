"""The actor of a call: the agent that a piece of the target's program belongs to; tasks inherit it."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import NamedTuple

from chaosagent.errors import TargetError
from chaosagent.faults.injection import Place

_FORBIDDEN = frozenset(" []@;#")


class Actor(NamedTuple):
    """An agent and its role; both empty for a target without named agents."""

    agent: str
    role: str


INSIDE: ContextVar[Place | str] = ContextVar("inside", default="")
"""The place of the crossing whose world acts; empty while the target itself does."""

ACTING: ContextVar[Actor] = ContextVar("acting", default=Actor("", ""))  # noqa: B039  # immutable


class ActingAs(AbstractContextManager[None]):
    """Names who acts inside a `with` block."""

    __slots__ = ("_actor", "_token")

    def __init__(self, agent: str, role: str) -> None:
        check_name("agent", agent)
        self._actor = Actor(agent, role or agent)
        self._token: Token[Actor] | None = None

    def __enter__(self) -> None:
        self._token = ACTING.set(self._actor)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            ACTING.reset(self._token)


@functools.lru_cache(maxsize=4096)
def check_name(kind: str, name: str) -> None:
    """Refuse names that the text form of schedules cannot hold.

    Raises:
        TargetError: The name is empty, or has blanks, signs of the text form, or characters that nobody can see.
    """
    if not name or not name.isprintable() or not _FORBIDDEN.isdisjoint(name):
        raise TargetError(f"The target names an {kind} {name!r}; names have no blanks and none of []@;#. Rename it.")

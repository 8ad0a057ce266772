"""One passage through a hook: what operators see and what they may do."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol, TypeAlias

from chaosagent.canonical import Plain
from chaosagent.vocabulary import Boundary, Failure


class Request(NamedTuple):
    """What an agent asks of an interface; operators hand on a copy (`request._replace(...)`), never change it."""

    operation: str
    arguments: Mapping[str, Plain]


class Response(NamedTuple):
    """What comes back: a value, or a failure and then no value."""

    value: Plain = None
    failure: Failure | None = None


class Exchange(NamedTuple):
    """An earlier crossing of the same interface, as the world answered it."""

    request: Request
    response: Response


class Toxic(NamedTuple):
    """What disturbs a connection while a call is made over it.

    Attributes:
        type: As Toxiproxy calls it: `"latency"`, `"bandwidth"`, `"slow_close"`, `"timeout"`, `"reset_peer"`,
            `"slicer"` or `"limit_data"`; or `"down"`, while which nothing gets through at all.
        stream: `"upstream"` towards the server, or `"downstream"` from it; nothing for `"down"`.
        attributes: Numbers in Toxiproxy's units, mostly milliseconds.
    """

    type: str
    stream: str = "downstream"
    attributes: Mapping[str, int] = {}


Proceed: TypeAlias = Callable[[Request], Awaitable[Response]]


class Crossing(Protocol):
    """What an operator sees of one passage through a hook: nothing of the target, nothing of contracts.

    Attributes:
        boundary: The class of the interface.
        interface: Such as `"service:crm"`.
        agent: Who asks, empty for a target without named agents.
        request: What is asked, after mediation.
        read_only: The interface declares that this operation changes nothing.
        history: Earlier exchanges through the interface, oldest first, at most `HISTORY_MAX`.
    """

    @property
    def boundary(self) -> Boundary: ...
    @property
    def interface(self) -> str: ...
    @property
    def agent(self) -> str: ...
    @property
    def request(self) -> Request: ...
    @property
    def read_only(self) -> bool: ...
    @property
    def history(self) -> Sequence[Exchange]: ...

    @property
    def rng(self) -> random.Random:
        """The random stream of this hook."""
        ...

    def earlier(self) -> Response | None:
        """Return what a cache would still hold for this request, `None` if nothing.

        That is what the interface declares, else the last differing answer to the same request in `history`.
        """
        ...

    async def sleep(self, seconds: float) -> None:
        """Let virtual time pass before going on."""
        ...

    def defer(self, seconds: float, proceed: Proceed, request: Request) -> None:
        """Let a request reach the world later, on its own; its answer is nobody's."""
        ...

    def disturbed(self, toxic: Toxic) -> AbstractAsyncContextManager[None]:
        """Disturb the connection inside an `async with` block, really; only at the boundary `network`.

        The target's own connections are open by then, and the toxic is gone when the block is left.
        """
        ...


HISTORY_MAX = 8

"""Doors to real servers: a Toxiproxy stands between the target and the server, and disturbs single calls."""

from __future__ import annotations

import asyncio
import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

from chaosagent.effects.rule import checked_effect
from chaosagent.errors import ChaosAgentError, TargetError
from chaosagent.event_loop.real_time_loop import RealTimeLoop
from chaosagent.execution import toxiproxy
from chaosagent.execution.crash_location import with_place
from chaosagent.execution.run.actor import INSIDE
from chaosagent.execution.run.doors import DoorOptions, dispatcher
from chaosagent.execution.run.passage import Passage
from chaosagent.execution.run.run_state import RunState
from chaosagent.faults.crossing import Toxic
from chaosagent.targets.target import Committed, Connect, Upstream
from chaosagent.vocabulary import Effect

REACH_SECONDS = 15.0
"""How long a server may take to accept a connection before the first call."""
SETTLING_SECONDS = 0.05
"""How long what a toxic held up has to reach the server once it is gone."""
ARRIVAL_SECONDS = 2.0
"""How long it has at most where the client did not wait for it, so that nothing says that it has arrived."""
HOLDING_UP = frozenset({"bandwidth", "latency", "slicer"})
"""Toxics that lose nothing."""

_ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):(?P<port>\d{1,5})")


@dataclass(frozen=True, slots=True)
class RemoteService:
    """What a target says of a server; see `chaosagent.targets.target.Run.network`."""

    name: str
    upstream: Upstream
    connect: Connect
    committed: Committed | None = None

    def address(self) -> tuple[str, int]:
        """Return host and port.

        Raises:
            TargetError: The upstream does not name both.
        """
        named = self.upstream() if callable(self.upstream) else self.upstream
        found = _ADDRESS.fullmatch(str(named))
        if found is None or not 0 < int(found["port"]) < 65_536:
            raise TargetError(
                f"network:{self.name}: the upstream is {named!r:.200}; write host:port, such as '127.0.0.1:5432'."
            )
        return found["host"].strip("[]"), int(found["port"])


class Link:
    """What stands behind a network door: connects at the first call, through a proxy that is made for the run.

    Args:
        run: The run.
        far: The server.
        options: Of the door.
    """

    def __init__(self, run: RunState, far: RemoteService, options: DoorOptions) -> None:
        self.far, self.options = far, options
        self._name = f"network:{far.name}"
        self._run = run
        self._proxy: toxiproxy.Proxy | None = None
        self._port = 0
        self._opening: asyncio.Future[_Call] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._seen: Counter[str] = Counter()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Link) and self.far == other.far

    def __hash__(self) -> int:
        return hash(self.far)

    async def __call__(self, operation: str, /, **arguments: Any) -> Any:
        """Make a call over the link."""
        call = await self.opened()
        value = call(operation, arguments)
        return await value if hasattr(value, "__await__") else value

    async def opened(self) -> _Call:
        """Return how operations are called, connecting at the first time.

        Raises:
            ChaosAgentError: There is no Toxiproxy, nobody listens at the upstream, or `connect` raised.
        """
        if self._opening is None:
            self._opening = self._run.loop.create_future()
            # A task that nobody holds may be collected as garbage while it waits.
            self._keeper = self._run.loop.create_own_task(self._keep(self._opening))
        return await asyncio.shield(self._opening)

    @asynccontextmanager
    async def disturbed(self, toxic: Toxic, name: str) -> AsyncIterator[None]:
        """Put a toxic on the connections, which are open by then, and take it off again.

        Raises:
            ChaosAgentError: As `opened`, or Toxiproxy does not know the toxic.
        """
        await self.opened()
        proxy = self._proxy
        assert proxy is not None
        proxy.put(toxic, name)
        try:
            yield
        finally:
            proxy.take(toxic, name)
            await asyncio.sleep(SETTLING_SECONDS)

    async def news(self) -> tuple[Effect, ...]:
        """Return the effects that the server holds and did not hold when it was asked last.

        Raises:
            TargetError: `committed` raised, or gave something else than effects.
        """
        held: Counter[str] = Counter()
        fresh = []
        for effect in await self._held():
            held[effect.key] += 1
            if held[effect.key] > self._seen[effect.key]:
                fresh.append(effect)
        self._seen |= held
        return tuple(fresh)

    def close(self) -> None:
        """Remove the proxy, and with it every connection."""
        proxy, self._proxy = self._proxy, None
        if proxy is not None:
            with suppress(ChaosAgentError):  # the server has ended, and its proxies with it
                proxy.remove()

    def masked(self, error: BaseException) -> BaseException:
        """Name the server's own port in the place of the proxy's, which differs from run to run."""
        if self._proxy is not None:
            ours, theirs = re.compile(rf"(?<!\d){self._proxy.port}(?!\d)"), str(self._port)
            error.args = tuple(_replaced(argument, ours, theirs) for argument in error.args)
            for name, value in list(vars(error).items()):
                with suppress(AttributeError, TypeError):
                    setattr(error, name, _replaced(value, ours, theirs))
            if isinstance(error, OSError) and isinstance(error.strerror, str):
                error.strerror = ours.sub(theirs, error.strerror)
        return error

    async def _keep(self, opening: asyncio.Future[_Call]) -> None:
        """Hold the connection until the run has ended; some must be closed by the task that has opened them."""
        stack = AsyncExitStack()
        INSIDE.set(self._name)  # in a task of its own
        try:
            call = dispatcher(self._name, await self._connected(stack))
            await self._taken()
            await self.news()
            opening.set_result(call)
            await self._run.loop.create_future()
        except ChaosAgentError as error:
            opening.set_exception(error)
        except Exception as error:  # a mistake in `connect` must not look like an answer of the server
            opening.set_exception(TargetError(f"connect of {self._name}: {with_place(error)}"))
        finally:
            with suppress(Exception):  # a disturbed client may not even be able to say good-bye
                await stack.aclose()

    async def _connected(self, stack: AsyncExitStack) -> Any:
        host, self._port = self.far.address()
        upstream = f"[{host}]:{self._port}" if ":" in host else f"{host}:{self._port}"
        try:
            async with asyncio.timeout(REACH_SECONDS):
                _, writer = await asyncio.open_connection(host, self._port)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else f"nobody answered in {REACH_SECONDS:g} s"
            raise TargetError(
                f"{self._name}: no server can be reached at {upstream} ({why}). Start it, or correct the address."
            ) from error
        writer.close()
        self._proxy = toxiproxy.server().proxy(self.far.name, upstream)
        behind = self.far.connect(self._proxy.host, self._proxy.port)
        return await enter(behind, stack)

    async def _taken(self) -> None:
        """Wait until the proxy has taken what `connect` has connected.

        The system accepts a connection before the proxy does, and to the proxy it would be a new one when a toxic
        comes: reset where one that was open is closed. The proxy takes one after the other, and closes at once what
        says at once that it is done.
        """
        assert self._proxy is not None
        with suppress(OSError):  # then the first call will tell
            async with asyncio.timeout(REACH_SECONDS):
                reader, writer = await asyncio.open_connection(self._proxy.host, self._proxy.port)
                try:
                    writer.write_eof()
                    await reader.read()
                finally:
                    writer.close()

    async def _held(self) -> Iterable[Effect]:
        if self.far.committed is None:
            return ()
        token = INSIDE.set(self._name)
        try:
            found = self.far.committed()
            listed = tuple(await found if isinstance(found, Awaitable) else found)
            return [checked_effect(effect) for effect in listed]
        except Exception as error:  # a declaration's mistake must not look like an answer of the server
            raise TargetError(f"committed of {self._name}: {with_place(error)}") from error
        finally:
            INSIDE.reset(token)


_Call = Callable[[str, Mapping[str, Any]], Any]


def link_of(run: RunState, far: RemoteService, options: DoorOptions) -> Link:
    """Return what stands behind a network door.

    Raises:
        TargetError: The target has virtual time, the address is none, or effects are declared twice.
    """
    if not isinstance(run.loop, RealTimeLoop):
        raise run.recorder.refuse(
            TargetError(
                f"network:{far.name} leads to a real server, and the time of this target is virtual. Write "
                '@target(clock="wall").'
            )
        )
    if options.effects and far.committed is not None:
        raise run.recorder.refuse(
            TargetError(
                f"network:{far.name} declares `committed` and `effects`; each would count. Leave out one of them."
            )
        )
    if not callable(far.upstream):
        try:
            far.address()
        except TargetError as error:
            raise run.recorder.refuse(error) from None
    return Link(run, far, options)


def close_links(run: RunState) -> None:
    """Remove what a run has put between the target and real servers."""
    for door in run.doors.values():
        if isinstance(door.implementation, Link):
            door.implementation.close()


class NetworkPassage(Passage):
    """A passage over a link.

    Attributes:
        is_met: A call was made while a toxic was on the link.
        toxic_count: Toxics that this passage has on the link at this moment.
    """

    __slots__ = ("is_met", "toxic_count")

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.is_met, self.toxic_count = False, 0

    @property
    def link(self) -> Link:
        """What stands behind the door."""
        return cast(Link, self.door.implementation)

    @asynccontextmanager
    async def disturbed(self, toxic: Toxic) -> AsyncIterator[None]:
        before = self.started
        holds_up = toxic.type in HOLDING_UP and toxic.stream == "upstream"
        self.act()
        self.is_waiting = True
        try:
            async with self.link.disturbed(toxic, f"{toxic.type}-{self.asked}.{self.toxic_count}"):
                self.toxic_count += 1
                self.is_waiting = False
                try:
                    yield
                finally:
                    self.is_waiting = True
                    self.toxic_count -= 1
                    self.is_met = self.is_met or self.started > before
        finally:
            if self.is_met:  # also for a call that the target gave up: the server may have acted on it
                is_given_up = not self.executed or self.exception is not None
                await self._see_commits(ARRIVAL_SECONDS if holds_up and is_given_up and not self.read_only else 0.0)
            self.is_waiting = False

    async def _wait_for(self, *given: Any, **named: Any) -> None:
        await super()._wait_for(*given, **named)
        if not self.toxic_count:  # else what the toxic holds up may still reach the server
            await self._see_commits()

    async def _see_commits(self, seconds: float = 0.0) -> None:
        """Take what the server has committed; while there is nothing, look again for so many seconds."""
        loop, committed = asyncio.get_running_loop(), self.link.far.committed
        until = loop.time() + (seconds if committed is not None else 0.0)
        while not (news := await self.link.news()) and loop.time() < until:
            await asyncio.sleep(SETTLING_SECONDS)
        self.effects += self._run.ledger.new(news)

    def _take_error(self, error: BaseException, *, is_disturbed: bool) -> None:
        if isinstance(error, ChaosAgentError):  # ours, and no answer of the server
            raise error
        super()._take_error(self.link.masked(error), is_disturbed=is_disturbed)


class DirectLink:
    """What stands behind a network door outside a study: the server itself; connected to at the first call.

    Args:
        far: The server. What `connect` returns stays open as long as the process: such a run has no end that is told.
    """

    def __init__(self, far: RemoteService) -> None:
        self._far = far
        self._stack = AsyncExitStack()
        self._opening: asyncio.Task[_Call] | None = None
        self._call: _Call | None = None

    async def __call__(self, operation: str, /, **arguments: Any) -> Any:
        """Make a call."""
        if self._call is None:
            if self._opening is None:
                self._opening = asyncio.ensure_future(self._opened())
            self._call = await asyncio.shield(self._opening)
        value = self._call(operation, arguments)
        return await value if hasattr(value, "__await__") else value

    async def _opened(self) -> _Call:
        behind = await enter(self._far.connect(*self._far.address()), self._stack)
        return dispatcher(f"network:{self._far.name}", behind)


async def enter(connected: Any, stack: AsyncExitStack) -> Any:
    """Return what stands behind a door, awaited and entered where it is something for that."""
    behind = await connected if hasattr(connected, "__await__") else connected
    if hasattr(behind, "__aenter__"):
        return await stack.enter_async_context(behind)
    return stack.enter_context(behind) if hasattr(behind, "__enter__") else behind


def _replaced(value: Any, ours: re.Pattern[str], theirs: str) -> Any:
    if isinstance(value, str):
        return ours.sub(theirs, value)
    return int(theirs) if type(value) is int and ours.fullmatch(str(value)) else value

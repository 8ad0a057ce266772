"""Bodies are read under limits: of one, of all at the same time, and of the time they take."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from chaosagent.proxy.bodies import IN_FLIGHT, BodyLimits, LimitedBodies, Room

LIMITS = BodyLimits(bytes_max=100, seconds_max=0.05)


class Caller:
    """What an application sends to a caller whose request comes in parts."""

    def __init__(self, parts: Iterable[bytes], *, size: int | None, silent: bool = False) -> None:
        self._parts, self._silent, self.received = list(parts), silent, 0
        known = [] if size is None else [(b"content-length", str(size).encode())]
        self.scope: dict[str, Any] = {"type": "http", "headers": known or [(b"transfer-encoding", b"chunked")]}
        self.status, self.body = 0, b""

    async def receive(self) -> dict[str, Any]:
        if self._parts:
            part = self._parts.pop(0)
            self.received += len(part)
            return {"type": "http.request", "body": part, "more_body": bool(self._parts) or self._silent}
        if self._silent:
            await asyncio.get_running_loop().create_future()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.status = message.get("status", self.status)
        self.body += message.get("body", b"")

    @property
    def error(self) -> str:
        return str(json.loads(self.body)["error"]["message"])


class Application:
    """Takes a body."""

    def __init__(self, use: Callable[[], Any] | None = None) -> None:
        self.bodies: list[bytes] = []
        self._use = use

    async def __call__(self, _: Any, receive: Any, send: Any) -> None:
        message = await receive()
        assert not message["more_body"]
        self.bodies.append(message["body"])
        if self._use is not None:
            await self._use()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        assert (await receive())["type"] == "http.disconnect"


def answered(caller: Caller, application: Application) -> Caller:
    asyncio.run(LimitedBodies(application, LIMITS)(caller.scope, caller.receive, caller.send))
    return caller


@pytest.mark.parametrize("size", [100, None])
def test_a_body_at_the_limit_comes_whole(size: int | None) -> None:
    application = Application()

    assert answered(Caller([b"x" * 50, b"", b"y" * 50], size=size), application).status == 200
    assert application.bodies == [b"x" * 50 + b"y" * 50]


@pytest.mark.parametrize("size", [101, None])
def test_a_body_above_the_limit_is_read_away_before_it_is_refused(size: int | None) -> None:
    application, caller = Application(), Caller([b"x" * 50] * 40, size=size)

    assert answered(caller, application).status == 413
    assert "more than 100 bytes" in caller.error
    assert caller.received == 2_000
    assert application.bodies == []


@pytest.mark.parametrize("size", [90, None])
def test_a_body_that_does_not_come_is_refused_in_time(size: int | None) -> None:
    application, caller = Application(), Caller([b"x"], size=size, silent=True)

    assert answered(caller, application).status == 408
    assert "did not come within 0.05 s" in caller.error


def test_who_has_gone_away_is_not_answered() -> None:
    caller = Caller([], size=90)

    assert answered(caller, Application()).status == 0


def test_no_more_bodies_are_held_than_there_is_room_for() -> None:
    held = most = 0

    async def use() -> None:
        nonlocal held, most
        held += 1
        most = max(most, held)
        await asyncio.sleep(0)
        held -= 1

    async def many() -> list[int]:
        limited = LimitedBodies(Application(use), LIMITS)
        callers = [Caller([b"x" * 100], size=None) for _ in range(5 * IN_FLIGHT)]
        await asyncio.gather(*(limited(one.scope, one.receive, one.send) for one in callers))
        return [one.status for one in callers]

    assert asyncio.run(many()) == [200] * 5 * IN_FLIGHT
    assert most == IN_FLIGHT


def test_callers_that_are_slow_keep_nobody_waiting() -> None:
    async def many() -> int:
        application = LimitedBodies(Application(), replace(LIMITS, seconds_max=60.0))
        slow = [Caller([b"x"], size=100, silent=True) for _ in range(5 * IN_FLIGHT)]
        waiting = [asyncio.ensure_future(application(one.scope, one.receive, one.send)) for one in slow]
        await asyncio.sleep(0)
        quick = Caller([b"x" * 100], size=100)
        await asyncio.wait_for(application(quick.scope, quick.receive, quick.send), 20)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return quick.status

    assert asyncio.run(many()) == 200


def test_who_gives_up_waiting_for_room_takes_none() -> None:
    async def use() -> bool:
        room = Room(10)

        async def take(size: int) -> None:
            async with room.taken(size):
                await asyncio.sleep(0)

        async with room.taken(8):
            waiting = asyncio.ensure_future(take(5))
            await asyncio.sleep(0)
            waiting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await waiting
            await asyncio.wait_for(take(2), 5)
        await asyncio.wait_for(take(10), 5)
        return True

    assert asyncio.run(use())


def test_a_body_that_passes_the_limit_with_its_end_is_refused_at_once() -> None:
    class Patient(Caller):
        async def receive(self) -> dict[str, Any]:
            assert self._parts, "the body was at its end"
            return await super().receive()

    caller = Patient([b"x" * 90, b"x" * 20], size=110)

    assert answered(caller, Application()).status == 413

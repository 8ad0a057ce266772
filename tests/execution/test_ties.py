"""A time-out and an answer at the same instant: the other order is possible, so the certificate says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from chaosagent.execution.execute import Execution

Play = Callable[..., Execution]


def waiting(answer_after: float, timeout: float, *, by: str = "timeout") -> Callable[[Any], Any]:
    """Return an agent that waits so long at most for an answer that takes so long."""

    async def agent(run: Any) -> str:
        async def slow() -> int:
            await asyncio.sleep(answer_after)
            return 1

        call = run.service("slow", {"get": slow})("get")
        if by == "wait":
            done, left = await asyncio.wait([asyncio.ensure_future(call)], timeout=timeout)
            for task in left:
                task.cancel()
            return str(len(done))
        try:
            async with asyncio.timeout(timeout):
                return str(await call)
        except TimeoutError:
            return "gave up"

    return agent


@pytest.mark.parametrize("by", ["timeout", "wait"])
@pytest.mark.parametrize(("answer_after", "timeout", "tied"), [(2.0, 2.0, True), (1.0, 2.0, False), (3.0, 2.0, False)])
def test_only_an_equal_instant_is_a_tie(play: Play, by: str, answer_after: float, timeout: float, tied: bool) -> None:
    assert play(waiting(answer_after, timeout, by=by)).evaluation.tied is tied


def test_a_fault_may_bring_it_about(play: Play) -> None:
    agent = waiting(1.0, 3.0)

    assert not play(agent).evaluation.tied
    assert play(agent, "service:slow[1] service.delay(seconds=2.0)").evaluation.tied


def test_equal_waits_alone_are_none(play: Play) -> None:
    async def agent(run: Any) -> str:
        async def slow() -> int:
            await asyncio.sleep(1.0)
            return 1

        service = run.service("slow", {"get": slow})
        await asyncio.gather(service("get"), service("get"), asyncio.sleep(1.0))
        return ""

    assert not play(agent).evaluation.tied

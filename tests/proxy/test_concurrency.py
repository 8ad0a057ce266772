"""Calls at the same time get an order that does not depend on the machine."""

from __future__ import annotations

import asyncio
import threading

import pytest

from chaosagent.proxy.concurrency import SECONDS, CallOrder


@pytest.mark.parametrize("later", [0, 20])
def test_a_call_that_comes_some_turns_later_has_the_same_order_though_the_machine_stood_still(later: int) -> None:
    order: list[bytes] = []

    async def first(together: CallOrder) -> None:
        await together.enter(b"b")
        order.append(b"b")

    async def second(together: CallOrder) -> None:
        for turn in range(later):
            if turn == 3:
                threading.Event().wait(10 * SECONDS)  # in real time, while nothing on the loop goes on
            await asyncio.sleep(0)
        await together.enter(b"a")
        order.append(b"a")

    async def both() -> None:
        together = CallOrder()
        await asyncio.gather(first(together), second(together))

    asyncio.run(both())

    assert order == [b"a", b"b"]

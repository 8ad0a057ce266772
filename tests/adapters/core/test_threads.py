"""Threads of agents ask the loop of their run."""

from __future__ import annotations

import asyncio

import pytest

from chaosagent.adapters.core.threads import Threads
from chaosagent.errors import TargetError

SENTENCE = "Await it."


async def _answer() -> str:
    await asyncio.sleep(0)
    return "answered"


def test_a_thread_is_answered_by_the_loop_and_a_function_is_run_in_the_thread_that_waits() -> None:
    async def run() -> list[object]:
        threads, here = Threads("a framework", SENTENCE), asyncio.get_running_loop()

        async def cross() -> object:
            assert asyncio.get_running_loop() is here
            return await threads.apart(lambda: threads.now(_answer))

        return [await asyncio.to_thread(threads.now, cross), await threads.apart(lambda: threads.now(_answer))]

    assert asyncio.run(run()) == ["answered", "answered"]


def test_what_holds_up_its_own_loop_is_refused_with_the_remedy_of_the_framework() -> None:
    async def run() -> None:
        Threads("a framework", SENTENCE).now(_answer)

    with pytest.raises(TargetError, match=r"a door of a framework is used without `await` .* Await it\."):
        asyncio.run(run())


def test_without_a_loop_what_waits_for_nothing_is_done_at_once() -> None:
    threads = Threads("a framework", SENTENCE)

    async def at_once() -> object:
        return await threads.apart(lambda: "at once")

    assert threads.now(at_once) == "at once"
    with pytest.raises(TargetError, match="Make the target asynchronous"):
        threads.now(_answer)

"""Threads that call back into a run that has ended, or is about to."""

import asyncio
import concurrent.futures
import threading

import pytest

from chaosagent.clock import virtual_loop


def test_nothing_can_be_asked_of_a_loop_that_has_ended() -> None:
    loop = virtual_loop(turns_max=1000, seconds_max=10.0)
    loop.end()

    with pytest.raises(RuntimeError, match="Event loop is closed"):
        loop.call_soon_threadsafe(loop.time)


def test_what_a_thread_asked_before_the_end_is_cancelled() -> None:
    loop, told = virtual_loop(turns_max=1000, seconds_max=10.0), []
    asked = threading.Event()

    def early() -> None:
        answer = asyncio.run_coroutine_threadsafe(asyncio.sleep(1.0), loop)
        asked.set()
        try:
            answer.result()
        except concurrent.futures.CancelledError:
            told.append("cancelled")

    async def play() -> None:
        loop.create_task(asyncio.to_thread(early))
        await asyncio.sleep(0.0)
        asked.wait()

    loop.run_until_complete(play())
    loop.end()

    assert told == ["cancelled"]


def test_what_a_thread_asks_comes_when_nothing_else_is_ready() -> None:
    loop, order = virtual_loop(turns_max=10_000, seconds_max=10.0), []
    asked = threading.Event()

    async def note(name: str) -> None:
        order.append(name)

    def work() -> None:
        answer = asyncio.run_coroutine_threadsafe(note("thread"), loop)
        asked.set()
        answer.result()

    async def play() -> None:
        working = asyncio.ensure_future(asyncio.to_thread(work))
        for number in range(20):
            await asyncio.sleep(0.0)
            if number == 5:
                asked.wait()
            order.append(str(number))
        await working

    loop.run_until_complete(play())
    loop.end()

    assert order == [*map(str, range(20)), "thread"]

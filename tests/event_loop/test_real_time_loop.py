"""The event loop of real time: what threads ask of it while it ends."""

import asyncio
import concurrent.futures
import threading
from typing import Any

import pytest

from chaosagent.event_loop import real_time_loop as wall
from chaosagent.event_loop.real_time_loop import RealTimeLoop

FAR_SECONDS = 30.0
"""For what takes milliseconds, on a machine that may stand still meanwhile."""


class _Asking(threading.Thread):
    """Asks a loop for what never comes, and tells what has come of it.

    Attributes:
        has_asked: Set once it waits for the answer, or was refused.
        told: What it was told.
    """

    def __init__(self, loop: RealTimeLoop) -> None:
        super().__init__()
        self._loop = loop
        self.has_asked, self.told = threading.Event(), ""

    def run(self) -> None:
        waiting = asyncio.Event().wait()
        try:
            answer = asyncio.run_coroutine_threadsafe(waiting, self._loop)
            self.has_asked.set()
            answer.result(FAR_SECONDS)
        except (RuntimeError, TimeoutError, concurrent.futures.CancelledError) as error:
            self.told = f"{type(error).__name__}: {error}"
        finally:
            self.has_asked.set()
            waiting.close()


def test_what_a_thread_asks_while_the_tasks_of_a_run_clean_up_is_cancelled_with_them() -> None:
    loop = RealTimeLoop(seconds_max=FAR_SECONDS)
    thread = _Asking(loop)

    async def left() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            thread.start()
            thread.has_asked.wait(FAR_SECONDS)

    async def play() -> None:
        loop.create_task(left())
        await asyncio.sleep(0.0)

    loop.run_until_complete(play())
    loop.end()
    thread.join()

    assert thread.told == "CancelledError: "


def test_what_a_thread_asks_when_nobody_looks_any_more_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = RealTimeLoop(seconds_max=FAR_SECONDS)
    thread, shut_down = _Asking(loop), loop._threads.shutdown

    def late(**how: Any) -> None:
        if thread.ident is None:  # the loop shuts them down once more when it is closed
            thread.start()
            thread.has_asked.wait(FAR_SECONDS)
        shut_down(**how)

    monkeypatch.setattr(loop._threads, "shutdown", late)
    loop.run_until_complete(asyncio.sleep(0.0))
    loop.end()
    thread.join()

    assert thread.told == "RuntimeError: Event loop is closed"


def test_tasks_come_to_clean_up_though_the_machine_stands_still_for_longer_than_they_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wall, "CLEANING_SECONDS", 0.1)
    loop, cleaned = RealTimeLoop(seconds_max=FAR_SECONDS), []

    async def left() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.0)
            threading.Event().wait(0.2)  # in real time, while nothing on the loop goes on
            for _ in range(15):
                await asyncio.sleep(0.0)
            cleaned.append("cleaned up")

    async def play() -> None:
        loop.create_task(left())
        await asyncio.sleep(0.0)

    loop.run_until_complete(play())
    loop.end()

    assert cleaned == ["cleaned up"]

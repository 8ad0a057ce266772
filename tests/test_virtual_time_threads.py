"""Threads that call back into a run that has ended, or is about to."""

import asyncio
import concurrent.futures
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from chaosagent import works
from chaosagent.clock import monotonic
from chaosagent.threads import ThreadPool
from chaosagent.virtual_time import virtual_loop


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


INTERRUPTED = """
import asyncio, threading
from chaosagent.virtual_time import virtual_loop

async def play():
    await asyncio.to_thread(lambda: (print("begun", flush=True), threading.Event().wait(20.0)))

virtual_loop(turns_max=1000, seconds_max=10.0).run_until_complete(play())
"""


@pytest.mark.slow
def test_an_interrupted_program_does_not_wait_for_its_threads() -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "begun\n"
        program.send_signal(signal.SIGINT)
        begun = monotonic()
        _, complaint = program.communicate()

    assert monotonic() - begun < 10.0
    assert complaint.endswith("KeyboardInterrupt\n")


def test_threads_are_used_again_and_no_more_are_started_than_allowed() -> None:
    pool, go = ThreadPool(2), threading.Event()
    first = [pool.submit(threading.current_thread).result().name for _ in range(3)]
    held = [pool.submit(lambda: (go.wait(5.0), threading.current_thread().name)[1]) for _ in range(6)]
    go.set()
    later = {future.result() for future in held}
    pool.close()

    assert set(first) <= {"chaosagent-run-1", "chaosagent-run-2"}
    assert later <= {"chaosagent-run-1", "chaosagent-run-2"}


def test_a_pool_that_is_closed_cancels_what_has_not_begun_and_waits_for_what_has() -> None:
    pool, begun, ended = ThreadPool(1), threading.Event(), []

    def work() -> None:
        begun.set()
        threading.Event().wait(0.05)
        ended.append("first")

    pool.submit(work)
    second = pool.submit(ended.append, "second")
    begun.wait(5.0)
    pool.close()

    assert ended == ["first"]
    assert second.cancelled()
    with pytest.raises(RuntimeError, match="after the end of the run"):
        pool.submit(work)


def test_threads_of_somebody_else_are_waited_for_in_real_time_before_virtual_time_passes() -> None:
    loop, out = virtual_loop(turns_max=1000, seconds_max=10.0), [0]
    loop.wait_while(lambda: out[0] > 0)

    async def play() -> tuple[str, float]:
        answer = loop.create_future()

        def told() -> None:
            out[0] -= 1
            answer.set_result("done")

        def work() -> None:
            threading.Event().wait(0.02)
            loop.call_soon_threadsafe(told)

        out[0] += 1
        threading.Thread(target=work).start()
        async with asyncio.timeout(5.0):
            said = await answer
        assert not out[0]
        await asyncio.sleep(1.0)
        return said, loop.time()

    assert loop.run_until_complete(play()) == ("done", 1.0)
    loop.end()


@pytest.mark.parametrize("slow", [0, 1, 2])
def test_what_several_threads_ask_is_done_in_the_order_of_their_works(slow: int) -> None:
    asked: list[str] = []

    async def asks(text: str) -> None:
        asked.append(text)
        await asyncio.sleep(1.0)

    def work(number: int, loop: asyncio.AbstractEventLoop) -> None:
        for turn in range(3):
            if number == slow:
                threading.Event().wait(0.01)  # in real time
            asyncio.run_coroutine_threadsafe(asks(f"{number}.{turn}"), loop).result()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(asyncio.to_thread(work, number, loop) for number in range(3)))

    virtual_loop(turns_max=1000, seconds_max=100.0).run_until_complete(main())

    assert asked == [f"{number}.{turn}" for turn in range(3) for number in range(3)]


def test_a_thread_that_waits_for_another_one_does_not_hold_up_what_that_one_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(works, "PATIENCE_SECONDS", 0.05)
    answered = threading.Event()

    async def answer() -> int:
        return 7

    def asks(loop: asyncio.AbstractEventLoop) -> int:
        found = asyncio.run_coroutine_threadsafe(answer(), loop).result()
        answered.set()
        return found

    async def main() -> Any:
        loop = asyncio.get_running_loop()
        return await asyncio.gather(asyncio.to_thread(answered.wait, 20.0), asyncio.to_thread(asks, loop))

    assert virtual_loop(turns_max=1000, seconds_max=100.0).run_until_complete(main()) == [True, 7]


def test_no_time_passes_while_a_thread_may_still_ask() -> None:
    async def now() -> float:
        return asyncio.get_running_loop().time()

    def slow(loop: asyncio.AbstractEventLoop) -> float:
        threading.Event().wait(0.05)  # in real time
        return asyncio.run_coroutine_threadsafe(now(), loop).result()

    def sleeps(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.run_coroutine_threadsafe(asyncio.sleep(30.0), loop).result()

    async def main() -> Any:
        loop = asyncio.get_running_loop()
        return await asyncio.gather(asyncio.to_thread(sleeps, loop), asyncio.to_thread(slow, loop))

    assert virtual_loop(turns_max=1000, seconds_max=100.0).run_until_complete(main()) == [None, 0.0]

"""Threads that call back into a run that has ended, or is about to."""

import asyncio
import concurrent.futures
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from chaosagent.event_loop import thread_jobs as works
from chaosagent.event_loop import virtual_time
from chaosagent.event_loop.callback import Callback
from chaosagent.event_loop.thread_jobs import ThreadPool
from chaosagent.event_loop.virtual_time import virtual_loop

FAR_SECONDS = 60.0
"""For what takes milliseconds, on a machine that may stand still meanwhile."""


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


def test_a_thread_that_asks_while_the_loop_ends_is_told_and_does_not_wait_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, told = virtual_loop(turns_max=1000, seconds_max=10.0), []
    asking, ended, here = threading.Event(), threading.Event(), threading.get_ident()
    close = ThreadPool.close

    class Held(Callback):
        """Holds a thread up, after it has seen that the loop has not ended, until nobody looks at what it asks."""

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            if threading.get_ident() != here:
                asking.set()
                ended.wait(FAR_SECONDS)

    def closed(pool: ThreadPool) -> None:
        ended.set()
        close(pool)

    def asks() -> None:
        waiting = asyncio.sleep(1.0)
        try:
            asyncio.run_coroutine_threadsafe(waiting, loop).result(FAR_SECONDS / 2)
        except RuntimeError as error:
            told.append(str(error))
        finally:
            waiting.close()

    async def play() -> None:
        loop.create_task(asyncio.to_thread(asks))
        await asyncio.sleep(0.0)
        asking.wait(FAR_SECONDS)

    monkeypatch.setattr(virtual_time, "Callback", Held)
    monkeypatch.setattr(ThreadPool, "close", closed)
    loop.run_until_complete(play())
    loop.end()

    assert told == ["Event loop is closed"]


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
from chaosagent.event_loop.virtual_time import virtual_loop

async def play():
    await asyncio.to_thread(lambda: (print("begun", flush=True), threading.Event().wait(600.0)))

virtual_loop(turns_max=1000, seconds_max=10.0).run_until_complete(play())
"""


@pytest.mark.slow
def test_an_interrupted_program_does_not_wait_for_its_threads() -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "begun\n"
        program.send_signal(signal.SIGINT)
        try:
            _, complaint = program.communicate(timeout=FAR_SECONDS)
        finally:
            program.kill()

    assert complaint.endswith("KeyboardInterrupt\n")


def test_threads_are_used_again_and_no_more_are_started_than_allowed() -> None:
    pool, go = ThreadPool(2), threading.Event()
    first = [pool.submit(threading.current_thread).result().name for _ in range(3)]
    held = [pool.submit(lambda: (go.wait(FAR_SECONDS), threading.current_thread().name)[1]) for _ in range(6)]
    go.set()
    later = {future.result() for future in held}
    pool.close()

    assert set(first) <= {"chaosagent-run-1", "chaosagent-run-2"}
    assert later <= {"chaosagent-run-1", "chaosagent-run-2"}


def test_a_pool_that_is_closed_cancels_what_has_not_begun_and_waits_for_what_has() -> None:
    pool, begun, cancelled, ended = ThreadPool(1), threading.Event(), threading.Event(), []

    def work() -> None:
        begun.set()
        cancelled.wait(FAR_SECONDS)
        threading.Event().wait(0.05)  # the pool would be closed by now, did it not wait
        ended.append("first")

    pool.submit(work)
    second = pool.submit(ended.append, "second")
    second.add_done_callback(lambda _: cancelled.set())
    begun.wait(FAR_SECONDS)
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
def test_what_several_threads_ask_is_done_in_the_order_of_their_works(
    slow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(works, "PATIENCE_SECONDS", FAR_SECONDS)
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
        return await asyncio.gather(asyncio.to_thread(answered.wait, FAR_SECONDS), asyncio.to_thread(asks, loop))

    assert virtual_loop(turns_max=1000, seconds_max=100.0).run_until_complete(main()) == [True, 7]


class _StandsStill(threading.Event):
    """The first wait ends as if its time had passed while the whole machine stood still; the second lets work go on.

    Args:
        go_on: Lets it.
    """

    def __init__(self, go_on: threading.Event) -> None:
        super().__init__()
        self._go_on, self._waits = go_on, 0

    def wait(self, timeout: float | None = None) -> bool:
        self._waits += 1
        if self._waits == 1:
            return False
        self._go_on.set()
        return super().wait(timeout)


def test_a_machine_that_stands_still_is_not_taken_for_a_thread_that_waits() -> None:
    pool, handed, go_on = ThreadPool(1), works.ThreadJobs(1), threading.Event()
    handed.woken = woken = _StandsStill(go_on)
    work = handed.submit(pool.submit, go_on.wait, FAR_SECONDS)
    work.add_done_callback(lambda _: woken.set())

    handed.settle()

    assert work.done()
    pool.close()


def test_no_time_passes_while_a_thread_may_still_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(works, "PATIENCE_SECONDS", FAR_SECONDS)

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

"""Virtual time: what an event loop promises, and that it ends."""

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.clock import Clock, monotonic, timestamp
from chaosagent.event_loop.virtual_time import (
    Deadlock,
    Livelock,
    TimeLimitReached,
    VirtualLoop,
    VirtualTimeError,
    virtual_loop,
)

FAR_SECONDS = 60.0
"""For what takes milliseconds, on a machine that may stand still meanwhile."""


def make_loop(**limits: float) -> VirtualLoop:
    turns_max, turns_total_max = int(limits.get("turns_max", 10_000)), int(limits.get("turns_total_max", 100_000))
    return virtual_loop(
        turns_max=turns_max, turns_total_max=turns_total_max, seconds_max=limits.get("seconds_max", 1e9)
    )


def run(work: Coroutine[Any, Any, Any], **limits: float) -> Any:
    loop = make_loop(**limits)
    try:
        return loop.run_until_complete(work)
    finally:
        loop.end()


def test_a_day_of_waiting_costs_no_real_time() -> None:
    async def wait() -> float:
        await asyncio.sleep(86_400.0)
        return asyncio.get_running_loop().time()

    began = monotonic()

    assert run(wait()) == 86_400.0
    assert monotonic() - began < FAR_SECONDS


def test_time_does_not_pass_while_something_is_ready() -> None:
    async def work() -> float:
        for _ in range(500):
            await asyncio.sleep(0)
        return asyncio.get_running_loop().time()

    assert run(work()) == 0.0


def test_gather_ends_with_the_slowest_and_keeps_the_order_of_its_arguments() -> None:
    async def slow(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    async def work() -> tuple[list[float], float]:
        return [*await asyncio.gather(slow(3), slow(1), slow(2))], asyncio.get_running_loop().time()

    assert run(work()) == ([3, 1, 2], 3.0)


@pytest.mark.parametrize("limit", [0.0, 1.0, 29.999])
def test_a_time_out_fires_at_its_time_and_cancels_what_it_guards(limit: float) -> None:
    cancelled: list[float] = []

    async def slow() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.append(asyncio.get_running_loop().time())
            raise

    async def work() -> float:
        with pytest.raises(TimeoutError, match=r"^$"):
            async with asyncio.timeout(limit):
                await slow()
        return asyncio.get_running_loop().time()

    assert run(work()) == limit
    assert cancelled == [limit]


def test_wait_for_returns_what_comes_in_time() -> None:
    async def slow() -> str:
        await asyncio.sleep(29)
        return "in time"

    async def work() -> str:
        return await asyncio.wait_for(slow(), 30)

    assert run(work()) == "in time"


def test_a_time_out_that_is_not_reached_lets_no_time_pass() -> None:
    async def work() -> float:
        async with asyncio.timeout(30):
            await asyncio.sleep(1)
        await asyncio.sleep(1)
        return asyncio.get_running_loop().time()

    assert run(work()) == 2.0


def test_events_queues_semaphores_and_conditions_work() -> None:
    async def work() -> list[str]:
        told: list[str] = []
        event, queue, semaphore = asyncio.Event(), asyncio.Queue[int](maxsize=1), asyncio.Semaphore(1)

        async def produce() -> None:
            for number in range(3):
                await queue.put(number)
            event.set()

        async def consume() -> None:
            for _ in range(3):
                async with semaphore:
                    told.append(f"got {await queue.get()}")
                await asyncio.sleep(1)

        async with asyncio.TaskGroup() as group:
            group.create_task(consume())
            group.create_task(produce())
            await event.wait()
            told.append("event")
        return told

    assert run(work()) == ["got 0", "got 1", "event", "got 2"]


def test_a_task_group_cancels_the_others_when_one_fails() -> None:
    ended: list[str] = []

    async def fails() -> None:
        await asyncio.sleep(1)
        raise LookupError("no such order")

    async def waits() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            ended.append(f"at {asyncio.get_running_loop().time():g}")

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(waits())
            group.create_task(fails())

    with pytest.raises(ExceptionGroup, match="unhandled errors in a TaskGroup"):
        run(work())
    assert ended == ["at 1"]


def test_nested_tasks_inherit_the_context_of_their_making() -> None:
    name = contextvars.ContextVar("name", default="nobody")

    async def inner() -> str:
        return name.get()

    async def work() -> list[str]:
        name.set("one")
        first = asyncio.create_task(inner())
        name.set("two")
        return [await first, await asyncio.create_task(inner())]

    assert run(work()) == ["one", "two"]


@given(st.lists(st.integers(0, 5), max_size=12))
def test_timers_fire_in_the_order_of_time_and_then_of_their_making(whens: list[int]) -> None:
    fired: list[tuple[int, int]] = []

    async def work() -> None:
        loop = asyncio.get_running_loop()
        for number, when in enumerate(whens):
            loop.call_at(when, fired.append, (when, number))
        await asyncio.sleep(6)

    run(work())

    assert fired == sorted(fired)
    assert len(fired) == len(whens)


def test_all_that_is_due_at_one_time_is_ready_before_what_it_causes() -> None:
    order: list[str] = []

    def first(loop: asyncio.AbstractEventLoop) -> None:
        order.append("first")
        loop.call_soon(order.append, "caused")

    async def work() -> None:
        loop = asyncio.get_running_loop()
        loop.call_at(1, first, loop)
        loop.call_at(1, order.append, "second")
        await asyncio.sleep(2)

    run(work())

    assert order == ["first", "second", "caused"]


def test_a_timer_of_no_delay_fires_although_the_loop_never_rests() -> None:
    async def work() -> int:
        flag = asyncio.Event()
        asyncio.get_running_loop().call_later(0, flag.set)
        turns = 0
        while not flag.is_set():
            turns += 1
            await asyncio.sleep(0)
        return turns

    assert run(work()) <= 2


def test_a_cancelled_timer_neither_fires_nor_lets_time_pass() -> None:
    async def work() -> float:
        loop = asyncio.get_running_loop()
        handle = loop.call_later(5, pytest.fail, "a cancelled timer fired")
        handle.cancel()
        assert handle.cancelled()
        await asyncio.sleep(0)
        return loop.time()

    assert run(work()) == 0.0


def test_a_timer_at_no_number_is_refused() -> None:
    async def work() -> None:
        asyncio.get_running_loop().call_later(float("nan"), print)

    with pytest.raises(ValueError, match="must be a number of seconds"):
        run(work())


def test_a_callback_that_raises_does_not_end_the_run() -> None:
    async def work() -> str:
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, 1)
        asyncio.get_running_loop().call_soon(future.set_result, 2)  # InvalidStateError, which asyncio logs
        await asyncio.sleep(1)
        return "went on"

    assert run(work()) == "went on"


def test_work_in_threads_is_released_in_the_order_of_asking_and_takes_no_virtual_time() -> None:
    second_may_end = threading.Event()

    def first() -> str:
        second_may_end.wait(FAR_SECONDS)
        return "first"

    def second() -> str:
        second_may_end.set()
        return "second"

    async def work() -> tuple[list[str], float]:
        ended: list[str] = []

        async def ask(function: Any) -> None:
            ended.append(await asyncio.to_thread(function))

        await asyncio.gather(ask(first), ask(second))
        return ended, asyncio.get_running_loop().time()

    assert run(work()) == (["first", "second"], 0.0)


def test_a_time_out_never_beats_a_thread_that_ends() -> None:
    async def work() -> int:
        return await asyncio.wait_for(asyncio.to_thread(sum, range(100_000)), 0.000_001)

    assert run(work()) == sum(range(100_000))


def test_a_thread_may_call_back_into_the_loop_and_wait_for_the_answer() -> None:
    async def double(number: int) -> int:
        await asyncio.sleep(1)
        return 2 * number

    async def work() -> int:
        loop = asyncio.get_running_loop()
        return await asyncio.to_thread(lambda: asyncio.run_coroutine_threadsafe(double(21), loop).result(FAR_SECONDS))

    assert run(work()) == 42


@pytest.mark.parametrize(("raised", "seen"), [(LookupError("gone"), LookupError), (StopIteration("x"), RuntimeError)])
def test_what_a_thread_raises_is_raised_where_it_is_awaited(raised: Exception, seen: type[Exception]) -> None:
    def fails() -> None:
        raise raised

    async def work() -> None:
        await asyncio.to_thread(fails)

    with pytest.raises(seen, match=r"gone|x"):
        run(work())


def test_threads_have_ended_when_the_loop_is_closed() -> None:
    ended: list[bool] = []
    go = threading.Event()

    def late() -> None:
        go.wait(FAR_SECONDS)
        ended.append(True)

    async def work() -> None:
        asyncio.get_running_loop().run_in_executor(None, late)
        go.set()

    run(work())

    assert ended == [True]


def test_waiting_for_what_can_never_happen_is_a_deadlock() -> None:
    async def work() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Deadlock, match="nothing is ready and no timer is set"):
        run(work())


def test_two_tasks_that_wait_for_each_other_are_a_deadlock() -> None:
    async def work() -> None:
        one, other = asyncio.Lock(), asyncio.Lock()

        async def take(first: asyncio.Lock, second: asyncio.Lock) -> None:
            async with first:
                await asyncio.sleep(1)
                async with second:
                    pytest.fail("both locks were had")

        await asyncio.gather(take(one, other), take(other, one))

    with pytest.raises(Deadlock, match="nothing is ready"):
        run(work())


def test_polling_without_waiting_is_a_livelock() -> None:
    async def work() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(Livelock, match="1000 turns of the event loop without any time passing"):
        run(work(), turns_max=1_000)


def test_polling_with_next_to_no_waiting_is_a_livelock_too() -> None:
    async def work() -> None:
        while True:
            await asyncio.sleep(0.001)

    with pytest.raises(Livelock, match="5000 turns of the event loop in one run"):
        run(work(), turns_total_max=5_000)


def test_time_beyond_the_limit_ends_the_run() -> None:
    async def work() -> None:
        while True:
            await asyncio.sleep(60)

    with pytest.raises(TimeLimitReached, match="the next timer is at 660 s, the limit is 600 s"):
        run(work(), seconds_max=600)


def test_the_end_of_virtual_time_is_no_exception_that_a_retry_swallows() -> None:
    assert not issubclass(VirtualTimeError, Exception)


def test_a_loop_that_was_stopped_stays_stopped() -> None:
    loop = make_loop()
    with pytest.raises(Deadlock, match="nothing is ready"):
        loop.run_until_complete(asyncio.Event().wait())

    with pytest.raises(Deadlock, match="nothing is ready"):
        loop.run_until_complete(asyncio.sleep(0))

    loop.end()


def test_the_end_cancels_what_is_left_in_the_order_of_making_and_lets_it_clean_up() -> None:
    loop, told = make_loop(), list[str]()

    async def left(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            told.append(name)

    async def work() -> None:
        for name in "abc":
            asyncio.get_running_loop().create_task(left(name))
        await asyncio.sleep(0)

    loop.run_until_complete(work())

    assert loop.end() == 3
    assert told == ["a", "b", "c"]


def test_the_end_does_not_wait_for_ever_for_a_task_that_refuses_to_be_cancelled() -> None:
    loop, refused, rounds = make_loop(turns_max=500), list[int](), list[int]()

    async def stubborn() -> None:
        while len(refused) < 100_000:
            rounds.append(1)
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                refused.append(1)

    async def work() -> None:
        asyncio.get_running_loop().create_task(stubborn())
        await asyncio.sleep(0)

    loop.run_until_complete(work())

    assert loop.end() == 1
    assert refused == [1]
    assert len(rounds) <= 502


def test_an_asynchronous_generator_that_is_dropped_is_closed() -> None:
    told: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            for number in range(10):
                yield number
        finally:
            await asyncio.sleep(1)
            told.append(f"closed at {asyncio.get_running_loop().time():g}")

    async def work() -> None:
        async for number in numbers():
            if number == 2:
                break
        await asyncio.sleep(5)

    run(work())

    assert told == ["closed at 1"]


def test_an_asynchronous_generator_that_is_still_held_is_closed_at_the_end() -> None:
    told: list[str] = []
    held: list[AsyncIterator[int]] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            told.append("closed")

    async def work() -> None:
        held.append(numbers())
        await anext(held[0])

    run(work())

    assert told == ["closed"]


def test_loops_nest_and_the_outer_one_goes_on() -> None:
    async def inner() -> float:
        await asyncio.sleep(7)
        return asyncio.get_running_loop().time()

    async def outer() -> tuple[float, float]:
        await asyncio.sleep(1)
        before = asyncio.current_task()
        found = run(inner())
        assert asyncio.current_task() is before is not None
        await asyncio.sleep(1)
        return found, asyncio.get_running_loop().time()

    assert run(outer()) == (7.0, 2.0)


def test_a_loop_can_be_entered_again_from_one_of_its_own_tasks() -> None:
    loop = make_loop()

    async def inner() -> str:
        await asyncio.sleep(2)
        return "inner"

    async def outer() -> str:
        found = loop.run_until_complete(inner())
        await asyncio.sleep(1)
        return f"{found} at {loop.time():g}"

    assert loop.run_until_complete(outer()) == "inner at 3"
    loop.end()


def test_a_run_inside_a_real_loop_leaves_that_loop_running() -> None:
    async def outer() -> str:
        before = asyncio.get_running_loop()
        run(asyncio.sleep(3600))
        assert asyncio.get_running_loop() is before
        await asyncio.sleep(0)
        return "still there"

    assert asyncio.run(outer()) == "still there"


def test_input_and_output_are_refused_with_what_to_do() -> None:
    async def work() -> None:
        await asyncio.open_connection("localhost", 80)

    with pytest.raises(NotImplementedError, match="Put what talks to sockets or processes behind a door"):
        run(work())


def test_a_loop_is_idle_when_nothing_else_can_act() -> None:
    async def work() -> list[bool]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        seen = [loop.idle]
        timer = loop.call_later(5, print)
        seen.append(loop.idle)
        timer.cancel()
        seen.append(loop.idle)
        loop.call_soon(lambda: None)
        seen.append(loop.idle)
        return seen

    assert run(work()) == [True, False, True, False]


def test_a_clock_tells_virtual_time() -> None:
    loop = make_loop()
    clock = Clock(loop)

    loop.run_until_complete(clock.sleep(2.5))

    assert clock.now() == 2.5
    loop.end()


def test_the_clock_of_a_synchronous_target_waits_without_await() -> None:
    loop = make_loop()

    assert Clock(loop, synchronous=True).sleep(4) is None
    assert loop.time() == 4.0
    loop.end()


def test_real_time_goes_forward_and_has_a_date() -> None:
    assert monotonic() <= monotonic()
    assert len(timestamp()) == len("2026-01-01T00:00:00Z")

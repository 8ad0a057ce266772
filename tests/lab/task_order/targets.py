"""Targets in which something depends on the order of a set of tasks, futures or cancel scopes.

Each program writes down what happens in which order. Its size is the number of tasks in its largest set.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, Task

Program = Callable[[Run, int], Awaitable[None]]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Make a function one of the programs, by its name."""
    PROGRAMS[function.__name__] = function
    return function


def target_of(name: str, size: int) -> Target:
    """Return the target that runs a program."""

    @target(name=f"{name}-{size}", tasks=[Task("t")])
    async def system(task: Task, run: Run) -> Outcome:
        del task
        await PROGRAMS[name](run, size)
        return Outcome("done", success=True)

    return system


async def _work(run: Run, name: object, seconds: float = 10.0, result: object = None) -> object:
    """Wait, write down a cancellation, and clean up through a door."""
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        run.note("cancelled", name=name)
        await asyncio.sleep(0)
        run.note("cleaned", name=name)
        raise
    return result


async def _fail(seconds: float) -> None:
    await asyncio.sleep(seconds)
    raise ValueError("failed")


@program
async def group_fails(run: Run, size: int) -> None:
    """Cancel the children of a group because one fails."""
    with suppress(BaseExceptionGroup):
        async with asyncio.TaskGroup() as group:
            for number in range(size):
                group.create_task(_work(run, number))
            group.create_task(_fail(1.0))


@program
async def group_times_out(run: Run, size: int) -> None:
    """Cancel the children of a group by a time-out around it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(1.0), asyncio.TaskGroup() as group:
            for number in range(size):
                group.create_task(_work(run, number))


@program
async def groups_in_groups(run: Run, size: int) -> None:
    """Cancel groups within a group, some of whose children have ended."""

    async def inner(outer: int) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(size):
                group.create_task(_work(run, [outer, number], 0.1 if number % 3 == outer else 10.0))

    with suppress(BaseExceptionGroup):
        async with asyncio.TaskGroup() as group:
            for outer in range(3):
                group.create_task(inner(outer))
            group.create_task(_fail(1.0))


@program
async def wait_first(run: Run, size: int) -> None:
    """Iterate both sets of `wait`, again and again."""
    pending = {asyncio.create_task(_work(run, number, float(number % 3), number)) for number in range(size)}
    while pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        run.note("done", results=[one.result() for one in done])
        run.note("pending", names=[one.get_name() for one in pending])


@program
async def wait_and_cancel(run: Run, size: int) -> None:
    """Cancel what is pending after a time-out of `wait`."""
    tasks = [asyncio.create_task(_work(run, number, 0.5 if number % 4 == 0 else 9.0, number)) for number in range(size)]
    done, pending = await asyncio.wait(tasks, timeout=1.0)
    run.note("done", results=[one.result() for one in done])
    for one in pending:
        one.cancel()
    run.note("popped", names=[pending.pop().get_name() for _ in range(len(pending) // 2)])
    run.note("rest", results=[str(one) for one in await asyncio.gather(*pending, return_exceptions=True)])


@program
async def wait_for_futures(run: Run, size: int) -> None:
    """Wait for futures that are no tasks, of which some were made directly and some by `gather`."""
    loop = asyncio.get_running_loop()
    made: list[asyncio.Future[Any]] = [loop.create_future() for _ in range(size)]
    direct: list[asyncio.Future[Any]] = [asyncio.Future() for _ in range(size)]
    gathered = [asyncio.gather(_work(run, number, 0.1, number)) for number in range(size)]
    for number, one in enumerate([*made, *direct]):
        loop.call_later(0.1, one.set_result, number)
    done, pending = await asyncio.wait([*made, *direct, *gathered])
    run.note("done", results=[one.result() for one in done], pending=len(pending))


@program
async def completed_list(run: Run, size: int) -> None:
    """Take coroutines of a list as they are completed."""
    calls = [_work(run, number, float(number % 3), number) for number in range(size)]
    for one in asyncio.as_completed(calls):
        run.note("completed", result=await one)


@program
async def completed_set(run: Run, size: int) -> None:
    """Take coroutines of a set as they are completed, also those that doors return."""
    calls = {_work(run, number, float(number % 3), number) for number in range(size)}
    for one in asyncio.as_completed(calls):
        run.note("completed", result=await one)

    async def look(key: int, among: list[int]) -> int:
        await asyncio.sleep(key % 2)
        return key + len(among)

    shelf = run.service("shelf", {"look": look}, read_only=True)
    for one in asyncio.as_completed({shelf("look", key=number, among=[number]) for number in range(size)}):
        run.note("looked", result=await one)


@program
async def completed_tasks(run: Run, size: int) -> None:
    """Take tasks of a set as they are completed, of which some are done."""
    tasks = {asyncio.create_task(_work(run, number, float(number % 2), number)) for number in range(size)}
    await asyncio.sleep(0.5)
    for one in asyncio.as_completed(tasks):
        run.note("completed", result=await one)


@program
async def completed_times_out(run: Run, size: int) -> None:
    """Take coroutines as they are completed, until a time-out; then cancel all tasks that are left."""
    with suppress(TimeoutError):
        for one in asyncio.as_completed([_work(run, n, float(n % 3), n) for n in range(size)], timeout=1.5):
            run.note("completed", result=await one)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


@program
async def gather_fails(run: Run, size: int) -> None:
    """Cancel what `gather` waits for."""
    calls = asyncio.gather(*(_work(run, number) for number in range(size)), _fail(1.0))
    with suppress(ValueError):
        await calls
    again = asyncio.gather(*(_work(run, number) for number in range(size)))
    asyncio.get_running_loop().call_later(1.0, again.cancel)
    with suppress(asyncio.CancelledError):
        await again


@program
async def tasks_of_the_user(run: Run, size: int) -> None:
    """Keep a set of tasks, which drop out as they end, and iterate it."""
    background: set[asyncio.Task[object]] = set()
    for number in range(size):
        task = asyncio.create_task(_work(run, number, float(number % 5), number))
        background.add(task)
        task.add_done_callback(background.discard)
    await asyncio.sleep(1.5)
    run.note("left", names=[task.get_name() for task in background])
    for task in set(background) | {asyncio.create_task(_work(run, "last"))}:
        task.cancel()
    await asyncio.sleep(0.1)


@program
async def futures_of_the_user(run: Run, size: int) -> None:
    """Wake all that wait, from a set of futures."""
    waiting: set[asyncio.Future[None]] = set()

    async def wait(number: int) -> None:
        future = asyncio.get_running_loop().create_future()
        waiting.add(future)
        await future
        run.note("woken", name=number)

    async with asyncio.TaskGroup() as group:
        for number in range(size):
            group.create_task(wait(number))
        await asyncio.sleep(1.0)
        for future in waiting:
            future.set_result(None)


@program
async def queue_and_locks(run: Run, size: int) -> None:
    """Have many wait at a queue, a condition and a semaphore, and cancel some."""
    queue: asyncio.Queue[int] = asyncio.Queue(2)
    condition, semaphore = asyncio.Condition(), asyncio.Semaphore(2)

    async def take(number: int) -> None:
        async with semaphore:
            run.note("took", name=number, value=await queue.get())
        async with condition:
            await condition.wait()
            run.note("notified", name=number)

    takers = {asyncio.create_task(take(number)) for number in range(size)}
    for number in range(size // 2 + 1):
        await queue.put(number)
    await asyncio.sleep(1.0)
    async with condition:
        condition.notify_all()
    await asyncio.sleep(1.0)
    for taker in takers:
        taker.cancel()
    done, _ = await asyncio.wait(takers)
    run.note("ended", cancelled=[taker.cancelled() for taker in done])


@program
async def waits_for(run: Run, size: int) -> None:
    """Cancel by `wait_for` and `timeout`, nested and at one time."""

    async def patient(number: int) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(_work(run, number), 1.0)
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await asyncio.shield(_work(run, number, 1.0))

    done, _ = await asyncio.wait([asyncio.create_task(patient(number)) for number in range(size)])
    run.note("ended", names=[one.get_name() for one in done])


@program
async def left_behind(run: Run, size: int) -> None:
    """Leave tasks behind, which clean up at the end of the run, in the order in which all tasks are iterated."""
    for number in range(size):
        asyncio.get_running_loop().create_task(_work(run, number))
    await asyncio.sleep(1.0)
    run.note("all", names=[task.get_name() for task in asyncio.all_tasks()])


if importlib.util.find_spec("anyio") is not None:
    import anyio
    import anyio.abc

    @program
    async def anyio_group(run: Run, size: int) -> None:
        """Cancel the children of a task group of anyio because one fails."""
        with suppress(BaseExceptionGroup):
            async with anyio.create_task_group() as group:
                for number in range(size):
                    group.start_soon(_work, run, number)
                group.start_soon(_fail, 1.0)

    @program
    async def anyio_scopes(run: Run, size: int) -> None:
        """Cancel scopes within scopes, each of a task of its own, and a group within."""

        async def scoped(number: int) -> None:
            with anyio.CancelScope(), anyio.CancelScope():
                async with anyio.create_task_group() as group:
                    group.start_soon(_work, run, [number, "a"])
                    group.start_soon(_work, run, [number, "b"])

        with anyio.move_on_after(1.0):
            async with anyio.create_task_group() as group:
                for number in range(size):
                    group.start_soon(scoped, number)

    @program
    async def anyio_starts(run: Run, size: int) -> None:
        """Start services that say when they are ready, and wake those that wait for a limiter and an event."""
        event, limiter = anyio.Event(), anyio.CapacityLimiter(2)

        async def serve(number: int, *, task_status: anyio.abc.TaskStatus[int]) -> None:
            await anyio.sleep(0.1)
            task_status.started(number)
            await event.wait()
            async with limiter:
                run.note("limited", name=number)
                await anyio.sleep(1.0)
            await _work(run, number, 5.0 + number)

        async with anyio.create_task_group() as group:
            for number in range(size):
                run.note("started", name=await group.start(serve, number))
            event.set()
            await anyio.sleep(2.0)
            group.cancel_scope.cancel()

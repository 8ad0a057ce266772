"""Tasks and futures are iterated in an order that follows from the run; in other loops they are as they were."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chaosagent.event_loop.ordered_set import OrderedSet
from chaosagent.event_loop.real_time_loop import RealTimeLoop
from chaosagent.event_loop.task_order import ANYIO, OrderedLoop, keep_order
from chaosagent.event_loop.virtual_time import VirtualLoop, virtual_loop

MAKERS: dict[str, Callable[[], OrderedLoop]] = {
    "virtual": lambda: virtual_loop(turns_max=10_000, seconds_max=100.0),
    "wall": lambda: RealTimeLoop(seconds_max=20.0),
}


@pytest.fixture(params=list(MAKERS))
def loop(request: pytest.FixtureRequest) -> Iterator[OrderedLoop]:
    made = MAKERS[request.param]()
    yield made
    assert isinstance(made, VirtualLoop | RealTimeLoop)
    made.end()


async def nothing() -> None:
    """End at once."""


def test_tasks_are_hashed_by_their_number(loop: OrderedLoop) -> None:
    async def main() -> list[int]:
        tasks = [asyncio.create_task(nothing()) for _ in range(3)]
        await asyncio.wait(tasks)
        return [hash(task) for task in tasks]

    assert loop.run_until_complete(main()) == [2, 3, 4]


def test_futures_are_numbered_when_they_are_hashed(loop: OrderedLoop) -> None:
    async def main() -> tuple[list[int], list[int]]:
        futures = [asyncio.get_running_loop().create_future() for _ in range(5)]
        gathered = asyncio.gather(nothing())
        await gathered
        first = [hash(future) for future in (futures[3], futures[1], gathered, futures[3])]
        return first, [hash(future) for future in futures]

    assert loop.run_until_complete(main()) == ([1, 2, 3, 1], [4, 2, 5, 1, 6])


def test_the_sets_of_wait_are_in_the_order_in_which_it_was_asked(loop: OrderedLoop) -> None:
    async def main() -> None:
        tasks = [asyncio.create_task(asyncio.sleep(0.0 if number % 2 else 10.0)) for number in range(20)]
        done, pending = await asyncio.wait(tasks[::-1], return_when=asyncio.FIRST_COMPLETED, timeout=0.01)
        assert list(done) == tasks[::-2]
        assert list(pending) == tasks[-2::-2]
        assert isinstance(done, set)

    loop.run_until_complete(main())


def test_as_completed_takes_the_coroutines_of_a_set_by_their_arguments(loop: OrderedLoop) -> None:
    async def answer(first: object, second: object) -> object:
        return first, second

    arguments: list[tuple[Any, Any]] = [({"a": [1, 2]}, object()), ([b"b", (1.5, None)], 1), ("a", 3), ("b", {4})]

    async def main() -> list[Any]:
        calls = {answer(*two) for two in arguments}
        return [await one for one in asyncio.as_completed(calls)]

    assert loop.run_until_complete(main()) == [arguments[2], arguments[3], arguments[1], arguments[0]]


def test_wait_takes_the_tasks_of_a_plain_set_in_the_order_of_making(loop: OrderedLoop) -> None:
    async def main() -> None:
        for _ in range(5):
            await asyncio.create_task(nothing())
        tasks = [asyncio.create_task(nothing()) for _ in range(4)]
        assert list(set(tasks)) != tasks  # a table of eight places, in which the number 8 comes first
        done, _ = await asyncio.wait(set(tasks))
        assert list(done) == tasks

    loop.run_until_complete(main())


def test_all_tasks_does_not_depend_on_the_tasks_of_other_loops(loop: OrderedLoop) -> None:
    orders = set()
    for others in range(30):
        other = virtual_loop(turns_max=10_000, seconds_max=100.0)
        kept = [other.create_task(nothing()) for _ in range(others)]

        async def main() -> list[int]:
            tasks = [asyncio.create_task(nothing()) for _ in range(8)]
            everything = [hash(task) for task in asyncio.all_tasks()]
            await asyncio.wait(tasks)
            return everything

        loop.renumber()
        orders.add(tuple(loop.run_until_complete(main())))
        assert isinstance(other, VirtualLoop)
        other.end()
        del kept
    assert len(orders) == 1


def test_other_loops_make_plain_sets_tasks_and_futures() -> None:
    keep_order()

    async def main() -> None:
        task = asyncio.create_task(nothing())
        done, pending = await asyncio.wait([task])
        group = asyncio.TaskGroup()
        assert {type(done), type(pending), type(group._tasks)} == {set}
        assert type(task) is asyncio.Task
        assert type(asyncio.get_running_loop().create_future()) is asyncio.Future
        assert hash(task) == object.__hash__(task)
        gathered = asyncio.gather(nothing())
        assert hash(gathered) == object.__hash__(gathered)
        await gathered
        assert asyncio.current_task() in asyncio.all_tasks()

    asyncio.run(main())


def test_what_the_world_or_chaosagent_makes_does_not_count_for_the_target(loop: OrderedLoop) -> None:
    makers: list[Any] = ["", "service:a[1]", "service:a[1]", "", "service:b[1]", ""]
    made = []
    for maker in makers:
        loop.origin = lambda maker=maker: maker  # type: ignore[misc]
        task = loop.create_task(nothing())
        made.append((task.number, task.get_name()))
        assert hash(loop.create_own_task(nothing())) < 0

    assert [number for number, _ in made] == [1, -1, -2, 2, -1, 3]
    assert made[0][1] == "task-1"


def test_numbers_begin_again_behind_the_last_open_task(loop: OrderedLoop) -> None:
    async def main() -> tuple[list[int], int, list[int], int]:
        waiting = asyncio.create_task(asyncio.sleep(50.0))
        for _ in range(7):
            await asyncio.create_task(nothing())
        hash(asyncio.get_running_loop().create_future())
        open_twice = loop.renumber()
        third = asyncio.create_task(nothing())
        waiting.cancel()
        await asyncio.wait([waiting, third])
        return open_twice, hash(third), loop.renumber(), hash(asyncio.create_task(nothing()))

    assert loop.run_until_complete(main()) == ([1, 2, 1], 3, [1, 0], 2)


@contextmanager
def without_anyio() -> Iterator[None]:
    """Have the backend of anyio imported as if for the first time."""
    package = importlib.import_module("anyio._backends")
    known, attribute = sys.modules.pop(ANYIO, None), getattr(package, "_asyncio", None)
    finders = sys.meta_path[:]
    keep_order.cache_clear()
    try:
        yield
    finally:
        sys.meta_path[:] = finders
        if known is not None and attribute is not None:
            sys.modules[ANYIO] = known
            package._asyncio = attribute  # type: ignore[attr-defined]
        keep_order.cache_clear()
        keep_order()


def test_anyio_is_ordered_whether_it_is_imported_before_or_after() -> None:
    pytest.importorskip("anyio")
    with without_anyio():
        keep_order()
        after = importlib.import_module(ANYIO)
    before = importlib.import_module(ANYIO)

    async def main(anyio: Any) -> tuple[type, type]:
        scope = anyio.CancelScope()
        return type(scope._tasks), type(scope._child_scopes)

    for anyio in (after, before):
        run: Callable[[Awaitable[Any]], Any] = virtual_loop(turns_max=9, seconds_max=1.0).run_until_complete
        assert run(main(anyio)) == (OrderedSet, OrderedSet)
        assert asyncio.run(main(anyio)) == (set, set)

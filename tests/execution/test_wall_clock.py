"""Targets in real time: they may use sockets and processes, and their traces are equal all the same."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator

import pytest

from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.faults.injection import Hook, inject
from chaosagent.faults.schedule import EMPTY, Schedule, schedule
from chaosagent.limits import RunLimits
from chaosagent.operators.service.delay import Delay
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Ending, Outcome, SystemConfig, Task


def _executed(system: Target, delta: Schedule = EMPTY, seconds: float = 60.0) -> Execution:
    limits = RunLimits(wall_seconds_max=seconds)
    return execute(Experiment(system, system.task("default"), SystemConfig(), seed=1, limits=limits), delta)


@target(clock="wall")
async def echoing(_: Task, run: Run) -> Outcome:
    """Ask a real server on loopback."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        writer.close()

    async def ask(text: str) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{text}\n".encode())
        answer = await reader.readline()
        writer.close()
        return answer.decode().strip()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        return Outcome(await run.service("echo", {"ask": ask})("ask", text="hello"), success=True)


@target(clock="wall")
async def hurried(_: Task, run: Run) -> Outcome:
    """Give a service 50 ms."""
    try:
        async with asyncio.timeout(0.05):
            await run.service("slow", {"ask": lambda: "hello"})("ask")
    except TimeoutError:
        return Outcome("too late", success=False)
    return Outcome("in time", success=True)


@target(clock="wall")
def synchronous(_: Task, run: Run) -> Outcome:
    """Wait, then ask."""
    run.clock.sleep(0.01)
    return Outcome(run.service("echo", {"ask": lambda text: text})("ask", text="hello"), success=True)


@target(clock="wall")
async def speaking(_: Task, run: Run) -> Outcome:
    """Run a process."""

    async def speak() -> str:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "print('hello')", stdout=asyncio.subprocess.PIPE
        )
        said, _ = await process.communicate()
        return said.decode().strip()

    return Outcome(await run.service("shell", {"speak": speak})("speak"), success=True)


@target(clock="wall")
async def waiting(_: Task, __: Run) -> Outcome:
    """Wait for what never happens."""
    await asyncio.get_running_loop().create_future()
    return Outcome("never")


@pytest.mark.parametrize("system", [echoing, synchronous, speaking])
def test_a_target_in_real_time_gives_equal_traces(system: Target) -> None:
    first, second = _executed(system).trace, _executed(system).trace

    assert first.outcome.message == "hello"
    assert first.digest == second.digest


def test_a_delay_lasts_as_long_as_it_says() -> None:
    begun = time.monotonic()
    late = _executed(hurried, schedule([inject(Hook("service:slow", "", 1, 1), Delay(seconds=60.0))])).trace

    assert late.outcome.message == "too late"
    assert 0.05 <= time.monotonic() - begun < 60.0
    assert _executed(hurried).trace.outcome.message == "in time"


def test_a_run_in_real_time_ends_at_its_limit() -> None:
    trace = _executed(waiting, seconds=0.1).trace

    assert trace.ending is Ending.HUNG
    assert "0.1 s of real time" in trace.ending_detail


def test_what_cleans_up_neither_ends_the_process_nor_holds_it_up() -> None:
    kept: list[object] = []

    async def leaving() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            raise SystemExit(3)

    async def lingering() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(30)
            await asyncio.sleep(30)

    @target(clock="wall")
    async def untidy(_: Task, run: Run) -> Outcome:
        generator = lingering()
        kept.extend([asyncio.ensure_future(leaving()), asyncio.ensure_future(leaving()), generator])
        await anext(generator)
        await asyncio.sleep(0.01)
        return Outcome(str(await run.service("it", {"ask": lambda: 1})("ask")), success=True)

    begun = time.monotonic()
    trace = _executed(untidy).trace

    assert (trace.ending, trace.outcome.message) == (Ending.FINISHED, "1")
    assert time.monotonic() - begun < 30.0

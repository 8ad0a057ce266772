"""What `memory.late_write` does to a crossing, and to agents that share a memory."""

from __future__ import annotations

import asyncio

import pytest

from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.crossing import Request, Response
from chaosagent.faults.schedule import parse
from chaosagent.operators.memory.late_write import LateWrite
from chaosagent.targets.target import Run, target
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.trace.step import StepKind
from chaosagent.vocabulary import Boundary, Outcome, SystemConfig, Task

WRITE = Request("append", {"key": "log", "value": "paid"})


def _crossing(request: Request) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.MEMORY, request, Response({"ok": True})))


def test_a_writer_that_is_told_late_waits() -> None:
    crossing = _crossing(WRITE)

    assert play(LateWrite("late", 60.0), crossing) == Response({"ok": True})
    assert crossing.waits == [(60.0, 0)]
    assert crossing.calls == [WRITE]


def test_a_writer_that_is_told_early_goes_on() -> None:
    crossing = _crossing(WRITE)

    assert play(LateWrite("early", 60.0), crossing) == Response()
    assert crossing.waits == []
    assert crossing.calls == []
    assert crossing.deferred == [(60.0, WRITE)]


@pytest.mark.parametrize("told", ["late", "early"])
def test_reads_are_untouched(told: str) -> None:
    crossing = _crossing(Request("read", {"key": "log"}))

    assert play(LateWrite(told), crossing) == Response({"ok": True})
    assert not crossing.waits
    assert not crossing.deferred


@target(name="two-tellers", tasks=[Task("deposits")])
async def two_tellers(task: Task, run: Run) -> Outcome:  # noqa: ARG001  # the protocol's
    """Two agents add 10 and 5 to what is there, one second apart; nominally neither disturbs the other."""
    memory = run.memory("account")
    with run.agent("auditor"):
        await memory("write", key="balance", value=100)

    async def deposit(name: str, amount: int, seconds: float) -> None:
        with run.agent(name):
            await asyncio.sleep(seconds)
            balance = await memory("read", key="balance")
            await memory("write", key="balance", value=balance + amount)

    await asyncio.gather(deposit("anna", 10, 0.0), deposit("bert", 5, 1.0))
    await asyncio.sleep(60.0)
    with run.agent("auditor"):
        return Outcome(str(await memory("read", key="balance")), success=True)


@pytest.mark.parametrize(
    ("text", "balance"),
    [
        ("", "115"),
        ("memory:account[1]@anna late_write(told=late, seconds=5)", "115"),
        ("memory:account[2]@anna late_write(told=late, seconds=5)", "110"),
        ("memory:account[2]@anna late_write(told=early, seconds=5)", "110"),
        ("memory:account[2]@bert late_write(told=early, seconds=5)", "115"),
    ],
)
def test_the_write_of_one_agent_is_written_over_by_that_of_another(text: str, balance: str) -> None:
    trace = execute(Experiment(two_tellers, two_tellers.task("deposits"), SystemConfig(), seed=1), parse(text)).trace

    assert trace.outcome == Outcome(balance, success=True)


def test_a_late_write_is_a_step_of_its_own() -> None:
    delta = parse("memory:account[2]@anna late_write(told=early, seconds=5)")
    trace = execute(Experiment(two_tellers, two_tellers.task("deposits"), SystemConfig(), seed=1), delta).trace

    (late,) = [step for step in trace.steps if step.kind is StepKind.LATE]
    assert (late.hook, late.arrived_at) == ("memory:account[2]@anna", 5.0)

"""Requests that reach the world later than they were asked, on their own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from chaosagent.errors import ChaosAgentError
from chaosagent.faults.crossing import Request
from chaosagent.trace.step import StepKind

if TYPE_CHECKING:
    from chaosagent.execution.passage import Passage
    from chaosagent.execution.run import LiveRun


def reach_later(run: LiveRun, passage: Passage, seconds: float, request: Request) -> None:
    """Let a request reach the world later, through a passage and as a step of its own.

    Args:
        run: Of the passage.
        passage: At whose hook it was asked.
        seconds: After how long, in the run's time.
        request: What reaches the world.
    """
    late = type(passage)(run, passage.door, passage.place, request.operation, request.arguments)
    late.role, late.decision = passage.role, passage.decision
    late.take_request()
    late.asked, late.asked_at = passage.asked, passage.asked_at

    async def later() -> None:
        await asyncio.sleep(seconds)
        try:
            waiting = late.call_world(late.operation, late.arguments)
            if waiting is not None:
                await waiting
            if not run.over:
                now = run.loop.now
                run.recorder.append(late, StepKind.LATE, now, told=late.response_bytes, value=late.value)
        except ChaosAgentError as error:
            run.recorder.refuse(error)

    run.loop.create_own_task(later())

"""What `service.late_duplicate` does to a crossing, and to a service."""

from __future__ import annotations

import asyncio
from typing import Any

from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.crossing import Request, Response
from chaosagent.faults.schedule import parse
from chaosagent.operators.service.late_duplicate import LateDuplicate
from chaosagent.targets.target import Run, target
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary, Outcome, SystemConfig, Task

REQUEST = Request("set_limit", {"amount": 100})


def test_the_agent_gets_the_first_answer_and_the_request_comes_again_later() -> None:
    crossing = FakeCrossing(Sample(Boundary.SERVICE, REQUEST, Response({"ok": True})))

    response = play(LateDuplicate(60.0), crossing)

    assert response == Response({"ok": True})
    assert crossing.calls == [REQUEST]
    assert crossing.deferred == [(60.0, REQUEST)]
    assert crossing.waits == []


@target(name="limits", tasks=[Task("limits")])
async def limits(task: Task, run: Run) -> Outcome:  # noqa: ARG001  # the protocol's
    """Set a limit twice, and read it some time later."""
    state = {"limit": 0}

    def bank(operation: str, **arguments: Any) -> int:
        if operation == "set_limit":
            state["limit"] = arguments["amount"]
        return state["limit"]

    service = run.service("bank", bank)
    await service("set_limit", amount=100)
    await service("set_limit", amount=5)
    await asyncio.sleep(30.0)
    return Outcome(str(await service("get_limit")), success=True)


def test_what_was_overwritten_comes_back_after_other_calls() -> None:
    experiment = Experiment(limits, limits.task("limits"), SystemConfig(), seed=1)

    nominal = execute(experiment, parse(""))
    disturbed = execute(experiment, parse("service:bank[1] late_duplicate(seconds=5)"))

    assert nominal.trace.outcome == Outcome("5", success=True)
    assert disturbed.trace.outcome == Outcome("100", success=True)

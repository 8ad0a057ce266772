"""A layer below the agent that tries again makes attempts of one call; an agent that asks again makes another call."""

from __future__ import annotations

from typing import Any

import pytest

from chaosagent.adapters.doors import FrameworkDoors
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, Target, target
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Outcome, SystemConfig


def _run(system: Target, schedule: str = "") -> Trace:
    experiment = Experiment(system, system.task("default"), SystemConfig(), seed=1)
    trace = execute(experiment, parse(schedule)).trace
    served = serve(experiment, trace, parse(schedule))
    assert served.difference is None
    assert served.execution.trace.digest == trace.digest
    return trace


def _asking(kind: str, *calls: tuple[str, int], fails: bool = False) -> Target:
    """Return a target that makes calls, each identified by a text and with a number as argument.

    Where it fails, the first answer of the model is an error.
    """

    @target
    async def asking(_: object, run: Run) -> Outcome:
        doors, failed, answers = FrameworkDoors(run), 0, iter([ConnectionError("reset"), None, None])

        def answer(_: object) -> dict[str, Any]:
            error = next(answers) if fails else None
            if error is not None:
                raise error
            return {"content": "hello"}

        for call, number in calls:
            request: dict[str, Any] = {"messages": [number]}
            try:
                if kind == "tool":
                    await doors.tool("t", {"number": number}, lambda _: "done", call=call)
                elif kind == "message":
                    await doors.message("c", "you", number, lambda _: "done", call=call)
                else:
                    await doors.model("m", request, answer, call=call)
            except ConnectionError:
                failed += 1
        return Outcome(str(failed))

    return asking


def _hooks(trace: Trace) -> list[str]:
    return [step.hook.partition(":")[2] for step in trace.steps]


def test_the_same_call_of_a_tool_with_the_same_arguments_is_another_attempt() -> None:
    assert _hooks(_run(_asking("tool", ("a", 1), ("a", 1), ("a", 1)))) == ["t[1]", "t[1.1]", "t[1.2]"]
    assert _hooks(_run(_asking("message", ("a", 1), ("a", 1)))) == ["c[1]", "c[1.1]"]


@pytest.mark.parametrize("second", [("b", 1), ("a", 2), ("", 1)])
def test_another_call_or_other_arguments_are_another_occurrence(second: tuple[str, int]) -> None:
    assert _hooks(_run(_asking("tool", ("a", 1), second))) == ["t[1]", "t[2]"]


def test_a_call_that_nothing_identifies_is_always_another_one() -> None:
    assert _hooks(_run(_asking("tool", ("", 1), ("", 1)))) == ["t[1]", "t[2]"]


def test_a_model_that_failed_is_tried_again_and_one_that_answered_is_asked_for_another_answer() -> None:
    answered = _run(_asking("model", ("a", 1), ("a", 1)))
    failed = _run(_asking("model", ("a", 1), ("a", 1), ("a", 1), fails=True))

    assert _hooks(answered) == ["m[1]", "m[2]"]
    assert failed.outcome.message == "1"
    assert _hooks(failed) == ["m[1]", "m[1.1]", "m[2]"]


def test_a_fault_at_an_attempt_is_not_one_at_the_call() -> None:
    system = _asking("tool", ("a", 1), ("a", 1), ("b", 1))
    retried = _run(system, "service:t[1.1] service.lost_response(when=before)")

    assert [step.failure is None for step in retried.steps] == [True, False, True]

"""How runs of pydantic-ai go on: streams that break off, retries, and checkpoints."""

# ruff: noqa: E402  # nothing of it can be imported where the framework is missing

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

pytestmark = [pytest.mark.pydantic_ai, pytest.mark.slow]
pytest.importorskip("pydantic_ai", reason="needs the extra pydantic-ai")

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from chaosagent.adapters.pydantic_ai import doors, through_doors
from chaosagent.adapters.pydantic_ai.given_doors import given_doors
from chaosagent.effects.rule import effect
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Ending, Outcome, SystemConfig, Task


async def _words(_: Any, __: AgentInfo) -> Any:
    for word in ("It ", "is ", "on ", "its ", "way."):
        yield word


def _decide(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Call the tool until it has answered."""
    parts = [part for message in messages for part in message.parts]
    answered = any(part.part_kind == "tool-return" and "paid" in str(part.content) for part in parts)
    return ModelResponse([TextPart("done") if answered else ToolCallPart("pay", {"order": "A"})])


def _executed(system: Target, schedule: str = "") -> Execution:
    experiment = Experiment(system, system.task("default"), SystemConfig(), seed=1)
    execution = execute(experiment, parse(schedule), fingerprinting=Fingerprinting.STATE)
    served = serve(experiment, execution.trace, parse(schedule))
    assert served.difference is None
    assert served.execution.trace.digest == execution.trace.digest
    return execution


def test_a_stream_tells_the_answer_that_crossed_and_a_broken_one_breaks_off() -> None:
    agent = Agent(FunctionModel(stream_function=_words, model_name="m"), name="clerk", capabilities=[doors])

    @target
    async def streaming(_: Task, run: Run) -> Outcome:
        with through_doors(run, [agent]):
            async with agent.run_stream("How is it?") as result:
                return Outcome("".join([part async for part in result.stream_text(delta=True)]), success=True)

    assert _executed(streaming).trace.outcome.message == "It is on its way."
    broken = _executed(streaming, "model:m[1]@clerk truncated_stream(share=0.75)")
    assert broken.trace.outcome.message == "It is"


def _asking(tools: Sequence[Any] = (), **options: Any) -> Agent[None, str]:
    return Agent(FunctionModel(_decide, model_name="m"), name="clerk", tools=tools, **options)


async def pay(order: str) -> str:
    """Pay an order back."""
    return f"paid {order}"


@pytest.mark.parametrize("at_run", [False, True])
def test_an_agent_of_somebody_else_crosses_doors_in_the_block_and_is_as_it_was_behind_it(at_run: bool) -> None:
    theirs, with_doors = _asking([pay]), _asking([pay], capabilities=[doors])
    options: dict[str, Any] = {"capabilities": [doors]} if at_run else {}

    def asking(agent: Agent[None, str], **options: Any) -> Target:
        @target
        async def asked(_: Task, run: Run) -> Outcome:
            with through_doors(run, [agent], effects={"pay": effect("order")}):
                return Outcome((await agent.run("Pay A", **options)).output, success=True)

        return asked

    trace = _executed(asking(theirs, **options)).trace

    assert [step.interface for step in trace.steps].count("service:pay") == 1
    assert trace.outcome.message == "done"
    assert trace.steps == _executed(asking(with_doors)).trace.steps
    assert "iter" not in vars(theirs)
    assert asyncio.run(theirs.run("Pay A")).output == "done"
    lost = _executed(asking(theirs), "service:pay[1]@clerk service.lost_response(when=after)").trace
    assert lost.ending is Ending.CRASHED


def test_blocks_that_overlap_keep_the_doors_until_the_last_one_ends() -> None:
    theirs, capability = _asking(), object()
    first, second = given_doors([theirs], capability), given_doors([theirs], capability)

    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)

    assert "iter" in vars(theirs)
    second.__exit__(None, None, None)
    assert "iter" not in vars(theirs)


def _paying(failures: int) -> Target:
    """Return a target whose tool asks for another try so often, and that says what the world is."""

    @target
    async def paying(_: Task, run: Run) -> Outcome:
        world = {"paid": 0, "tried": 0}

        async def pay(order: str) -> str:
            """Pay an order back."""
            world["tried"] += 1
            if world["tried"] <= failures:
                raise ModelRetry("not now")
            world["paid"] += 1
            return f"paid {order}"

        model = FunctionModel(_decide, model_name="m")
        agent = Agent(model, name="clerk", tools=[pay], retries=3, capabilities=[doors])
        with through_doors(run, [agent]) as said:
            said.take_checkpoints(lambda: dict(world))
            return Outcome(str((await agent.run("Pay A.")).output), success=True)

    return paying


def test_a_retry_of_a_tool_asks_the_model_and_is_another_call() -> None:
    trace = _executed(_paying(1)).trace
    crossed = [step.hook for step in trace.steps if not step.interface.startswith("tools:")]

    assert crossed == [
        "model:m[1]@clerk", "service:pay[1]@clerk", "model:m[2]@clerk", "service:pay[2]@clerk", "model:m[3]@clerk",
    ]  # fmt: skip


def test_there_is_a_checkpoint_before_each_request() -> None:
    undisturbed = _executed(_paying(0)).evaluation.fingerprints
    retried = _executed(_paying(1)).evaluation.fingerprints

    assert (len(undisturbed), len(retried)) == (2, 3)
    assert undisturbed[0].common == retried[0].common
    assert undisturbed[1].common not in [one.common for one in retried]

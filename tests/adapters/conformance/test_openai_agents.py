"""The adapter for the OpenAI Agents SDK passes the conformance suite."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from chaosagent.adapters.openai_agents import through_doors
from chaosagent.targets.target import Run
from chaosagent.testing.adapters import AdapterConformance
from chaosagent.testing.desk import WISH, Desk

pytestmark = [
    pytest.mark.openai_agents,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("agents") is None, reason="needs the extra openai-agents"),
]
if find_spec("agents") is not None:
    from agents import Agent, FunctionTool, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
    from agents.testing import assistant_message, function_call

    from chaosagent.adapters.openai_agents.errors import as_sdk_error

    set_tracing_disabled(True)  # outside of a study it is as it is configured


def _agent(desk: Desk) -> Any:
    class Scripted(Model):  # type: ignore[misc]  # untyped where the extra is missing
        model = "scripted"

        async def get_response(self, *, input: Any, **_: Any) -> Any:  # noqa: A002  # as the SDK calls it
            items = [] if isinstance(input, str) else [item for item in input if isinstance(item, dict)]
            kinds = [item.get("type") for item in items]
            # An answer is a run of calls, or a message.
            turn = sum(kind == "function_call" and (not n or kinds[n - 1] != kind) for n, kind in enumerate(kinds))
            outputs = [str(item["output"]) for item in items if item.get("type") == "function_call_output"]
            said = desk.answer(turn, outputs[-1] if outputs else "")
            calls = [function_call(name, dict(given), call_id=desk.draw_id()) for name, given in said.calls]
            return ModelResponse(output=calls or [assistant_message(said.text)], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    tools: list[FunctionTool] = [function_tool(one, strict_mode=False) for one in desk.tools]
    return Agent(name="clerk", model=Scripted(), tools=tools)


class TestOpenAiAgents(AdapterConformance):
    """An agent with three tools."""

    def build(self, desk: Desk) -> Any:
        return _agent(desk)

    def model_failure(self, error: Exception) -> Exception:
        return as_sdk_error(error)

    async def alone(self, agent: Any) -> str:
        return str((await Runner.run(agent, WISH, max_turns=1_000)).final_output)

    async def through_doors(self, agent: Any, run: Run, **options: Any) -> str:
        doors = through_doors(run, agent, **options)
        result = await Runner.run(doors.agent, WISH, run_config=doors.run_config, max_turns=1_000)
        return str(result.final_output)

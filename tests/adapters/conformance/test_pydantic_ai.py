"""The adapter for pydantic-ai passes the conformance suite."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from chaosagent.adapters.pydantic_ai import through_doors
from chaosagent.targets.target import Run
from chaosagent.testing.adapters import AdapterConformance
from chaosagent.testing.desk import WISH, Desk

pytestmark = [
    pytest.mark.pydantic_ai,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pydantic_ai") is None, reason="needs the extra pydantic-ai"),
]
if find_spec("pydantic_ai") is not None:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from chaosagent.adapters.pydantic_ai.errors import model_error


def _model(desk: Desk) -> Any:
    def policy(messages: Any, _: Any) -> Any:
        told = [part.model_response_str() for part in messages[-1].parts if part.part_kind == "tool-return"]
        said = desk.answer(sum(message.kind == "response" for message in messages), "; ".join(told))
        calls = [ToolCallPart(name, dict(given), tool_call_id=desk.draw_id()) for name, given in said.calls]
        return ModelResponse(parts=calls or [TextPart(said.text)])

    return FunctionModel(policy, model_name="scripted")


class TestPydanticAi(AdapterConformance):
    """An agent with three tools that somebody else has made; `tests/adapters` has those with doors of their own."""

    def build(self, desk: Desk) -> Any:
        return Agent(_model(desk), name="clerk", tools=desk.tools)

    def model_failure(self, error: Exception) -> Exception:
        return model_error(error, "scripted")

    async def alone(self, agent: Any) -> str:
        return str((await agent.run(WISH)).output)

    async def through_doors(self, agent: Any, run: Run, **options: Any) -> str:
        with through_doors(run, [agent], **options):
            return str((await agent.run(WISH)).output)

"""What `tools.missing` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.tools.missing import Missing
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary

TOOLS: Plain = [{"name": "refund", "description": "Pay back."}, {"name": "get_order"}]


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.TOOLS, Request("list", {}), Response(value)))


def test_missing_leaves_one_tool_out() -> None:
    assert play(Missing(index=2), _answered(TOOLS)).value == [{"name": "refund", "description": "Pay back."}]


def test_missing_finds_the_tools_of_an_mcp_answer() -> None:
    response = play(Missing(), _answered({"tools": TOOLS, "nextCursor": None}))

    assert response.value == {"tools": [{"name": "get_order"}], "nextCursor": None}


@pytest.mark.parametrize("answer", [None, [], "text", [{"title": "no name"}], {"tools": []}, TOOLS])
def test_missing_does_nothing_where_there_is_no_such_tool(answer: Plain) -> None:
    assert play(Missing(index=3), _answered(answer)) == Response(answer)


def test_missing_sees_tools_as_openai_has_them() -> None:
    tools: Plain = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("refund", "order")]

    assert play(Missing(index=1), _answered({"tools": tools})).value == {
        "tools": [{"type": "function", "function": {"name": "order", "parameters": {}}}]
    }

"""What `model.wrong_tool` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.model.wrong_tool import WrongTool
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain, **arguments: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.MODEL, Request("complete", arguments), Response(value)))


PAY: dict[str, Plain] = {"id": "c-1", "name": "pay", "arguments": {"amount": 5}}


@pytest.mark.parametrize(
    "tools",
    [
        ["pay", "cancel", "cancel", "mail"],
        [{"name": "cancel"}, {"name": "pay"}, {"name": "mail"}],
        [{"type": "function", "function": {"name": "cancel"}}, None, {"function": {"name": "mail"}}],
    ],
)
@pytest.mark.parametrize(("index", "name"), [(1, "cancel"), (2, "mail"), (3, "look_up"), (4, "pay")])
def test_the_first_call_goes_to_another_tool_of_the_request_or_the_answer(tools: Plain, index: int, name: str) -> None:
    rest: Plain = {"name": "look_up", "arguments": {}}

    response = play(WrongTool(index=index), _answered({"content": "", "tool_calls": [PAY, rest]}, tools=tools))

    assert response == Response({"content": "", "tool_calls": [{**PAY, "name": name}, rest]})


@pytest.mark.parametrize(
    "answer", [None, "text", {"tool_calls": []}, {"tool_calls": [None]}, {"tool_calls": [{"name": "pay"}]}]
)
def test_wrong_tool_leaves_other_answers_alone(answer: Plain) -> None:
    assert play(WrongTool(), _answered(answer)) == Response(answer)

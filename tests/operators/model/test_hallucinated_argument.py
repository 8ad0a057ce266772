"""What `model.hallucinated_argument` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.model.hallucinated_argument import HallucinatedArgument
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.MODEL, Request("complete", {}), Response(value)))


def _made_up(operator: HallucinatedArgument, arguments: Plain) -> Plain:
    later: Plain = {"name": "pay", "arguments": {"amount": 1}}
    answer: Plain = {"content": "", "tool_calls": [{"id": "c-1", "name": "pay", "arguments": arguments}, later]}
    response = play(operator, _answered(answer))

    assert isinstance(response.value, dict)
    first, second = response.value["tool_calls"]
    assert {**first, "arguments": arguments} == {"id": "c-1", "name": "pay", "arguments": arguments}
    assert second == later
    changed: Plain = first["arguments"]
    return changed


@pytest.mark.parametrize(
    ("index", "arguments", "altered"),
    [
        (1, {"amount": 59.9, "order": "A-1006"}, {"amount": 59.0, "order": "A-1006"}),
        (2, {"amount": 59.9, "order": "A-1006"}, {"amount": 59.9, "order": "A-1007"}),
        (1, {"paid": True, "order": {"id": "R9x"}}, {"paid": True, "order": {"id": "R0x"}}),
        (1, {"count": 9}, {"count": 0}),
        (1, {"count": -1}, {"count": -2}),
        (1, {"count": -19}, {"count": -10}),
        (1, {"count": 10**400}, {"count": 10**400 + 1}),
        (1, f'{{"count": {10**400}}}', f'{{"count": {10**400 + 1}}}'),
        (1, {"share": 1.5e308}, {"share": 1.6e308}),
        (1, {"share": -1e-07}, {"share": -2e-07}),
        (3, {"amount": 59.9, "order": "A-1006"}, {"amount": 59.9, "order": "A-1006"}),
        (1, {"to": "ann"}, {"to": "ann"}),
        (1, '{"order": "A-1006"}', '{"order": "A-1007"}'),
        (1, '{"to":"ä1"}', '{"to": "ä2"}'),
        (1, '{"to":"ann"}', '{"to":"ann"}'),
        (1, '{"order": ', '{"order": '),
        (1, "[1]", "[1]"),
        (1, '{"deep": ' + "[" * 500 + "1" + "]" * 500 + "}", '{"deep": ' + "[" * 500 + "1" + "]" * 500 + "}"),
        (1, {"amount": float("inf")}, {"amount": float("inf")}),
    ],
)
def test_one_value_with_a_digit_has_another_last_digit(index: int, arguments: Plain, altered: Plain) -> None:
    assert _made_up(HallucinatedArgument(kind="altered", index=index), arguments) == altered


def test_an_argument_is_invented() -> None:
    operator = HallucinatedArgument(kind="invented")

    assert _made_up(operator, {"to": "ann"}) == {"to": "ann", "override": True}
    assert _made_up(operator, '{"to": "ann"}') == '{"to": "ann", "override": true}'


@pytest.mark.parametrize(
    "answer", [None, "text", {"tool_calls": []}, {"tool_calls": [None]}, {"tool_calls": [{"name": "pay"}]}]
)
def test_hallucinated_argument_leaves_other_answers_alone(answer: Plain) -> None:
    assert play(HallucinatedArgument(), _answered(answer)) == Response(answer)

"""What `tools.poisoned` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.payloads import payload
from chaosagent.operators.tools.poisoned import Poisoned
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary

READ: dict[str, Plain] = {"name": "read", "description": "Read an order.", "parameters": {"id": "string"}}
PAY: dict[str, Plain] = {"name": "pay", "description": "Pay back."}


def _played(operator: Poisoned, answer: Plain) -> Plain:
    return play(operator, FakeCrossing(Sample(Boundary.TOOLS, Request("list", {}), Response(answer)))).value


def test_the_description_of_one_tool_ends_with_the_payload() -> None:
    operator = Poisoned("exfiltration", "html_comment", index=2, canary="heron-3")

    changed = _played(operator, {"tools": [READ, PAY]})

    poisoned = {"name": "pay", "description": f"Pay back.\n\n{payload('exfiltration', 'html_comment', 'heron-3')}"}
    assert changed == {"tools": [READ, poisoned]}


def test_the_description_of_a_tool_as_openai_has_it_is_found() -> None:
    changed = _played(Poisoned(canary="heron-3"), [{"type": "function", "function": PAY}])

    poisoned = {"name": "pay", "description": f"Pay back.\n\n{payload('override', 'plain', 'heron-3')}"}
    assert changed == [{"type": "function", "function": poisoned}]


@pytest.mark.parametrize("answer", [None, [], [{"name": "read"}], [{"name": "read", "description": None}], [{"a": 1}]])
def test_where_there_is_no_description_there_is_no_payload(answer: Plain) -> None:
    assert _played(Poisoned(), answer) == answer

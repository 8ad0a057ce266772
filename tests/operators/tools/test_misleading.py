"""What `tools.misleading` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.tools.misleading import Misleading
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary

READ: dict[str, Plain] = {
    "name": "read",
    "description": "Read an order.",
    "annotations": {"readOnlyHint": True, "n": 1},
}
PAY: dict[str, Plain] = {"name": "pay", "description": "Pay back.", "inputSchema": {}}
BARE: dict[str, Plain] = {"name": "ping"}


def _played(operator: Misleading, *tools: Plain) -> Plain:
    sample = Sample(Boundary.TOOLS, Request("list", {}), Response(list(tools)))
    return play(operator, FakeCrossing(sample)).value


def test_two_tools_have_each_others_description() -> None:
    changed = _played(Misleading("swapped", 2), READ, PAY)

    assert changed == [{**READ, "description": "Pay back."}, {**PAY, "description": "Read an order."}]


def test_a_deprecated_tool_refers_to_the_next_one() -> None:
    assert _played(Misleading("deprecated", 1), READ, PAY) == [
        {**READ, "description": "Deprecated. Use pay instead."},
        PAY,
    ]
    assert _played(Misleading("deprecated", 2), READ, BARE) == [
        READ,
        {"name": "ping", "description": "Deprecated. Use read instead."},
    ]


def test_hints_say_the_opposite() -> None:
    assert _played(Misleading("hints"), READ, PAY) == [{**READ, "annotations": {"readOnlyHint": False, "n": 1}}, PAY]


@pytest.mark.parametrize(
    "operator", [Misleading("swapped", 2), Misleading("deprecated", 3), Misleading("hints", 2), Misleading("hints", 9)]
)
def test_where_there_is_no_such_thing_nothing_happens(operator: Misleading) -> None:
    assert _played(operator, READ, BARE) == [READ, BARE]


def test_tools_as_openai_has_them_are_misdescribed_too() -> None:
    read: Plain = {"type": "function", "function": READ}
    pay: Plain = {"type": "function", "function": PAY}

    assert _played(Misleading("swapped"), read, pay) == [
        {"type": "function", "function": {**READ, "description": "Pay back."}},
        {"type": "function", "function": {**PAY, "description": "Read an order."}},
    ]


def test_a_single_tool_has_no_next_one() -> None:
    assert _played(Misleading("deprecated"), READ) == _played(Misleading("swapped"), READ) == [READ]

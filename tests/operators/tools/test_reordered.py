"""What `tools.reordered` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.tools.reordered import Reordered
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _played(kind: str, answer: Plain) -> Plain:
    return play(Reordered(kind), FakeCrossing(Sample(Boundary.TOOLS, Request("list", {}), Response(answer)))).value


@pytest.mark.parametrize(("kind", "names"), [("rotated", "bca"), ("reversed", "cba")])
def test_the_tools_come_in_another_order(kind: str, names: str) -> None:
    tools: Plain = [{"name": "a", "description": "A."}, {"name": "b"}, {"name": "c"}]

    changed = _played(kind, {"tools": tools, "nextCursor": None})

    by_name = {"a": {"name": "a", "description": "A."}, "b": {"name": "b"}, "c": {"name": "c"}}
    assert changed == {"tools": [by_name[name] for name in names], "nextCursor": None}


@pytest.mark.parametrize("answer", [None, [], [{"name": "a"}], "text"])
def test_what_has_no_other_order_stays(answer: Plain) -> None:
    assert _played("reversed", answer) == answer


def test_tools_as_openai_has_them_keep_what_is_around_them() -> None:
    read: Plain = {"type": "function", "function": {"name": "read"}, "cache": True}
    pay: Plain = {"type": "function", "function": {"name": "pay"}}

    assert _played("reversed", [read, pay, {"name": "flat"}]) == [{"name": "flat"}, pay, read]
    assert _played("rotated", {"tools": [read, pay]}) == {"tools": [pay, read]}


@pytest.mark.parametrize(
    "answer",
    [
        [{"type": "function", "function": {"name": "a"}}, {"type": "web_search"}],
        [{"type": "function", "function": {"name": "a"}, "n": number} for number in (1, 2)],
        [{"function": "a"}, {"function": "b"}],
    ],
)
def test_what_is_no_list_of_tools_as_openai_has_them_stays(answer: Plain) -> None:
    assert _played("reversed", answer) == answer

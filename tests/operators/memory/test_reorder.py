"""What `memory.reorder` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.memory.reorder import Reorder
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _played(kind: str, answer: Plain) -> Plain:
    request = Request("read", {"key": "notes"})
    return play(Reorder(kind), FakeCrossing(Sample(Boundary.MEMORY, request, Response(answer)))).value


@pytest.mark.parametrize(("kind", "items"), [("rotated", [2, 3, 1]), ("reversed", [3, 2, 1])])
def test_the_items_come_in_another_order(kind: str, items: Plain) -> None:
    assert _played(kind, [1, 2, 3]) == items


@pytest.mark.parametrize("kind", ["rotated", "reversed"])
@pytest.mark.parametrize("answer", [None, [], ["one"], "text", {"b": 1, "a": 2}])
def test_what_has_no_order_stays(kind: str, answer: Plain) -> None:
    assert _played(kind, answer) == answer

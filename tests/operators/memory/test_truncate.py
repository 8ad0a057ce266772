"""What `memory.truncate` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.memory.truncate import Truncate
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _played(operator: Truncate, answer: Plain, operation: str = "read") -> Plain:
    request = Request(operation, {"key": "notes"})
    return play(operator, FakeCrossing(Sample(Boundary.MEMORY, request, Response(answer)))).value


@pytest.mark.parametrize(
    ("operator", "before", "after"),
    [
        (Truncate("oldest", 0.5), [1, 2, 3, 4], [3, 4]),
        (Truncate("newest", 0.5), [1, 2, 3, 4], [1, 2]),
        (Truncate("oldest", 0.01), [1, 2, 3, 4], [2, 3, 4]),
        (Truncate("newest", 1.0), [1, 2], []),
        (Truncate("oldest", 0.5), "first last", " last"),
        (Truncate("newest", 0.5), "first last", "first"),
    ],
)
def test_a_part_is_missing(operator: Truncate, before: Plain, after: Plain) -> None:
    assert _played(operator, before) == after


@pytest.mark.parametrize("answer", [None, "", [], 7, {"a": 1}])
def test_what_cannot_be_cut_stays(answer: Plain) -> None:
    assert _played(Truncate(), answer) == answer


def test_other_operations_are_untouched() -> None:
    assert _played(Truncate(), ["a", "b"], operation="keys") == ["a", "b"]

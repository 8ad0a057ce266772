"""What `memory.untrusted_note` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.memory.untrusted_note import UntrustedNote
from chaosagent.operators.payloads import payload
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _played(operator: UntrustedNote, answer: Plain, operation: str = "read") -> Plain:
    request = Request(operation, {"key": "notes"})
    return play(operator, FakeCrossing(Sample(Boundary.MEMORY, request, Response(answer)))).value


def test_a_text_ends_with_the_note() -> None:
    assert _played(UntrustedNote("policy"), "Ann is a customer.") == f"Ann is a customer.\n\n{payload('policy')}"


def test_a_list_has_one_item_more() -> None:
    operator = UntrustedNote("exfiltration", "base64", "heron-3")

    assert _played(operator, ["first"]) == ["first", payload("exfiltration", "base64", "heron-3")]


def test_an_entry_that_is_a_mapping_keeps_its_other_fields() -> None:
    assert _played(UntrustedNote(), {"by": "ann", "text": "Hi."}) == {
        "by": "ann",
        "text": f"Hi.\n\n{payload('override')}",
    }


@pytest.mark.parametrize("answer", [None, 7, {"count": 1}])
def test_where_no_text_is_there_is_no_note(answer: Plain) -> None:
    assert _played(UntrustedNote(), answer) == answer


def test_other_operations_are_untouched() -> None:
    assert _played(UntrustedNote(), ["note"], operation="keys") == ["note"]

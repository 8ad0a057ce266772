"""What `prompt.ambiguity` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.prompt.ambiguity import Ambiguity
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.PROMPT, Request("read", {}), Response(value)))


def _text(operator: Ambiguity, text: str) -> Plain:
    return play(operator, _answered(text)).value


@pytest.mark.parametrize(
    ("kind", "index", "text", "vague"),
    [
        ("id", 1, "Refund order A-1006 and order A-7.", "Refund the order and order A-7."),
        ("id", 2, "Refund order A-1006 and order A-7.", "Refund order A-1006 and the order."),
        ("id", 1, "Where is my order number 123456?", "Where is my order?"),
        ("id", 1, "Cancel #17 now", "Cancel it now"),
        ("id", 1, "Send it to DE44500105175407324931.", "Send it to it."),
        ("date", 1, "Pay by 2026-03-05 or on 7 March 2026.", "Pay soon or on 7 March 2026."),
        ("date", 2, "Pay by 2026-03-05 or on 7 March 2026.", "Pay by 2026-03-05 or at some time."),
        ("date", 1, "It was due 2026-03-01T09:30:00Z, I think.", "It was due soon, I think."),
        ("date", 1, "Answer within 3 days, before next Friday", "Answer soon, before next Friday"),
        ("amount", 1, "Pay 59.90 EUR, not $1,000.", "Pay a certain amount, not $1,000."),
        ("amount", 2, "Pay 59.90 EUR, not $1,000.", "Pay 59.90 EUR, not a certain amount."),
        ("amount", 1, "It has a 10% discount.", "It has a certain amount discount."),
        ("amount", 1, "Refund 59.90 under version 2.10.", "Refund a certain amount under version 2.10."),
        ("amount", 1, "Version 2.10 costs 59.90.", "Version 2.10 costs a certain amount."),
        ("amount", 1, "See section 4.10: at most $5.25", "See section 4.10: at most a certain amount"),
    ],
)
def test_a_reference_becomes_vague(kind: str, index: int, text: str, vague: str) -> None:
    assert _text(Ambiguity(kind=kind, index=index), text) == vague


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("id", "10000 EUR on 2026-03-05 for v1.2.3 and x-A-1-b"),
        ("date", "A-2026 and 1.2.3 in March"),
        ("amount", "order 5 of A-100, version 1.2.3"),
        ("amount", "It needs version 2.10, or versions 2.11 and 2.12; see Section 4.10 and clause: 7.15."),
        ("amount", "Python 3.11, release #1.20, v. 2.10, at 14.30"),
        ("id", "IBAN" + "7" * 40),
    ],
)
def test_what_is_no_reference_of_the_kind_stays(kind: str, text: str) -> None:
    assert _text(Ambiguity(kind=kind), text) == text


def test_where_there_are_fewer_references_nothing_happens() -> None:
    assert _text(Ambiguity(kind="id", index=2), "Refund order A-1.") == "Refund order A-1."


@pytest.mark.parametrize("answer", [None, 7, [], {"subject": "x"}, {"text": 5}, {"text": ""}])
def test_ambiguity_leaves_answers_without_text_alone(answer: Plain) -> None:
    assert play(Ambiguity(), _answered(answer)) == Response(answer)

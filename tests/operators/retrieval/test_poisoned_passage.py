"""What `retrieval.poisoned_passage` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.payloads import payload
from chaosagent.operators.retrieval.poisoned_passage import PoisonedPassage
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary

BEST: dict[str, Plain] = {"id": "kb-1", "text": "Within 30 days.", "score": 2.0}
NEXT: dict[str, Plain] = {"id": "kb-2", "text": "Closed on Sundays.", "score": 1.0}


def _played(operator: PoisonedPassage, answer: Plain) -> Plain:
    request = Request("search", {"query": "refunds"})
    return play(operator, FakeCrossing(Sample(Boundary.RETRIEVAL, request, Response(answer)))).value


@pytest.mark.parametrize("goal", ["override", "tool_result", "exfiltration", "policy"])
def test_the_best_passage_ends_with_the_payload(goal: str) -> None:
    changed = _played(PoisonedPassage(goal, canary="heron-3"), [BEST, NEXT])

    text = f"Within 30 days.\n\n{payload(goal, canary='heron-3')}"
    assert changed == [{**BEST, "text": text}, NEXT]
    assert "heron-3" in text


def test_a_passage_of_the_attackers_own_comes_first() -> None:
    operator = PoisonedPassage("policy", "html_comment", place="own")

    changed = _played(operator, {"passages": [BEST, NEXT]})

    poison = {"id": "kb-1-copy", "text": payload("policy", "html_comment"), "score": 2.0}
    assert changed == {"passages": [poison, BEST, NEXT]}


@pytest.mark.parametrize("answer", [None, [], "text", [{"body": "no text"}]])
def test_where_there_is_no_passage_there_is_no_payload(answer: Plain) -> None:
    assert _played(PoisonedPassage(), answer) == answer


def test_the_payload_is_counted_in_tokens() -> None:
    short, long = PoisonedPassage("override"), PoisonedPassage("override", "base64")

    assert short.tokens == -(-len(payload("override")) // 4)
    assert short.tokens < long.tokens

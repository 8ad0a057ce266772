"""What `prompt.synonym` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.prompt.synonym import Synonym
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.PROMPT, Request("read", {}), Response(value)))


def _text(operator: Synonym, text: str) -> Plain:
    return play(operator, _answered(text)).value


def test_words_are_replaced_from_left_to_right_while_tokens_are_left() -> None:
    text = "Send the invoice to the customer."

    assert _text(Synonym(tokens_max=1), text) == text
    assert _text(Synonym(tokens_max=5), text) == "Transmit the bill to the customer."
    assert _text(Synonym(tokens_max=16), text) == "Transmit the bill to the client."


def test_synonym_changes_the_text_in_a_mapping_and_nothing_beside_it() -> None:
    mail: dict[str, Plain] = {"from": "the customer", "body": "The customer asks.", "content": "The customer"}

    assert play(Synonym(), _answered(mail)) == Response({**mail, "body": "The client asks."})


@pytest.mark.parametrize("answer", [None, 7, [], {"subject": "x"}, {"text": 5}, {"text": ""}])
def test_synonym_leaves_answers_without_text_alone(answer: Plain) -> None:
    assert play(Synonym(), _answered(answer)) == Response(answer)

"""What `model.confabulated_success` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.model.confabulated_success import ConfabulatedSuccess
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.MODEL, Request("complete", {}), Response(value)))


def test_the_model_claims_what_it_was_about_to_do_and_does_not_do_it() -> None:
    calls: Plain = [None, {"name": "refund_order", "arguments": {}}, {"name": "mail"}]

    response = play(ConfabulatedSuccess(), _answered({"content": "", "tool_calls": calls, "model": "m"}))

    assert response == Response({"content": "Done: refund order was successful.", "tool_calls": [], "model": "m"})


@pytest.mark.parametrize("answer", [{"content": "I cannot.", "tool_calls": []}, {"content": "", "tool_calls": "none"}])
def test_without_a_call_the_claim_is_a_general_one(answer: dict[str, Plain]) -> None:
    response = play(ConfabulatedSuccess(), _answered(answer))

    assert response == Response({"content": "Done: everything was successful.", "tool_calls": []})


def test_a_model_that_answers_text_claims_in_text() -> None:
    assert play(ConfabulatedSuccess(), _answered("I cannot.")) == Response("Done: everything was successful.")


@pytest.mark.parametrize("answer", [None, 7, {"embedding": [1.0]}])
def test_confabulated_success_leaves_other_answers_alone(answer: Plain) -> None:
    assert play(ConfabulatedSuccess(), _answered(answer)) == Response(answer)

"""Answers that look like errors, and the rule that is offered for each."""

from __future__ import annotations

import pytest
import yaml

from chaosagent.canonical import Plain
from chaosagent.effects.condition import condition_from
from chaosagent.effects.suspect import SuspectAnswer, looks_like_error, suspect, suspects_in_words

ERRORS: list[Plain] = [
    "Error: no such order",
    "ValueError: no",
    "Traceback (most recent call last)",
    "failed to book",
    "[ERROR] gone",
    {"error": "gone"},
    {"errors": ["a"]},
    {"ok": False},
    {"success": False},
    {"isError": True, "content": []},
    {"status": "Failed"},
    {"exit_code": 1},
    '{"status": "error"}',
    [{"type": "text", "text": "Error: no"}],
]


@pytest.mark.parametrize("answer", ERRORS)
def test_an_error_is_told_and_the_rule_that_is_offered_matches_it(answer: Plain) -> None:
    found = suspect("service:shop pay", answer)

    assert found is not None
    assert condition_from(yaml.safe_load(found.rule), "offered").why({}, answer)


@pytest.mark.parametrize(
    "answer", ["booked", "no errors", "", None, 7, {"error": None}, {"status": "ok"}, {"exit_code": 0}, [], ["a"], True]
)
def test_other_answers_are_left_alone(answer: Plain) -> None:
    assert not looks_like_error(answer)


def test_each_call_is_named_once_with_its_remedy() -> None:
    found = [SuspectAnswer("service:refund call", "Error: a", "'^Error'")] * 2
    found.append(SuspectAnswer("service:shop pay", "Error: b", "'^Error'"))

    assert suspects_in_words(found) == (
        "service:refund call answered 'Error: a' (`failed_when: {refund: '^Error'}`); "
        "service:shop pay answered 'Error: b' (`failed_when: {pay: '^Error'}`)"
    )

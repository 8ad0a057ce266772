"""What runs differ in says what most often makes it differ, whichever values were drawn."""

from __future__ import annotations

import random

import pytest

from chaosagent.study.likely_cause import likely_cause
from chaosagent.trace.diff import Difference


def _cause(expected: str, got: str) -> str:
    return likely_cause(Difference(0, "arguments", f"{{'v': {expected}}}", f"{{'v': {got}}}", "service:s[1]"))


def test_a_random_number_is_named_however_many_digits_it_has() -> None:
    rng = random.Random(3)

    def drawn() -> str:
        return str(rng.uniform(0.1, 1) / 10 ** rng.randrange(7))

    assert {_cause(drawn(), drawn())[:15] for _ in range(500)} == {"a generated id "}


@pytest.mark.parametrize(
    ("expected", "got", "cause"),
    [
        ("['a', 'b']", "['b', 'a']", "the order of a set"),
        ("'2026-01-01'", "'2026-01-02'", "the wall clock"),
        ("1", "2", "a random number"),
        ("0.25", "0.5", "a random number"),
    ],
)
def test_other_values_have_other_causes(expected: str, got: str, cause: str) -> None:
    assert _cause(expected, got).startswith(cause)

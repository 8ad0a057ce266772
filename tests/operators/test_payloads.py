"""What an attacker writes: every goal in every encoding, with its canary, within bounds."""

from __future__ import annotations

import base64
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.operators.payloads import CANARIES, CHARACTERS_MAX, ENCODINGS, GOALS, payload

ALL = list(itertools.product(map(str, GOALS.levels), map(str, ENCODINGS.words)))


def _read(text: str) -> str:
    """Undo what can be undone of an encoding."""
    if text.startswith("Decode this"):
        return base64.b64decode(text.rpartition(" ")[2]).decode()
    return text.replace("\N{ZERO WIDTH SPACE}", "")


@pytest.mark.parametrize(("goal", "encoding"), ALL)
def test_a_payload_has_its_canary_in_it(goal: str, encoding: str) -> None:
    text = payload(goal, encoding, "merle-12")

    assert "merle-12" in _read(text)
    assert "{canary}" not in _read(text)
    assert ("merle-12" in text) == (encoding not in {"base64", "zero_width"})


@pytest.mark.parametrize("goal", GOALS.levels)
def test_an_encoding_says_the_same(goal: str) -> None:
    plain = payload(goal)

    assert payload(goal, "html_comment") == f"<!-- {plain} -->"
    assert _read(payload(goal, "base64")) == _read(payload(goal, "zero_width")) == plain
    assert payload(goal, "other_language") != plain


def test_no_two_payloads_are_the_same() -> None:
    assert len({payload(goal, encoding) for goal, encoding in ALL}) == len(ALL)


@given(st.sampled_from(ALL), st.text(st.characters(codec=None), max_size=CANARIES.characters_max))
def test_a_payload_is_bounded_and_one_paragraph_for_any_canary(which: tuple[str, str], canary: str) -> None:
    goal, encoding = which

    assert 0 < len(payload(goal, encoding, canary)) <= CHARACTERS_MAX
    assert "\n" not in payload(goal, encoding)

"""Patterns of strangers: limited in length and in size, matched in linear time."""

from __future__ import annotations

import pytest

from chaosagent.effects.linear_pattern import PATTERN_MAX, SIZE_MAX, linear_pattern
from chaosagent.errors import UsageError

REMEDY = "Write a function."


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"sk-[A-Za-z0-9]{20,}", "key sk-" + "a1" * 10, True),
        (r"\b\d{16}\b", "4111111111111111", True),
        (r"(?i)SECRET|token$", "a Token", True),
        ("token$", "a token\n", True),
        ("token$", "a token\n\n", False),
        (r"token\z", "a token\n", False),
        (r"[{}]{3}", "{}", False),
        ("\\{{2}", "{{", True),
        ("[)(]{2}(ab){2}", "()abab", True),
    ],
)
def test_it_matches_somewhere_in_a_text(pattern: str, text: str, *, matches: bool) -> None:
    assert linear_pattern(pattern, "here", REMEDY).matches(text) is matches


@pytest.mark.parametrize(
    "pattern", ["(a{0,300}){0,300}b", "((a{100}){100}){100}", "(?:[ab]{50}c){30}", "a{1001}", "a{,1001}", "a{1001,}"]
)
def test_repetitions_that_would_take_minutes_are_refused_before_the_engine_writes_them_out(pattern: str) -> None:
    with pytest.raises(UsageError, match=rf"here: the pattern .* written out; at most {SIZE_MAX:,} are allowed"):
        linear_pattern(pattern, "here", REMEDY)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("", "has 0 characters; give 1 to"),
        ("a" * (PATTERN_MAX + 1), f"has {PATTERN_MAX + 1} characters"),
        ("(", r"cannot be used: unclosed group\. .* Write a function\."),
        (")" * 3, "cannot be used"),
        ("\ud800", "cannot be used: .*surrogates not allowed"),
    ],
)
def test_what_is_no_pattern_is_refused_with_a_remedy(pattern: str, message: str) -> None:
    with pytest.raises(UsageError, match=rf"^here: the pattern .*{message}"):
        linear_pattern(pattern, "here", REMEDY)

"""Conditions on answers: what each form matches, and what is refused with its place and remedy."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.canonical import Plain
from chaosagent.effects.condition import condition_from, is_file_reference, is_reference
from chaosagent.errors import UsageError

SECONDS_MAX = 5.0
"""For what takes less than a millisecond in linear time, and years with backtracking."""


def matches(condition: object, answer: Any) -> bool:
    return bool(condition_from(condition, "here").why({"order": 7}, answer))


@pytest.mark.parametrize(
    ("condition", "answer", "expected"),
    [
        ("^Error", "Error: no such order", True),
        ("^Error", "No Error", False),
        ({"text": "(?i)^error"}, "ERROR", True),
        ("^Error", [{"type": "text", "text": "Error: no"}], True),
        ("^Error", {"content": [{"type": "text", "text": "Error: no"}], "isError": False}, True),
        ("^Error", {"type": "tool", "content": "Error: no"}, True),
        ("^Error", {"title": "Error: the film"}, False),
        ("^Error", {"status": 201, "headers": {}, "body": "Error: no"}, True),
        ('"ok": false', {"ok": False}, True),
        ("^Error", "Error \ud800", True),
        ("^Error", None, False),
        ({"json": "status", "is": "error"}, {"status": "error"}, True),
        ({"json": "status", "is": ["error", "failed"]}, {"status": "ok"}, False),
        ({"json": "result.items[1].ok", "is": False}, {"result": {"items": [{"ok": True}, {"ok": False}]}}, True),
        ({"json": "ok", "is": False}, {"ok": 0}, False),
        ({"json": "ok", "is": 0}, {"ok": False}, False),
        ({"json": "error"}, {"error": "gone"}, True),
        ({"json": "error"}, {"error": None}, False),
        ({"json": "error"}, '{"error": "gone"}', True),
        ({"json": "error"}, {"status": 201, "headers": {}, "body": {"error": "gone"}}, True),
        ({"json": ["a.b"], "is": 1}, {"a.b": 1}, True),
        ({"json": "$", "is": "no"}, "no", True),
        ({"json": "a[5]"}, {"a": [1]}, False),
        ({"exit_code": "nonzero"}, {"exit_code": 1, "stdout": ""}, True),
        ({"exit_code": "nonzero"}, {"returncode": 0}, False),
        ({"exit_code": [2, 3]}, {"returncode": 3}, True),
        ({"exit_code": 2}, {"returncode": True}, False),
        (["^Error", {"json": "error"}], {"error": 1}, True),
        ([], "Error", False),
        (lambda arguments, answer: arguments["order"] == answer, 7, True),
    ],
)  # fmt: skip
def test_a_condition_matches_what_it_says(condition: object, answer: object, *, expected: bool) -> None:
    assert matches(condition, answer) is expected


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_pattern_that_makes_other_engines_backtrack_forever_ends_at_once(pattern: str) -> None:
    begun = time.perf_counter()

    matches(pattern, "a" * 50_000 + "!")

    assert time.perf_counter() - begun < SECONDS_MAX


@given(st.text(max_size=20), st.recursive(st.none() | st.booleans() | st.text(), st.lists, max_leaves=5))
def test_any_text_is_a_pattern_or_is_refused_by_name(pattern: str, answer: Plain) -> None:
    refusal = ""
    try:
        condition_from(pattern, "study.yaml:3: failed_when").why({}, answer)
    except UsageError as error:
        refusal = str(error)

    assert not refusal or refusal.startswith("study.yaml:3: failed_when: the pattern")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("(", "the pattern '\\(' cannot be used: unclosed group"),
        ("(?=a)", "look-around"),
        ("a{1000}{1000}{100}", "with its repetitions written out"),
        ("a" * 1001, "has 1001 characters; give 1 to 1000"),
        ("", "has 0 characters"),
        (7, "7 is no condition. Write a pattern"),
        ({"jsn": "status"}, "is no condition. Write a pattern"),
        ({"json": 7}, "json is 7; write a path"),
        ({"json": "a..b"}, "which is no path"),
        ({"json": "a[x]"}, "which is no path"),
        ({"exit_code": "one"}, "exit_code is 'one'; it must be 'nonzero'"),
        ({"exit_code": True}, "exit_code is True"),
        ({"function": 7}, "7 is, not a function"),
    ],
)
def test_what_is_no_condition_is_refused(given: object, message: str) -> None:
    with pytest.raises(UsageError, match=f"^here: .*{message}"):
        condition_from(given, "here")


def test_a_function_that_returns_nothing_is_an_error_and_no_answer() -> None:
    def forgotten(arguments: Mapping[str, Plain], answer: Plain) -> bool:  # type: ignore[empty-body]  # the mistake
        ...

    with pytest.raises(TypeError, match="forgotten returned None; return True"):
        condition_from(forgotten, "here").why({}, "x")


def test_equal_conditions_are_equal() -> None:
    assert condition_from(["^a", {"json": "b", "is": 1}], "x") == condition_from(["^a", {"json": "b", "is": 1}], "y")


@pytest.mark.parametrize(
    ("text", "reference", "file"),
    [
        ("eff.py:book", True, True),
        ("shop/eff.py:Book.call", True, True),
        ("shop.eff:book", True, False),
        ("eff:book", True, False),
        ("order", False, False),
        ("Error: no", False, False),
        ("^Error", False, False),
        ("a:b:c", False, False),
    ],
)
def test_a_reference_is_told_by_its_look(text: str, *, reference: bool, file: bool) -> None:
    assert (is_reference(text), is_file_reference(text)) == (reference, file)

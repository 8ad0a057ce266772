"""Calls of tools as plain data and back."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chaosagent.adapters.core.calls import arguments_text, calls_of, next_ids, parsed_arguments

plain_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), plain_values, max_size=4))
def test_arguments_are_the_same_after_being_written_and_parsed(arguments: dict[str, Any]) -> None:
    assert parsed_arguments(arguments_text(arguments)) == arguments


@given(st.text(max_size=20))
def test_what_is_no_object_of_json_stays_the_text_that_it_is(text: str) -> None:
    try:
        is_object = isinstance(json.loads(text), dict)
    except ValueError:
        is_object = False

    parsed = parsed_arguments(text)

    if text and not is_object:
        assert parsed == text
        assert arguments_text(parsed) == text
    else:
        assert isinstance(parsed, dict)


@given(st.sets(st.sampled_from([f"call-{number}" for number in range(1, 9)]) | st.text(max_size=3)), st.integers(0, 5))
def test_no_id_is_given_twice_in_a_conversation(taken: set[str], count: int) -> None:
    found = next_ids(taken, count)

    assert len(set(found)) == count
    assert taken.isdisjoint(found)


def test_what_is_no_call_is_left_out() -> None:
    assert calls_of({"tool_calls": [{"name": "a"}, "b", None]}) == [{"name": "a"}]
    assert calls_of({"tool_calls": "a"}) == calls_of({}) == []

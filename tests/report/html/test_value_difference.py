"""Two values that differ have a difference that shows it, however long they are; equal ones have none."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from chaosagent.canonical import Plain
from chaosagent.report.html.value_difference import MISSING, PATHS_MAX, VALUE_MAX, differences_between

leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=200)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


@given(values, values)
@example([False], [0])
@example("[1]", "[ 1]")
def test_there_is_a_difference_exactly_where_values_differ(here: Plain, there: Plain) -> None:
    found = differences_between(here, there, "request")

    assert differences_between(here, here, "request") == []
    assert bool(found) == (json.dumps(here, sort_keys=True) != json.dumps(there, sort_keys=True))
    assert len(found) <= PATHS_MAX
    assert all(len(one.here) <= VALUE_MAX + 40 for one in found)


def test_json_in_texts_is_looked_into_and_long_texts_are_cut_around_the_difference() -> None:
    here: Plain = {"messages": [json.dumps({"key": None, "order": "A"}), "x" * 500 + "left" + "y" * 500]}
    there: Plain = {"messages": [json.dumps({"key": "idem", "order": "A"}), "x" * 500 + "right" + "y" * 500]}

    first, second = differences_between(here, there, "request")

    assert first == ("request.messages[0].key", "null", '"idem"')
    assert second.path == "request.messages[1]"
    assert "left" in second.here
    assert "right" in second.there


def test_a_key_that_only_one_side_has_is_named() -> None:
    assert differences_between({"a": 1}, {}, "answer") == [("answer.a", "1", MISSING)]

"""What nests too deeply is refused, and everything else parsed as it is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.canonical import plain
from chaosagent.proxy.parse_json import JSON_DEPTH_MAX, TooDeepError, parse_json

_atoms = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
DATA = st.recursive(_atoms, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(DATA)
def test_flat_data_are_parsed_as_they_are(data: object) -> None:
    assert parse_json(json.dumps(data)) == data


@given(st.integers(JSON_DEPTH_MAX + 1, 3_000), st.sampled_from([("[", "]"), ('{"a": ', "}")]))
def test_data_below_the_limit_are_refused_and_at_the_limit_taken(levels: int, pair: tuple[str, str]) -> None:
    begin, end = pair
    assert plain(parse_json(begin * JSON_DEPTH_MAX + "1" + end * JSON_DEPTH_MAX))
    with pytest.raises(TooDeepError, match=f"nests deeper than {JSON_DEPTH_MAX} levels"):
        parse_json(begin * levels + "1" + end * levels)


@pytest.mark.parametrize("text", ["{oops", "", "9" * 5_000, b"\xff"])
def test_what_is_not_json_is_no_matter_of_depth(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"Expecting|number of thousands of digits|can't decode") as raised:
        parse_json(text)
    assert not isinstance(raised.value, TooDeepError)

"""Results of MCP servers cross as plain data and come back as they were."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.adapters.mcp import answers
from chaosagent.canonical import plain

pytestmark = [pytest.mark.mcp, pytest.mark.skipif(find_spec("mcp") is None, reason="needs the extra mcp")]

NAMES = st.sampled_from(["amount", "json", "mcp", "compact", "result", "text", "a b", "é"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
MAPPINGS = st.dictionaries(NAMES, VALUES, max_size=3)
WRITERS: st.SearchStrategy[Callable[[Any], str]] = st.sampled_from([
    json.dumps, lambda value: json.dumps(value, indent=2, ensure_ascii=False),
    lambda value: json.dumps(value, indent=4),
    lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False),
])  # fmt: skip


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


BLOCKS = st.builds(text, st.text(max_size=8)) | st.just({"type": "image", "data": "aGk=", "mimeType": "image/png"})
RESULTS = (
    st.builds(lambda one, write: {"content": [text(write(one))], "structuredContent": one}, MAPPINGS, WRITERS)
    | st.builds(lambda one, write: {"content": [text(write(one))]}, VALUES, WRITERS)
    | st.builds(lambda one: {"content": [text(one)], "structuredContent": {"result": one}}, st.text(max_size=8))
    | st.builds(lambda blocks, one: {"content": blocks, "structuredContent": one}, st.lists(BLOCKS), MAPPINGS)
    | st.builds(lambda blocks: {"content": blocks, "_meta": {"trace": 1}}, st.lists(BLOCKS, max_size=3))
)


def in_order(result: Any) -> Any:
    """Return a result with keys in order, in the JSON of its texts, too: what crosses has no other order."""
    blocks = []
    for block in result["content"]:
        try:
            made = json.loads(block.get("text", ""))
        except ValueError:
            made = None
        blocks.append([block, made] if not isinstance(made, dict | list) else [block["type"], len(block["text"]), made])
    return plain({**result, "content": blocks})


@given(RESULTS, st.booleans())
def test_a_result_comes_back_as_it_was(result: dict[str, Any], is_error: bool) -> None:
    result = {**result, "isError": is_error}
    said = answers.failure_in(result)

    made = answers.failed_result(said) if said is not None else answers.result_of(plain(answers.crossing_value(result)))

    assert in_order(made) == in_order(result)


@pytest.mark.parametrize(
    ("result", "crosses"),
    [
        ({"content": [text('{\n  "paid": 1\n}')], "structuredContent": {"paid": 1}}, {"paid": 1}),
        ({"content": [text("done")], "structuredContent": {"result": "done"}}, {"result": "done"}),
        ({"content": [text('{"paid":1}')], "structuredContent": {"paid": 1}}, {"compact": {"paid": 1}}),
        ({"content": [text('{"paid": 1, "order": "A"}')]}, {"spaced json": {"paid": 1, "order": "A"}}),
        ({"content": [text("done")]}, "done"),
        ({"content": [text("a"), text("b")]}, {"mcp": {"content": [text("a"), text("b")]}}),
    ],
)
def test_what_crosses_is_what_the_tool_means(result: dict[str, Any], crosses: Any) -> None:
    assert answers.crossing_value(result) == crosses


@given(VALUES)
def test_any_altered_answer_is_some_result(answer: Any) -> None:
    made = answers.result_of(answer)

    assert isinstance(made["content"], list)
    assert isinstance(made.get("structuredContent", {}), dict)

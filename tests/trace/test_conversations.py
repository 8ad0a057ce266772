"""Recorded conversations become traces: calls and answers in pairs, whatever their ids, and what is not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.errors import UsageError
from chaosagent.trace.genai import ImportedRun, run_of
from chaosagent.trace.span_files import Reading, read_groups
from chaosagent.trace.step import StepKind


def asks(*calls: tuple[str, int]) -> dict[str, Any]:
    """Return a turn that calls `refund` for orders, each with an id."""
    listed = [
        {"id": id_, "type": "function", "function": {"name": "refund", "arguments": json.dumps({"order": order})}}
        for id_, order in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": listed}


def told(id_: str | None, content: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, **({} if id_ is None else {"tool_call_id": id_})}


SAID = {"role": "assistant", "content": "Done."}


def runs_of(folder: Path, text: str) -> list[ImportedRun]:
    (folder / "talk.jsonl").write_text(text, "utf-8")
    groups = read_groups([folder / "talk.jsonl"], Reading())
    return [run_of(group.trace_id, group.spans) for group in groups]


def pairs(folder: Path, *messages: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Return orders and answers of the calls of `refund`, in order."""
    [run] = runs_of(folder, json.dumps({"messages": [{"role": "user", "content": "hi"}, *messages]}))
    return [(step.arguments["order"], step.answer) for step in run.trace.steps if step.interface == "service:refund"]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([asks(("a", 1), ("b", 2)), told("b", "two"), told("a", "one"), SAID], [(1, "one"), (2, "two")]),
        ([asks(("a", 1)), told("a", "one"), asks(("a", 2)), told("a", "two"), SAID], [(1, "one"), (2, "two")]),
        ([asks(("a", 1), ("a", 2)), told("a", "one"), told("a", "two"), SAID], [(1, "one"), (2, "two")]),
        ([asks(("a", 1)), asks(("a", 2)), told("a", "two"), SAID], [(1, None), (2, "two")]),
        ([asks(("a", 1)), asks(("a", 2)), told("a", "two"), told("a", "one"), SAID], [(1, "one"), (2, "two")]),
        ([asks(("", 1), ("", 2)), told(None, "one"), told(None, "two"), SAID], [(1, "one"), (2, "two")]),
        ([asks(("a", 1)), told("z", "whose?"), SAID], [(1, None)]),
        ([asks(("a", 1)), told("a", "one"), told("a", "again"), SAID], [(1, "one")]),
    ],
)
def test_an_answer_belongs_to_the_call_of_the_latest_turn_with_its_id(
    tmp_path: Path, messages: list[dict[str, Any]], expected: list[tuple[Any, Any]]
) -> None:
    assert pairs(tmp_path, *messages) == expected


@given(st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=3), max_size=6))
def test_with_answers_in_the_order_of_calls_any_ids_pair_rightly(turns: list[list[str]]) -> None:
    import tempfile

    messages: list[dict[str, Any]] = []
    number = 0
    for ids in turns:
        orders = [number + place for place in range(len(ids))]
        messages.append(asks(*zip(ids, orders, strict=True)))
        messages += [told(id_, f"answer {order}") for id_, order in zip(ids, orders, strict=True)]
        number += len(ids)

    with tempfile.TemporaryDirectory() as folder:
        assert pairs(Path(folder), *messages, SAID) == [(order, f"answer {order}") for order in range(number)]


def test_a_conversation_without_its_end_is_unfinished(tmp_path: Path) -> None:
    for messages in ([asks(("a", 1)), SAID], [asks(("a", 1)), told("a", "one")]):
        [run] = runs_of(tmp_path, json.dumps(messages))

        assert "was not ended" in run.unfinished
    [whole] = runs_of(tmp_path, json.dumps([asks(("a", 1)), told("a", "one"), SAID]))
    assert not whole.unfinished
    assert whole.trace.outcome.message == "Done."
    assert not any(whole.gaps)


def test_a_call_without_an_answer_commits_nothing(tmp_path: Path) -> None:
    [run] = runs_of(tmp_path, json.dumps([asks(("a", 1)), SAID]))

    assert [step.kind for step in run.trace.steps] == [StepKind.CALL, StepKind.CANCELLED, StepKind.CALL]


def test_every_form_of_file_is_read(tmp_path: Path) -> None:
    messages = [asks(("a", 1)), told("a", "one"), SAID]
    lines = f"{json.dumps({'messages': messages})}\n{json.dumps({'task_id': 3, 'traj': messages})}\n"

    assert len(runs_of(tmp_path, lines)) == 2
    assert len(runs_of(tmp_path, json.dumps([{"messages": messages}, {"messages": messages}]))) == 2
    assert len(runs_of(tmp_path, json.dumps({"messages": messages}, indent=1))) == 1
    assert len({run.trace_id for run in runs_of(tmp_path, json.dumps([messages, messages]))}) == 2


def test_older_forms_are_read(tmp_path: Path) -> None:
    called = {"role": "assistant", "content": None, "function_call": {"name": "refund", "arguments": '{"order": 1}'}}
    answer = {"role": "function", "name": "refund", "content": "one"}

    assert pairs(tmp_path, called, answer, SAID) == [(1, "one")]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "x"}, "message 1: expected an object with a `role`"),
        ({"role": "assistant", "tool_calls": {}}, ""),
        ({"role": "assistant", "tool_calls": {"a": 1}}, "message 1: expected tool_calls that are a list"),
        ({"role": "assistant", "tool_calls": [7]}, "message 1: expected a tool call with a function"),
        ({"role": "assistant", "tool_calls": [{"function": {}}]}, "message 1: expected a tool call with a function"),
    ],
)
def test_what_is_no_message_is_refused_with_its_place(tmp_path: Path, message: dict[str, Any], text: str) -> None:
    whole = json.dumps({"messages": [{"role": "user", "content": "hi"}, message]})
    if not text:
        assert runs_of(tmp_path, whole)
        return
    with pytest.raises(UsageError, match=text):
        runs_of(tmp_path, whole)

"""Answers of models become plain data and answers again, and nothing is lost but how their JSON was written."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.canonical import plain

pytestmark = [
    pytest.mark.openai_agents,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("agents") is None, reason="needs the extra openai-agents"),
]
agents: Any = pytest.importorskip("agents")
responses: Any = pytest.importorskip("openai.types.responses")
answers: Any = pytest.importorskip("chaosagent.adapters.openai_agents.answers")
usages: Any = pytest.importorskip("agents.usage")

TEXTS = st.text(max_size=20)
ARGUMENTS = st.dictionaries(
    TEXTS, st.none() | st.booleans() | st.integers() | TEXTS | st.lists(st.integers()), max_size=3
)


def _call(number: int, name: str, arguments: str) -> Any:
    return responses.ResponseFunctionToolCall(
        type="function_call", id=f"fc_{number}x", call_id=f"call_{number}x", name=name, arguments=arguments
    )


def _message(number: int, texts: list[str], refusal: str | None) -> Any:
    parts: list[Any] = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    if refusal is not None:
        parts.append({"type": "refusal", "refusal": refusal})
    return responses.ResponseOutputMessage(
        id=f"msg_{number}x", type="message", role="assistant", status="completed", content=parts
    )


def _reasoning(number: int, text: str) -> Any:
    summary = [{"type": "summary_text", "text": text}]
    return responses.ResponseReasoningItem(id=f"rs_{number}x", type="reasoning", summary=summary)


@st.composite
def outputs(draw: st.DrawFn) -> list[Any]:
    """Return the parts of an answer, each with ids of its own."""
    made: list[Any] = []
    for number in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["call", "broken call", "message", "reasoning"]))
        if kind == "call":
            made.append(_call(number, draw(TEXTS), json.dumps(draw(ARGUMENTS))))
        elif kind == "broken call":
            made.append(_call(number, "f", draw(st.sampled_from(['{"a": ', "[1]", "no"]))))
        elif kind == "message":
            made.append(_message(number, draw(st.lists(TEXTS, max_size=3)), draw(st.none() | TEXTS)))
        else:
            made.append(_reasoning(number, draw(TEXTS)))
    return made


def _facts(output: list[Any]) -> list[dict[str, Any]]:
    facts = [item.model_dump(exclude_unset=True) for item in output]
    for fact in facts:
        if fact["type"] == "function_call":
            try:
                fact["arguments"] = json.loads(fact["arguments"])
            except ValueError:
                continue
    return facts


@given(outputs(), st.integers(0, 5), st.none() | TEXTS)
def test_an_answer_comes_back_as_it_was(output: list[Any], tokens: int, response_id: str | None) -> None:
    usage = agents.Usage(requests=1, input_tokens=tokens, output_tokens=2, total_tokens=tokens + 2)
    response = agents.ModelResponse(output=output, usage=usage, response_id=response_id, request_id="req_9")
    names = answers.Names()

    crossed = plain(answers.answer_of(response, names))
    back = answers.response_of(crossed, names)

    assert _facts(back.output) == _facts(output)
    assert [type(item) for item in back.output] == [type(item) for item in output]
    assert usages.serialize_usage(back.usage) == usages.serialize_usage(usage)
    assert (back.response_id, back.request_id) == (response_id, "req_9")


@given(outputs())
def test_what_crosses_has_names_for_ids_and_is_rebuilt_in_a_replay_too(output: list[Any]) -> None:
    response = agents.ModelResponse(output=output, usage=agents.Usage(), response_id=None)

    crossed: Any = plain(answers.answer_of(response, answers.Names()))
    replayed = answers.response_of(crossed, answers.Names())

    for item in (*crossed["items"], *crossed["tool_calls"]):
        assert not any(str(item.get(key, "")).endswith("x") for key in ("id", "call_id"))
    again = answers.Names()
    assert plain(answers.answer_of(replayed, again)) == crossed


def test_a_changed_text_replaces_all_texts_and_dropped_calls_are_gone() -> None:
    names = answers.Names()
    output = [_message(0, ["one", "two"], None), _call(1, "f", "{}"), _call(2, "g", "{}")]
    crossed = answers.answer_of(agents.ModelResponse(output=output, usage=agents.Usage(), response_id=None), names)

    back = answers.response_of({**crossed, "content": "three", "tool_calls": crossed["tool_calls"][1:]}, names)

    assert "".join(part.text for part in back.output[0].content) == "three"
    assert [item.name for item in back.output[1:]] == ["g"]


def test_calls_and_texts_that_were_not_there_are_added() -> None:
    back = answers.response_of(
        {"content": "hello", "tool_calls": [{"name": "f", "arguments": {"a": 1}}]}, answers.Names()
    )

    assert back.output[0].content[0].text == "hello"
    assert (back.output[1].name, json.loads(back.output[1].arguments)) == ("f", {"a": 1})
    assert back.output[1].call_id


@pytest.mark.parametrize("broken", [None, "text", 7, []])
def test_what_is_no_answer_is_the_models_mistake(broken: Any) -> None:
    with pytest.raises(agents.ModelBehaviorError, match="not with a message"):
        answers.response_of(broken, answers.Names())

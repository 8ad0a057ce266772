"""What a crew's models answer, and how they fail, crosses and comes back."""

from __future__ import annotations

import json
import warnings
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaosagent.canonical import plain
from chaosagent.vocabulary import ServiceFault, StatusError

pytestmark = [
    pytest.mark.crewai,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("crewai") is None, reason="needs the extra crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
if find_spec("crewai") is not None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from crewai.llms.base_llm import BaseLLM
        from crewai.llms.providers.openai.completion import OpenAICompletion

        from chaosagent.adapters.core.drawn_ids import CallIds
        from chaosagent.adapters.crewai.errors import as_client_error, as_plain_error
        from chaosagent.adapters.crewai.messages import answer_of, messages_of, plain_answer, plain_messages


def _calls(*calls: tuple[str, dict[str, Any]]) -> Any:
    made = [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in calls]
    return [{"id": f"drawn-{place}", "type": "function", "function": call} for place, call in enumerate(made)]


@settings(max_examples=60, deadline=None)
@given(
    answer=st.one_of(
        st.text(max_size=8),
        st.lists(
            st.tuples(
                st.sampled_from(["a", "b"]),
                st.dictionaries(st.text(max_size=3), st.one_of(st.integers(-(2**53), 2**53), st.text(), st.none())),
            ),
            min_size=1,
            max_size=4,
        ).map(lambda calls: _calls(*calls)),
    )
)
def test_an_answer_says_the_same_after_crossing(answer: Any) -> None:
    back = answer_of(plain(plain_answer(answer)), None, {"call-1"})

    if isinstance(answer, str):
        assert back == answer
    else:
        assert [json.loads(one["function"]["arguments"]) for one in back] == [
            json.loads(one["function"]["arguments"]) for one in answer
        ]
        assert [one["id"] for one in back] == [f"call-{place}" for place in range(2, len(answer) + 2)]


@pytest.mark.parametrize(
    ("crossed", "kind"),
    [
        (StatusError(429, "slow down", 3.0), "RateLimitError"),
        (StatusError(503, "down"), "InternalServerError"),
        (StatusError(401, "no key"), "AuthenticationError"),
        (ServiceFault("LLMContextLengthExceededError: too long"), "LLMContextLengthExceededError"),
        (TimeoutError("late"), "TimeoutError"),
        (ConnectionError("broken"), "ConnectionError"),
    ],
)
def test_a_failure_of_a_model_is_raised_as_its_client_would_and_crosses_as_it_did(
    crossed: Exception, kind: str
) -> None:
    raised = as_client_error(crossed, BaseLLM)

    assert type(raised).__name__ == kind
    again = as_plain_error(raised)
    assert (type(again), again.args) == (type(crossed), crossed.args)


def test_a_time_out_of_openai_is_a_broken_connection_as_crewai_tells_it() -> None:
    assert (
        str(as_client_error(TimeoutError(), OpenAICompletion)) == "Failed to connect to OpenAI API: Request timed out."
    )


def test_a_conversation_is_the_same_after_crossing_and_an_altered_message_keeps_its_ids() -> None:
    asked = {"role": "assistant", "content": None, "tool_calls": _calls(("a", {"x": 1}))}
    told = {"role": "tool", "tool_call_id": "drawn-0", "name": "a", "content": "one", "files": object()}
    messages, ids = [{"role": "user", "content": "hi"}, asked, told], CallIds()

    crossing = plain_messages(messages, ids)

    assert messages_of(plain(crossing), messages, ids) == messages
    altered = [*crossing[:2], {**crossing[2], "content": "two"}]  # type: ignore[dict-item]  # it is a mapping
    assert crossing[2] == {"role": "tool", "tool_call_id": "call-1", "name": "a", "content": "one"}
    assert messages_of(plain(altered), messages, ids)[2] == {
        "role": "tool", "tool_call_id": "drawn-0", "name": "a", "content": "two"
    }  # fmt: skip

"""Spans of others become traces: agents, tools, failures, and what the spans do not tell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.effects.rule import effect
from chaosagent.errors import UsageError
from chaosagent.trace.genai import ImportedRun, run_of
from chaosagent.trace.genai_content import ToolRules
from chaosagent.trace.otlp import SourcePlace, spans_in
from chaosagent.trace.step import StepKind
from chaosagent.vocabulary import Effect, Ending, Failure

PLACE = SourcePlace("spans.jsonl", 3)
REFUND = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund"}


def value_of(value: object) -> dict[str, object]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": [{"key": key, "value": value_of(item)} for key, item in value.items()]}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [value_of(item) for item in value]}}
    return {"stringValue": str(value)}


def attributes_of(attributes: Mapping[str, object]) -> list[dict[str, object]]:
    return [{"key": key, "value": value_of(value)} for key, value in attributes.items()]


def span(number: int, parent: int | None = 0, name: str = "span", **facts: Any) -> dict[str, Any]:
    """Return a span in OTLP: it starts at second `number` and takes one."""
    attributes = facts.pop("attributes", {})
    events = [{"name": event, "attributes": attributes_of(said)} for event, said in facts.pop("events", {}).items()]
    return {
        "traceId": "0" * 31 + "1",
        "spanId": f"{number + 1:016x}",
        "parentSpanId": "" if parent is None else f"{parent + 1:016x}",
        "name": name,
        "startTimeUnixNano": str((100 + number) * 10**9),
        "endTimeUnixNano": str((101 + number) * 10**9),
        "attributes": attributes_of(attributes),
        "events": events,
        **facts,
    }


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


ROOT = span(
    0, None, "invoke_agent desk", attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk"}
)


def read(*spans: dict[str, Any], rules: ToolRules | None = None) -> ImportedRun:
    return run_of("1", spans_in(otlp(*spans), PLACE), rules)


def test_a_tool_a_model_and_a_retrieval_become_steps_of_their_agent() -> None:
    run = read(
        ROOT,
        span(
            1,
            0,
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": "m",
                "gen_ai.input.messages": "[]",
            },
        ),
        span(
            2, 0, attributes={**REFUND, "gen_ai.tool.call.arguments": '{"order": 7}', "gen_ai.tool.call.result": "ok"}
        ),
        span(3, 0, attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}),
        span(
            4,
            3,
            attributes={
                "gen_ai.operation.name": "retrieval",
                "gen_ai.data_source.id": "kb",
                "gen_ai.retrieval.query.text": "q",
            },
        ),
        span(5, 3, attributes={**REFUND, "gen_ai.tool.call.arguments": {"order": 8, "lines": [1, True]}}),
        span(6, 0, attributes={**REFUND, "gen_ai.tool.name": "payments.refund"}),
        span(7, 0, "GET /orders", attributes={"http.request.method": "GET"}),
    )

    steps = run.trace.steps

    assert [step.hook for step in steps] == [
        "model:m[1]@desk",
        "service:refund[1]@desk",
        "retrieval:kb[1]@helper",
        "service:refund[1]@helper",
        "service:payments[1]@desk",
    ]
    assert [step.operation for step in steps] == ["complete", "call", "search", "call", "refund"]
    assert (steps[1].arguments, steps[1].answer) == ({"order": 7}, "ok")
    assert steps[3].arguments == {"lines": [1, True], "order": 8}
    assert [step.asked_at for step in steps] == [1.0, 2.0, 4.0, 5.0, 6.0]
    assert run.places[1].place == PLACE
    assert run.places[1].span_id == f"{3:016x}"
    assert run.foreign
    assert not run.unfinished


def test_steps_stand_in_the_order_of_their_start_and_are_counted_in_it() -> None:
    spans = [
        ROOT,
        *(span(number, 0, attributes={**REFUND, "gen_ai.tool.call.arguments": {"n": number}}) for number in (3, 1, 2)),
    ]

    steps = read(*spans).trace.steps

    assert [(step.index, step.occurrence, step.arguments["n"]) for step in steps] == [(0, 1, 1), (1, 2, 2), (2, 3, 3)]


def test_failures_come_from_status_and_error_type() -> None:
    error = {"code": 2, "message": "gone"}
    run = read(
        ROOT,
        span(1, 0, attributes={**REFUND, "error.type": "TimeoutError"}),
        span(2, 0, attributes=REFUND, status=error),
        span(3, 0, attributes={**REFUND, "error.type": "503"}, status=error),
        span(4, 0, attributes=REFUND, status=error, events={"exception": {"exception.type": "ValueError"}}),
        span(5, 0, attributes=REFUND, status={"code": "STATUS_CODE_ERROR"}),
        span(6, 0, attributes=REFUND, status={"code": 1}),
    )

    assert [step.failure for step in run.trace.steps] == [
        Failure("timeout", "", name="TimeoutError"),
        Failure("error", "gone"),
        Failure("status", "gone", 503),
        Failure("ValueError", "gone"),
        Failure("error", ""),
        None,
    ]


def test_an_effect_is_committed_by_a_call_that_does_not_fail() -> None:
    rules = ToolRules({"refund": effect("order", kind="money")}, egress=frozenset({"refund"}))
    told = {**REFUND, "gen_ai.tool.call.arguments": '{"order": 7, "key": "x"}'}
    run = read(ROOT, span(1, 0, attributes=told), span(2, 0, attributes=told, status={"code": 2}), rules=rules)

    assert run.trace.effects == (Effect("money", {"order": 7}),)
    assert all(step.egress for step in run.trace.steps)
    assert not run.gaps.effects
    unrecorded = read(ROOT, span(1, 0, attributes=REFUND), rules=rules)
    assert unrecorded.trace.effects == ()
    assert unrecorded.gaps.effects == "arguments of refund were"
    assert (unrecorded.gaps.arguments, unrecorded.gaps.contents) == ("refund", True)


def test_one_call_that_two_tracers_saw_is_one_step() -> None:
    told = {**REFUND, "gen_ai.tool.call.arguments": '{"order": 7}'}
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "inner"}
    twice = span(1, 0, attributes=told)

    run = read(
        ROOT,
        twice,
        twice,  # delivered again
        span(2, 1, "tools/call refund", attributes=told),  # the MCP client below the framework
        span(3, 0, attributes=chat),
        span(4, 3, attributes={**chat, "gen_ai.request.model": "m-2026"}),
        span(5, 1, attributes=agent),
        span(6, 5, attributes=told),  # another agent behind the tool calls it itself
    )

    assert [step.hook for step in run.trace.steps] == [
        "service:refund[1]@desk",
        "model:m[1]@desk",
        "service:refund[1]@inner",
    ]
    assert run.trace.steps[2].inside == "service:refund[1]@desk"


def test_the_end_of_a_run_is_that_of_its_root() -> None:
    said = {"gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]'}
    root = {**ROOT, "attributes": ROOT["attributes"] + attributes_of(said)}
    crashed = {
        **ROOT,
        "status": {"code": 2},
        "events": [
            {
                "name": "exception",
                "attributes": attributes_of({"exception.type": "KeyError", "exception.message": "'id'"}),
            }
        ],
    }
    behind_http = [span(0, None, "POST /chat"), {**root, "spanId": "a" * 16, "parentSpanId": f"{1:016x}"}]

    assert read(root).trace.outcome.message == "Done."
    assert not read(root).gaps.final_message
    assert read(*behind_http).trace.outcome.message == "Done."
    assert (read(crashed).trace.ending, read(crashed).trace.ending_detail) == (Ending.CRASHED, "KeyError: 'id'")
    assert read(ROOT).gaps.final_message


def test_a_run_without_root_or_with_an_open_one_is_unfinished() -> None:
    told = span(1, 0, attributes=REFUND)
    open_ = {**ROOT, "endTimeUnixNano": "0"}

    assert read(told).unfinished == "the span of the whole run is not here"
    assert read(open_, told).unfinished == "the span 'invoke_agent desk' was not ended"
    assert not read(
        {**ROOT, "parentSpanId": "f" * 16, "flags": 0x301}, told
    ).unfinished  # the caller is another process
    assert read({**ROOT, "parentSpanId": "f" * 16, "flags": 0x101}, told).unfinished
    assert read(ROOT, {**told, "endTimeUnixNano": None}).trace.steps[0].kind is StepKind.CANCELLED


OTHERS: dict[str, Mapping[str, object]] = {
    "openinference": {
        "openinference.span.kind": "TOOL",
        "tool.name": "refund",
        "input.value": '{"order": 7}',
        "output.value": "ok",
    },
    "langchain through openinference": {
        "openinference.span.kind": "TOOL",
        "tool.name": "refund",
        "input.value": "{'order': 7}",
        "output.value": "ok",
    },
    "openllmetry": {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "refund",
        "traceloop.entity.input": '{"args": [], "kwargs": {"order": 7}}',
        "traceloop.entity.output": "ok",
    },
    "langchain through openllmetry": {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "refund",
        "traceloop.entity.input": '{"input_str": "x", "tags": [], "inputs": {"order": 7}}',
        "traceloop.entity.output": "ok",
    },
    "pydantic-ai": {"gen_ai.tool.name": "refund", "tool_arguments": '{"order":7}', "tool_response": "ok"},
    "vercel": {"ai.toolCall.name": "refund", "ai.toolCall.args": '{"order":7}', "ai.toolCall.result": "ok"},
}


@pytest.mark.parametrize("attributes", OTHERS.values(), ids=OTHERS)
def test_a_tool_is_known_by_what_others_call_it(attributes: Mapping[str, object]) -> None:
    step = read(ROOT, span(1, 0, attributes=attributes)).trace.steps[0]

    assert (step.hook, step.arguments, step.answer) == ("service:refund[1]@desk", {"order": 7}, "ok")


@pytest.mark.parametrize(
    "facts",
    [
        {
            "attributes": {
                "gen_ai.system": "x",
                "llm.request.type": "chat",
                "gen_ai.request.model": "m",
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": "hi",
                "gen_ai.completion.0.content": "yo",
            }
        },
        {
            "attributes": {
                "openinference.span.kind": "LLM",
                "llm.model_name": "m",
                "llm.input_messages.0.message.role": "user",
                "llm.input_messages.0.message.content": "hi",
                "llm.output_messages.0.message.content": "yo",
            }
        },
        {
            "attributes": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"},
            "events": {
                "gen_ai.content.prompt": {"gen_ai.prompt": '[{"content": "hi", "role": "user"}]'},
                "gen_ai.content.completion": {"gen_ai.completion": '[{"content": "yo"}]'},
            },
        },
    ],
    ids=["openllmetry", "openinference", "events"],
)
def test_messages_are_read_in_older_forms(facts: dict[str, Any]) -> None:
    step = read(ROOT, span(1, 0, **facts)).trace.steps[0]

    assert step.hook == "model:m[1]@desk"
    assert step.arguments == {"messages": [{"content": "hi", "role": "user"}]}
    assert step.answer == [{"content": "yo"}]


def test_spans_around_each_other_in_a_circle_are_read() -> None:
    run = read(span(1, 2, attributes=REFUND), span(2, 1, attributes={"gen_ai.operation.name": "invoke_agent"}))

    assert len(run.trace.steps) == 1
    assert run.unfinished


def test_a_chain_of_many_spans_is_read() -> None:
    chain = [ROOT, *(span(number, number - 1) for number in range(1, 3000)), span(3000, 2999, attributes=REFUND)]

    assert read(*reversed(chain)).trace.steps[0].agent == "desk"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (7, "expected an object with spans, found 7"),
        ({"spans": []}, "expected OTLP with resourceSpans"),
        ({"resourceSpans": 7}, "expected resourceSpans that are a list of objects, found 7"),
        (otlp({"name": "x", "traceId": "1"}), "expected a span with spanId"),
        (otlp({**ROOT, "traceId": 7}), "expected traceId that is a text, found 7"),
        (otlp({**ROOT, "startTimeUnixNano": "soon"}), "expected startTimeUnixNano that is a whole number of 64 bits"),
        (otlp({**ROOT, "attributes": {"a": 1}}), "expected attributes that are a list of objects"),
        (otlp({**ROOT, "attributes": [{"key": "gen_ai.x", "value": {"intValue": "x"}}]}), "expected intValue that is"),
        (otlp({**ROOT, "attributes": [{"key": "gen_ai.x", "value": {"newValue": 1}}]}), "a kind that OTLP knows"),
        (otlp({**ROOT, "status": 3}), "expected a status that is an object"),
        (
            {"name": "x", "context": {"trace_id": "0x1", "span_id": "0x1"}, "start_time": "now"},
            "start_time that is a time",
        ),
    ],
)
def test_a_broken_span_is_named_with_file_line_and_remedy(value: object, message: str) -> None:
    with pytest.raises(UsageError, match=rf"^spans\.jsonl:3: .*{message}.*--skip-broken"):
        list(spans_in(value, PLACE))


def test_values_that_nest_too_deeply_are_refused() -> None:
    deep: object = {"stringValue": "x"}
    for _ in range(70):
        deep = {"arrayValue": {"values": [deep]}}

    with pytest.raises(UsageError, match="at most 56 levels"):
        list(spans_in(otlp({**ROOT, "attributes": [{"key": "gen_ai.x", "value": deep}]}), PLACE))


@pytest.mark.parametrize("levels", [10, 50, 60, 62, 64, 70, 100_000])
def test_json_in_an_attribute_may_nest_as_it_likes(levels: int) -> None:
    text = "[" * levels + "]" * levels
    told = {"gen_ai.tool.call.arguments": '{"a": ' + text + "}", "gen_ai.tool.call.result": text}

    step = read(ROOT, span(1, 0, attributes={**REFUND, **told})).trace.steps[0]

    assert isinstance(step.answer, list if levels < 56 else str)
    assert step.arguments == {
        "a" if levels < 56 else "input": step.arguments.get("a", told["gen_ai.tool.call.arguments"])
    }


@pytest.mark.parametrize("name", ["kind", "request", "effects", "failure", "occurrence", "decision", "links"])
def test_a_broken_attribute_of_our_own_is_named(name: str) -> None:
    broken = span(
        1,
        0,
        attributes={
            "chaosagent.kind": "call",
            "chaosagent.index": 0,
            "chaosagent.occurrence": 1,
            "chaosagent.attempt": 0,
            "chaosagent.asked_at": 0,
            "chaosagent.arrived_at": 0,
            "chaosagent.decision": '["allow","",{"$bytes":""}]',
            f"chaosagent.{name}": "[[1]]",
        },
    )

    with pytest.raises(UsageError, match=rf"^spans\.jsonl:3: chaosagent\.{name} must be .*--skip-broken"):
        read(ROOT, broken)


def test_logs_and_metrics_in_a_file_are_passed_over() -> None:
    assert list(spans_in({"resourceLogs": []}, PLACE)) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(sorted({*ROOT, "status", "flags"}))


@pytest.mark.slow
@given(st.dictionaries(NAMES, JSON, max_size=4), JSON, JSON)
def test_whatever_a_span_holds_is_read_or_refused(
    changes: dict[str, object], arguments: object, answer: object
) -> None:
    told = {
        **REFUND,
        "gen_ai.tool.call.arguments": json.dumps(arguments),
        "gen_ai.tool.call.result": json.dumps(answer),
    }
    spans = otlp(ROOT, {**span(1, 0, attributes=told), **changes})

    try:
        listed = list(spans_in(spans, PLACE))
    except UsageError:
        return
    assert run_of("1", listed, ToolRules({"refund": effect("order")})).trace.digest

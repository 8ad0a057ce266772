"""Traces as GenAI spans: everything comes back, and viewers find what they look for."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.canonical import Plain, pack
from chaosagent.testing.steps import make_step
from chaosagent.trace import genai_names
from chaosagent.trace.genai import ImportedRun, run_of
from chaosagent.trace.otlp import SourcePlace, spans_in
from chaosagent.trace.spans import export_line, export_trace
from chaosagent.trace.step import Decision, Landed, Link, Step, StepKind
from chaosagent.trace.tagged import from_tagged, to_tagged
from chaosagent.trace.trace import ContractVerdict, Trace, Violation
from chaosagent.vocabulary import (
    Boundary,
    Claim,
    Effect,
    Ending,
    Failure,
    Impact,
    Landing,
    Mediation,
    Outcome,
    Verdict,
)

PLACE = SourcePlace("here", 1)
TEXTS = st.text(st.characters(codec=None), max_size=8)
"""Lone surrogates among them."""
ATOMS: st.SearchStrategy[Plain] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**200), 2**200)
    | st.floats()
    | st.sampled_from([math.nan, -math.nan, -0.0, math.inf])
    | TEXTS
    | st.binary(max_size=8)
    | st.sampled_from(["$bytes", "\ud83d\ude00", "\ud83d"])
)
KEYS = TEXTS | st.sampled_from(["$bytes", "$map", "$text", "\ud800"])
PLAIN: st.SearchStrategy[Plain] = st.recursive(
    ATOMS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
MAPPINGS = st.dictionaries(KEYS, PLAIN, max_size=3)
SECONDS = st.floats(0, 1e9) | st.integers(0, 100)
EFFECTS = st.builds(Effect, TEXTS, MAPPINGS, st.sampled_from(Impact))
FAILURES = st.builds(
    Failure,
    TEXTS,
    TEXTS,
    st.none() | st.integers(100, 599),
    st.none() | st.floats(0, 100),
    TEXTS,
    st.lists(PLAIN, max_size=2).map(tuple),
    st.none() | MAPPINGS,
)


REQUESTS: st.SearchStrategy[dict[str, Plain]] = MAPPINGS | st.builds(
    lambda text: {"messages": [{"role": "user", "content": text}]}, TEXTS
)
ANSWERS: st.SearchStrategy[Plain] = PLAIN | st.builds(
    lambda text: {"content": text, "tool_calls": [{"name": "pay"}]}, TEXTS
)


@st.composite
def steps(draw: st.DrawFn, index: int = 0) -> Step:
    """Return any step that a run can have, and some that none can."""
    kind = draw(st.sampled_from(StepKind))
    interface = "note" if kind is StepKind.NOTE else f"{draw(st.sampled_from(Boundary)).value}:{draw(TEXTS)}"
    step = make_step(
        index,
        interface,
        draw(TEXTS),
        kind=kind,
        agent=draw(TEXTS),
        role=draw(TEXTS),
        occurrence=draw(st.integers(1, 10**9)),
        attempt=draw(st.integers(0, 3)),
        arguments=draw(REQUESTS),
        answer=draw(ANSWERS),
        failure=draw(st.none() | FAILURES),
        asked_at=draw(SECONDS),
        arrived_at=draw(SECONDS),
        decision=Decision(draw(st.sampled_from(Mediation)), draw(TEXTS), draw(st.binary(max_size=4))),
        landed=draw(st.none() | st.builds(Landed, TEXTS, TEXTS, st.sampled_from(Landing), TEXTS)),
        effects=draw(st.lists(EFFECTS, max_size=2)),
        links=draw(st.lists(st.builds(Link, TEXTS, TEXTS, TEXTS), max_size=2)),
        egress=draw(st.booleans()),
        inside=draw(TEXTS),
    )
    if draw(st.booleans()):
        step.response = b""
    step.seal()
    return step


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    listed = tuple(draw(steps(index)) for index in range(draw(st.integers(0, 4))))
    violations = st.none() | st.builds(Violation, st.integers(0, 4), TEXTS, TEXTS)
    return Trace(
        task_id=draw(TEXTS),
        config_digest=draw(TEXTS),
        seed=draw(st.integers(-(2**80), 2**80)),
        steps=listed,
        ending=draw(st.sampled_from(Ending)),
        ending_detail=draw(TEXTS),
        outcome=Outcome(
            draw(TEXTS),
            draw(st.none() | st.booleans()),
            tuple(draw(st.lists(st.builds(Claim, TEXTS, MAPPINGS, TEXTS), max_size=2))),
            draw(PLAIN),
            draw(st.booleans()),
        ),
        verdicts=tuple(
            draw(
                st.lists(
                    st.builds(
                        ContractVerdict, TEXTS, st.sampled_from(Verdict), st.floats(-1, 1), violations, st.booleans()
                    ),
                    max_size=2,
                )
            )
        ),
        crashed_at=draw(TEXTS),
        links=tuple(draw(st.lists(st.builds(Link, TEXTS, TEXTS, TEXTS), max_size=2))),
    )


def read(line: str) -> ImportedRun:
    spans = list(spans_in(json.loads(line), PLACE))
    return run_of(spans[0].trace_id, spans)


def spans_by_name(trace: Trace) -> dict[str, dict[str, Any]]:
    """Return the spans of an exported trace by name, with their attributes as a mapping."""
    exported: Any = export_trace(trace, "desk")
    listed = exported["resourceSpans"][0]["scopeSpans"][0]["spans"]
    return {
        span["name"]: span
        | {"attributes": {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}}
        for span in listed
    }


def trace_of(*listed: Step, **facts: Any) -> Trace:
    for step in listed:
        step.seal()
    return Trace("t", "c", 0, listed, Ending.FINISHED, "", Outcome("done", success=True), (), **facts)


@pytest.mark.slow
@given(traces())
def test_a_trace_comes_back_as_it_was(trace: Trace) -> None:
    line = export_line(trace)

    run = read(line)

    assert line.isascii()
    assert "\n" not in line
    assert run.trace.digest == trace.digest
    assert run.trace.crashed_at == trace.crashed_at
    assert [step.boundary for step in run.trace.steps] == [step.boundary for step in trace.steps]
    assert pack(run.trace.verdicts) == pack(trace.verdicts)
    assert not run.unfinished
    assert export_line(run.trace) == line


@given(PLAIN)
def test_plain_data_come_back_from_json_with_the_same_bytes(value: Plain) -> None:
    text = to_tagged(value)

    assert text.isascii()
    assert pack(from_tagged(text)) == pack(value)


def test_bytes_that_are_not_canonical_come_back_too() -> None:
    step = make_step(0, "service:crm")
    step.request = b"\x92\xa4call\xde\x00\x00"  # an empty map in a longer form than the canonical one

    run = read(export_line(trace_of(step)))

    assert run.trace.steps[0].request == step.request


def test_the_order_of_a_file_does_not_matter() -> None:
    trace = trace_of(
        *(make_step(index, "service:crm", asked_at=float(9 - index), arrived_at=9.0) for index in range(5))
    )
    spans = list(spans_in(export_trace(trace), PLACE))

    assert run_of(trace.digest, reversed(spans)).trace == trace
    assert run_of(trace.digest, spans + spans).trace == trace


def test_a_trace_of_which_a_span_is_missing_is_said_to_be_unfinished() -> None:
    trace = trace_of(make_step(0, "service:crm"), make_step(1, "service:crm"))
    spans = list(spans_in(export_trace(trace), PLACE))

    assert run_of(trace.digest, spans[:-1]).unfinished == "1 of its 2 steps are not here"
    assert run_of(trace.digest, spans[1:]).unfinished == "the span of the whole run is not here"


def test_viewers_find_the_words_of_the_conventions() -> None:
    asked: dict[str, Plain] = {"messages": [{"role": "system", "content": "Be kind."}]}
    told: Plain = {"content": "", "tool_calls": [{"name": "refund", "arguments": {"order": 7}}]}
    trace = trace_of(
        make_step(0, "model:planner", "complete", agent="reader", arguments=asked, answer=told),
        make_step(1, "service:refund", "call", agent="reader", arguments={"order": 7}, answer={"ok": True}),
        make_step(2, "service:crm", "get", arguments={"id": 1}, failure=Failure("timeout", "too slow")),
        make_step(3, "retrieval:rules", "find", arguments={"query": "refunds"}, answer=[{"id": "r1"}]),
        make_step(4, "memory:notes", "read", answer="x"),
    )

    spans = spans_by_name(trace)

    root, agent = spans["invoke_agent desk"], spans["invoke_agent reader"]
    assert {span["traceId"] for span in spans.values()} == {trace.digest}
    assert "parentSpanId" not in root
    assert agent["parentSpanId"] == spans["chaosagent.memory"]["parentSpanId"] == root["spanId"]
    assert spans["chat planner"]["parentSpanId"] == agent["spanId"]
    chat = spans["chat planner"]["attributes"]
    assert json.loads(chat["gen_ai.input.messages"]) == [
        {"role": "system", "parts": [{"type": "text", "content": "Be kind."}]}
    ]
    assert json.loads(chat["gen_ai.output.messages"])[0]["parts"] == [
        {"type": "tool_call", "name": "refund", "arguments": {"order": 7}}
    ]
    tool = spans["execute_tool refund"]["attributes"]
    assert (tool["gen_ai.operation.name"], tool["gen_ai.tool.name"]) == ("execute_tool", "refund")
    assert json.loads(tool["gen_ai.tool.call.arguments"]) == {"order": 7}
    assert json.loads(tool["gen_ai.tool.call.result"]) == {"ok": True}
    failed = spans["execute_tool crm.get"]
    assert failed["status"] == {"code": 2, "message": "too slow"}
    assert failed["attributes"]["error.type"] == "timeout"
    found = spans["retrieval rules"]["attributes"]
    assert found["gen_ai.retrieval.query.text"] == "refunds"
    assert json.loads(found["gen_ai.retrieval.documents"]) == [{"id": "r1"}]
    assert spans["chaosagent.memory"]["attributes"]["chaosagent.interface"] == "memory:notes"


def test_equal_traces_have_equal_ids_and_others_have_others() -> None:
    one, same = trace_of(make_step(0, "service:crm")), trace_of(make_step(0, "service:crm"))
    other = replace(same, seed=1)

    assert export_line(one) == export_line(same)
    assert not {span.span_id for span in spans_in(export_trace(one), PLACE)} & {
        span.span_id for span in spans_in(export_trace(other), PLACE)
    }


def test_the_names_are_those_of_the_conventions() -> None:
    published = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    schemas = pytest.importorskip("opentelemetry.semconv.schemas").Schemas
    if genai_names.SCHEMA_URL not in {schema.value for schema in schemas}:
        pytest.skip("an older version of the conventions is installed")
    known = {value for name, value in vars(published).items() if name.startswith("GEN_AI_")}
    ours = {
        value
        for name, value in vars(genai_names).items()
        if isinstance(value, str) and name.isupper() and value.startswith("gen_ai.")
    }

    assert ours
    assert ours <= known

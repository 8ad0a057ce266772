"""Traces as GenAI spans, in the lines that the OpenTelemetry Collector's file exporter writes.

A run is the span `invoke_agent <target>`, each named agent one below it, and each step one below its agent:

| step | span | content |
| --- | --- | --- |
| of a model | `chat <name>` | `gen_ai.input.messages`, `gen_ai.output.messages` |
| of a service | `execute_tool <name>` | `gen_ai.tool.name`, `gen_ai.tool.call.arguments`, `gen_ai.tool.call.result` |
| of a retrieval | `retrieval <name>` | `gen_ai.retrieval.query.text`, `gen_ai.retrieval.documents` |
| any other | `chaosagent.<boundary>`, `chaosagent.note` | |

A tool is named as its interface, with the operation behind a dot unless that is `call`. What failed has the status
ERROR and an `error.type`. Everything else stands in `chaosagent.*` attributes, so that
`chaosagent.trace.genai.run_of` gives the same trace back.

The ids come from the trace's digest and the times from its virtual clock, which begins at `EPOCH_SECONDS`: equal traces
give equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import NamedTuple

from chaosagent.canonical import Plain
from chaosagent.trace.genai_names import (
    AGENT_NAME,
    CHAT,
    DATA_SOURCE,
    DOCUMENTS,
    ERROR_TYPE,
    EXECUTE_TOOL,
    INPUT_MESSAGES,
    INVOKE_AGENT,
    OPERATION,
    OUTPUT_MESSAGES,
    OWN,
    QUERY,
    REQUEST_MODEL,
    RETRIEVAL,
    SCHEMA_URL,
    TOOL_ARGUMENTS,
    TOOL_NAME,
    TOOL_RESULT,
)
from chaosagent.trace.otlp import ERROR_STATUS, Value, any_value
from chaosagent.trace.own_attributes import run_attributes, step_attributes
from chaosagent.trace.step import Step, StepKind
from chaosagent.trace.tagged import to_tagged
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Boundary, Ending

EPOCH_SECONDS = 946_684_800
"""Virtual second 0 of a run, since 1970: the first of January 2000. Viewers take 0 for a time that is not known."""
CALL = "call"
INTERNAL, CLIENT = 1, 3
_NANOSECONDS_MAX = 2**63 - 1


class _Content(NamedTuple):
    """What a step is in the words of the conventions."""

    name: str
    attributes: dict[str, Value]
    kind: int = INTERNAL


def export_line(trace: Trace, target: str = "") -> str:
    """Return a trace as one line of JSON, without a line break.

    Args:
        trace: Of one run.
        target: The name of the target; the task's when it is empty.
    """
    return json.dumps(export_trace(trace, target), ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def export_trace(trace: Trace, target: str = "") -> dict[str, object]:
    """Return a trace as an OTLP object with `resourceSpans`.

    Args:
        trace: Of one run.
        target: The name of the target; the task's when it is empty.
    """
    name, trace_id = target or trace.task_id, trace.digest
    root = _id(trace_id, "run")
    agents: dict[str, list[Step]] = {}
    for step in trace.steps:
        agents.setdefault(step.agent, []).append(step)
    spans = [_run_span(trace, name, trace_id)]
    spans += [_agent_span(trace_id, agent, steps) for agent, steps in agents.items() if agent]
    for step in trace.steps:
        parent = _id(trace_id, f"agent {step.agent}") if step.agent else root
        spans.append(_step_span(step, trace_id, parent))
    scope = {"scope": {"name": "chaosagent"}, "schemaUrl": SCHEMA_URL, "spans": spans}
    resource = {"attributes": _attributes({"service.name": name})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope], "schemaUrl": SCHEMA_URL}]}


def _run_span(trace: Trace, name: str, trace_id: str) -> dict[str, object]:
    attributes: dict[str, Value] = {OPERATION: INVOKE_AGENT, AGENT_NAME: name}
    if trace.outcome.message:
        attributes[OUTPUT_MESSAGES] = to_tagged([_message("assistant", trace.outcome.message)])
    failed = trace.ending is not Ending.FINISHED
    if failed:
        attributes[ERROR_TYPE] = trace.ending.value
    span = _span(trace_id, "run", f"{INVOKE_AGENT} {name}", {**attributes, **run_attributes(trace)})
    return span | _times(trace.steps) | _status(failed, trace.ending_detail)


def _agent_span(trace_id: str, agent: str, steps: list[Step]) -> dict[str, object]:
    attributes: dict[str, Value] = {OPERATION: INVOKE_AGENT, AGENT_NAME: agent}
    span = _span(trace_id, f"agent {agent}", f"{INVOKE_AGENT} {agent}", attributes)
    return span | {"parentSpanId": _id(trace_id, "run")} | _times(steps)


def _step_span(step: Step, trace_id: str, parent: str) -> dict[str, object]:
    content = _content(step)
    attributes, failure = content.attributes, step.failure
    if failure is not None:
        named = str(failure.status) if failure.status is not None else failure.name or failure.kind
        attributes = {**attributes, ERROR_TYPE: named}
    span = _span(trace_id, f"step {step.index}", content.name, {**attributes, **step_attributes(step)})
    return (
        span
        | {"parentSpanId": parent, "kind": content.kind}
        | _times([step])
        | _status(failure is not None, "" if failure is None else failure.message)
    )


def _content(step: Step) -> _Content:
    name = step.interface.partition(":")[2] or step.interface
    if step.boundary is Boundary.SERVICE:
        return _tool(step, tool_name(name, step.operation))
    if step.boundary is Boundary.MODEL:
        return _chat(step, name)
    if step.boundary is Boundary.RETRIEVAL:
        return _retrieval(step, name)
    kind = "note" if step.boundary is None else step.boundary.value
    return _Content(f"{OWN}{kind}", {OPERATION: f"{OWN}{kind}"})


def tool_name(interface: str, operation: str) -> str:
    """Return what a tool is called: its interface, and its operation where that says more."""
    return interface if operation == CALL else f"{interface}.{operation}"


def _tool(step: Step, name: str) -> _Content:
    attributes: dict[str, Value] = {OPERATION: EXECUTE_TOOL, TOOL_NAME: name}
    if step.request:
        attributes[TOOL_ARGUMENTS] = to_tagged(step.arguments)
    if _answered(step):
        attributes[TOOL_RESULT] = to_tagged(step.answer)
    return _Content(f"{EXECUTE_TOOL} {name}", attributes)


def _chat(step: Step, name: str) -> _Content:
    attributes: dict[str, Value] = {OPERATION: CHAT, REQUEST_MODEL: name}
    if step.request:
        attributes[INPUT_MESSAGES] = to_tagged(_asked(step.arguments))
    if _answered(step):
        attributes[OUTPUT_MESSAGES] = to_tagged([_told(step.answer)])
    return _Content(f"{CHAT} {name}", attributes, CLIENT)


def _retrieval(step: Step, name: str) -> _Content:
    attributes: dict[str, Value] = {OPERATION: RETRIEVAL, DATA_SOURCE: name}
    query = step.arguments.get("query") if step.request else None
    if isinstance(query, str):
        attributes[QUERY] = query
    if _answered(step):
        attributes[DOCUMENTS] = to_tagged(step.answer)
    return _Content(f"{RETRIEVAL} {name}", attributes)


def _answered(step: Step) -> bool:
    return bool(step.response) and step.failure is None and step.kind is not StepKind.CANCELLED


def _asked(arguments: Mapping[str, Plain]) -> list[Plain]:
    """Return the arguments of a model call as messages."""
    messages = arguments.get("messages")
    if isinstance(messages, list) and messages and all(isinstance(one, Mapping) for one in messages):
        return [_as_message(one) for one in messages if isinstance(one, Mapping)]
    prompt = arguments.get("prompt")
    return [_message("user", prompt if isinstance(prompt, str) else to_tagged(arguments))]


def _as_message(given: Mapping[str, Plain]) -> Plain:
    role, content = given.get("role"), given.get("content")
    text = content if isinstance(content, str) else to_tagged(content)
    return _message(role if isinstance(role, str) else "user", text)


def _told(answer: Plain) -> Plain:
    """Return a model's answer as a message with its tool calls."""
    if not isinstance(answer, Mapping):
        return {
            **_message("assistant", answer if isinstance(answer, str) else to_tagged(answer)),
            "finish_reason": "stop",
        }
    content, calls = answer.get("content"), answer.get("tool_calls")
    if not isinstance(content, str) and not isinstance(calls, list):
        return {**_message("assistant", to_tagged(answer)), "finish_reason": "stop"}
    parts: list[Plain] = [{"type": "text", "content": content}] if isinstance(content, str) and content else []
    called = calls if isinstance(calls, list) else []
    for call in called:
        if isinstance(call, Mapping):
            parts.append({"type": "tool_call", "name": call.get("name"), "arguments": call.get("arguments")})
    return {"role": "assistant", "parts": parts, "finish_reason": "tool_call" if called else "stop"}


def _message(role: str, text: str) -> dict[str, Plain]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _span(trace_id: str, label: str, name: str, attributes: Mapping[str, Value]) -> dict[str, object]:
    return {
        "traceId": trace_id,
        "spanId": _id(trace_id, label),
        "name": name.encode("utf-8", "backslashreplace").decode(),
        "kind": INTERNAL,
        "attributes": _attributes(attributes),
    }


def _attributes(attributes: Mapping[str, Value]) -> list[dict[str, object]]:
    return [{"key": key, "value": any_value(value)} for key, value in attributes.items()]


def _status(failed: bool, message: str) -> dict[str, object]:  # noqa: FBT001  # said beside the message
    if not failed:
        return {}
    return {"status": {"code": ERROR_STATUS, "message": message.encode("utf-8", "backslashreplace").decode()}}


def _times(steps: list[Step] | tuple[Step, ...]) -> dict[str, object]:
    start = min((step.asked_at for step in steps), default=0.0)
    end = max((step.arrived_at for step in steps), default=0.0)
    return {"startTimeUnixNano": _nanoseconds(start), "endTimeUnixNano": _nanoseconds(max(start, end))}


def _nanoseconds(seconds: float) -> str:
    """Return a moment of the run in nanoseconds since 1970, within what 64 bits hold."""
    if not seconds < _NANOSECONDS_MAX / 1e9:
        return str(_NANOSECONDS_MAX)
    return str(max(0, min(_NANOSECONDS_MAX, round((EPOCH_SECONDS + max(seconds, 0.0)) * 1e9))))


def _id(trace_id: str, label: str) -> str:
    """Return the id of a span: equal traces have equal ones."""
    return blake2b(f"{trace_id} {label}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

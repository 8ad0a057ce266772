"""Traces from GenAI spans, those of production among them.

A span that `chaosagent.trace.spans` exported gives back its step. Of others a step is made:

| span | step |
| --- | --- |
| `execute_tool` of the tool `refund` | `service:refund`, operation `call`, as the adapters name it |
| `execute_tool` of the tool `payments.refund` | `service:payments`, operation `refund` |
| `chat` and other calls of a model | `model:<model>`, operation `complete` |
| `retrieval` | `retrieval:<data source>`, operation `search` |
| `search_memory`, `update_memory`, ... | `memory:<store>`, operation `read` or `write` |

The agent is that of the nearest `invoke_agent` span around it; calls are counted for each interface and agent in the
order in which they began. Two spans of one call, one around the other as when a framework and an MCP client both trace
it, are one step, and so is a span that was delivered twice. Whatever is missing is empty, and `Gaps` says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from chaosagent.canonical import Plain, pack
from chaosagent.effects.ledger import Ledger
from chaosagent.effects.suspect import SuspectAnswer, suspect
from chaosagent.trace.genai_content import Content, Gaps, ToolRules, content_of, final_message
from chaosagent.trace.genai_names import (
    AGENT_ID,
    AGENT_NAME,
    CHAT,
    ENTITY,
    ERROR_TYPE,
    EXCEPTION_MESSAGE,
    EXCEPTION_TYPE,
    EXECUTE_TOOL,
    INPUT_MESSAGES,
    INVOKE_AGENT,
    KIND,
    KINDS,
    MEMORY_OPERATIONS,
    MODEL_OPERATIONS,
    OPERATION,
    OUTPUT_MESSAGES,
    REQUEST_MODEL,
    RETRIEVAL,
    TOOL_ARGUMENTS,
    TOOL_NAME,
    TOOL_RESULT,
)
from chaosagent.trace.otlp import SourcePlace, Span
from chaosagent.trace.own_reading import RunFacts, is_own_run, is_own_step, read_step
from chaosagent.trace.step import ALLOWED, Step, StepKind
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Ending, Failure, Outcome

STEP_OPERATIONS = MODEL_OPERATIONS | MEMORY_OPERATIONS | {EXECUTE_TOOL, RETRIEVAL}
_HTTP_STATUS = "http.response.status_code"
_FAILURE_KINDS = (("timeout", "timeout"), ("connection", "connection"))


class StepPlace(NamedTuple):
    """Where a step, or the end of a run, was read."""

    span_id: str
    place: SourcePlace


class ImportedRun(NamedTuple):
    """One trace that was read, and what is not known of it.

    Attributes:
        trace_id: As the spans have it.
        trace: With its steps in the order in which they began; of an own one as it was.
        places: Of each step.
        end_place: Of the span of the whole run; of the first span where there is none.
        unfinished: Why the end of the run is not known; empty when it is.
        gaps: What the spans do not tell.
        foreign: No step was exported by chaosagent.
        tools: How often each tool was called, by its name.
        suspects: Answers that look like errors and count as commits, of tools without a rule for failed calls.
    """

    trace_id: str
    trace: Trace
    places: tuple[StepPlace, ...]
    end_place: StepPlace
    unfinished: str
    gaps: Gaps
    foreign: bool
    tools: Mapping[str, int]
    suspects: Sequence[tuple[SuspectAnswer, SourcePlace]] = ()


class _Around(NamedTuple):
    """What is around a span: the agent, the nearest step of that agent, and the nearest step at all."""

    agent: str = ""
    same_agent: str = ""
    inside: str = ""


def run_of(trace_id: str, spans: Iterable[Span], rules: ToolRules | None = None) -> ImportedRun:
    """Return the run that the spans of one trace tell of.

    Args:
        trace_id: Of all of them.
        spans: In the order in which they were read, at least one.
        rules: What is known of tools.

    Raises:
        UsageError: An attribute of chaosagent itself is broken; the message names file and line.
    """
    by_id: dict[str, Span] = {}
    for span in spans:
        by_id.setdefault(span.span_id, span)
    return _Reading(trace_id, by_id, rules if rules is not None else ToolRules()).run()


class _Reading:
    """The spans of one trace while they are read."""

    def __init__(self, trace_id: str, spans: dict[str, Span], rules: ToolRules) -> None:
        self._trace_id, self._spans, self._rules = trace_id, spans, rules
        self._operations = {span.span_id: operation_of(span) for span in spans.values()}
        self._around: dict[str, _Around] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._hooks: dict[str, str] = {}
        self._gaps = Gaps()
        self._tools: Counter[str] = Counter()
        self._ledger = Ledger()
        self._suspects: list[tuple[SuspectAnswer, SourcePlace]] = []
        self._ordered = sorted(spans.values(), key=lambda span: span.start)
        self._begin = self._ordered[0].start

    def run(self) -> ImportedRun:
        """Return what was read."""
        steps: list[tuple[Step, StepPlace]] = []
        own_count = 0
        for span in self._ordered:
            if is_own_step(span.attributes):
                step = read_step(span.attributes, str(span.place))
                own_count += 1
            elif self._operations[span.span_id] in STEP_OPERATIONS and not self._is_repeated(span):
                step = self._step(span)
            else:
                continue
            steps.append((step, StepPlace(span.span_id, span.place)))
        if own_count == len(steps):
            steps.sort(key=lambda pair: pair[0].index)
        for index, (step, _) in enumerate(steps):
            step.index = index
        roots = [span for span in self._ordered if span.local_root]
        end = next((span for span in roots if is_own_run(span.attributes)), roots[0] if roots else self._ordered[0])
        trace, unfinished = self._trace(tuple(step for step, _ in steps), roots, end)
        return ImportedRun(
            self._trace_id,
            trace,
            tuple(place for _, place in steps),
            StepPlace(end.span_id, end.place),
            unfinished,
            self._gaps,
            own_count == 0,
            self._tools,
            self._suspects,
        )

    def _trace(self, steps: tuple[Step, ...], roots: Sequence[Span], end: Span) -> tuple[Trace, str]:
        """Return the trace, and why its end is not known."""
        if is_own_run(end.attributes):
            facts = RunFacts(end.attributes, str(end.place))
            missing = facts.step_count - len(steps)
            return facts.trace(steps), f"{missing} of its {facts.step_count} steps are not here" if missing > 0 else ""
        agents = [
            span
            for span in self._ordered
            if self._operations[span.span_id] == INVOKE_AGENT and not self._context(span).agent
        ]
        message = final_message([*roots, *agents])
        if message is None:
            self._gaps = self._gaps._replace(final_message=True)
        failed = next((root for root in roots if root.failed), None)
        trace = Trace(
            task_id=self._trace_id,
            config_digest="",
            seed=0,
            steps=steps,
            ending=Ending.FINISHED if failed is None else Ending.CRASHED,
            ending_detail="" if failed is None else _crash(failed),
            outcome=Outcome(message or ""),
            verdicts=(),
        )
        return trace, _unfinished(roots)

    def _is_repeated(self, span: Span) -> bool:
        """Whether the span around this one tells of the same call."""
        outer = self._spans.get(self._context(span).same_agent)
        if outer is None:
            return False
        operations = self._operations[outer.span_id], self._operations[span.span_id]
        if MODEL_OPERATIONS.issuperset(operations):
            return True
        return operations[0] == operations[1] and _named(outer) == _named(span)

    def _context(self, span: Span) -> _Around:
        """Return what is around a span; spans that are around each other in a circle are around nothing."""
        way: list[Span] = []
        seen: set[str] = set()
        at: Span | None = span
        while at is not None and at.span_id not in self._around and at.span_id not in seen:
            way.append(at)
            seen.add(at.span_id)
            at = self._spans.get(at.parent_id)
        for one in reversed(way):
            parent = self._spans.get(one.parent_id)
            self._around[one.span_id] = _Around() if parent is None else self._below(parent)
        return self._around[span.span_id]

    def _below(self, parent: Span) -> _Around:
        around = self._around.get(parent.span_id, _Around())
        operation = self._operations[parent.span_id]
        if operation == INVOKE_AGENT:
            return around._replace(agent=_agent_name(parent), same_agent="")
        if operation in STEP_OPERATIONS:
            return around._replace(same_agent=parent.span_id, inside=parent.span_id)
        return around

    def _step(self, span: Span) -> Step:
        around, operation = self._context(span), self._operations[span.span_id]
        content = content_of(span, operation, self._rules)
        self._gaps = self._gaps.with_those_of(content, span)
        if content.tool:
            self._tools[content.tool] += 1
        step = Step()
        step.index, step.agent, step.role = 0, around.agent, ""
        step.boundary = content.boundary
        step.interface, step.operation = f"{content.boundary.value}:{content.name}", content.operation
        step.kind = StepKind.CALL if span.end else StepKind.CANCELLED
        self._counts[step.interface, step.agent] += 1
        step.occurrence, step.attempt = self._counts[step.interface, step.agent], 0
        step.request = pack([content.operation, content.arguments])
        step.failure = _failure(span)
        answer = None if step.failure is not None else content.answer
        told = span.end and (step.failure is not None or content.answer is not None)
        step.response = pack([answer, step.failure]) if told else b""
        step.asked_at = (span.start - self._begin) / 1e9
        step.arrived_at = max(span.end - self._begin, span.start - self._begin) / 1e9
        step.decision, step.landed, step.links = ALLOWED, None, ()
        step.effects, step.soft_error = (), ""
        if step.failure is None and span.end:
            step.effects = self._ledger.new(content.effects, idempotent=content.idempotent)
            step.soft_error = content.soft_error
            self._suspect(content, span)
        step.egress = content.egress
        step.inside = self._hooks.get(around.inside, "")
        step.seal()
        self._hooks[span.span_id] = step.hook
        return step

    def _suspect(self, content: Content, span: Span) -> None:
        """Take note of an answer that looks like an error to a call that counts as a commit."""
        if content.effects and self._rules.failed_when.condition(content.tool) is None:
            found = suspect(content.tool, content.answer)
            if found is not None:
                self._suspects.append((found, span.place))


def operation_of(span: Span) -> str:
    """Return the operation of a span in the words of the conventions; empty when it is none of an agent."""
    attributes = span.attributes
    operation = attributes.get(OPERATION)
    if isinstance(operation, str):
        return operation
    kind = attributes.get(KIND)
    if isinstance(kind, str) and kind.lower() in KINDS:
        return KINDS[kind.lower()]
    for name in (EXECUTE_TOOL, INVOKE_AGENT):
        if span.name.startswith(f"{name} "):
            return name
    if TOOL_NAME in attributes and (TOOL_ARGUMENTS in attributes or TOOL_RESULT in attributes):
        return EXECUTE_TOOL
    if REQUEST_MODEL in attributes and (INPUT_MESSAGES in attributes or OUTPUT_MESSAGES in attributes):
        return CHAT
    return ""


def _named(span: Span) -> Plain:
    return span.attributes.get(TOOL_NAME) or span.attributes.get(ENTITY) or span.name


def _agent_name(span: Span) -> str:
    for key in (AGENT_NAME, ENTITY, AGENT_ID):
        name = span.attributes.get(key)
        if isinstance(name, str) and name:
            return name
    return span.name.removeprefix(f"{INVOKE_AGENT} ")


def _failure(span: Span) -> Failure | None:
    attributes = span.attributes
    named = attributes.get(ERROR_TYPE)
    if not span.failed and not named:
        return None
    kind = next((str(value) for value in (named, attributes.get(EXCEPTION_TYPE)) if value), "error")
    said = attributes.get(EXCEPTION_MESSAGE)
    message = span.message or (said if isinstance(said, str) else "")
    status = attributes.get(_HTTP_STATUS, kind)
    code = int(status) if isinstance(status, int) or (isinstance(status, str) and _is_code(status)) else None
    if code is not None and _is_code(str(code)):
        return Failure("status", message, code)
    known = next((word for part, word in _FAILURE_KINDS if part in kind.lower()), kind)
    return Failure(known, message, name="" if known == kind else kind)


def _is_code(text: str) -> bool:
    return len(text) == 3 and text.isascii() and text.isdigit()


def _crash(root: Span) -> str:
    kind, said = root.attributes.get(EXCEPTION_TYPE) or root.attributes.get(ERROR_TYPE), root.message
    said = said or str(root.attributes.get(EXCEPTION_MESSAGE) or "")
    return ": ".join(str(part) for part in (kind, said) if part) or f"the span {root.name!r} ended with an error"


def _unfinished(roots: Sequence[Span]) -> str:
    if not roots:
        return "the span of the whole run is not here"
    open_ = [root for root in roots if not root.end]
    return f"the span {open_[0].name!r:.80} was not ended" if open_ else ""

"""What a GenAI span says was asked and answered, in all the forms in which it is said."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from chaosagent.canonical import Plain, plain
from chaosagent.effects.failed_when import NOTHING, FailedWhen
from chaosagent.effects.rule import EffectRule, UnknownArgumentError, effects_by, is_idempotent, needs_answer
from chaosagent.errors import UsageError
from chaosagent.trace.genai_names import (
    DATA_SOURCE,
    DOCUMENTS,
    EMBEDDINGS,
    ENTITY,
    EXECUTE_TOOL,
    INPUT,
    INPUT_MESSAGES,
    MEMORY_OPERATIONS,
    OUTPUT,
    OUTPUT_MESSAGES,
    QUERY,
    REQUEST_MODEL,
    RETRIEVAL,
    TOOL_ARGUMENTS,
    TOOL_NAME,
    TOOL_RESULT,
)
from chaosagent.trace.otlp import LEVELS_AROUND, NESTING_MAX, SourcePlace, Span
from chaosagent.vocabulary import Boundary, Effect

_FLAT = re.compile(
    r"(?:gen_ai\.(?P<old>prompt|completion)|llm\.(?P<inference>input|output)_messages)"
    r"\.(?P<index>\d{1,6})\.(?:message\.)?(?P<part>role|content)"
)
_LITERAL_CHARACTERS_MAX = 10_000
_ANSWERS = frozenset({"completion", "output"})
_MEMORY = "gen_ai.memory."


@dataclass(frozen=True, slots=True)
class ToolRules:
    """What is known of tools that spans do not say.

    Attributes:
        effects: What a tool commits, by its name.
        egress: Tools that send what they are given out of the organisation.
        read_only: Tools that commit nothing.
        failed_when: Which answers are failed calls, by tool.
    """

    effects: Mapping[str, EffectRule] = field(default_factory=dict)
    egress: frozenset[str] = frozenset()
    read_only: frozenset[str] = frozenset()
    failed_when: FailedWhen = NOTHING


class Content(NamedTuple):
    """What a span tells of a step.

    Attributes:
        boundary: Its class.
        name: Of the interface, without the boundary.
        operation: What was asked of it.
        arguments: Of the request.
        answer: `None` when none was recorded.
        asked: The arguments were recorded.
        tool: The tool's name, empty when it is none.
        effects: What it commits when it does not fail.
        idempotent: Committed again, these are no second effects.
        soft_error: Why its answer is a failed call, empty when it is none.
        unrecorded: What was not recorded of a call that may commit something, such as "arguments of refund were"; empty
            when what it commits is known.
        egress: What is sent leaves the organisation.
    """

    boundary: Boundary
    name: str
    operation: str
    arguments: Mapping[str, Plain]
    answer: Plain
    asked: bool
    tool: str = ""
    effects: tuple[Effect, ...] = ()
    idempotent: bool = False
    soft_error: str = ""
    unrecorded: str = ""
    egress: bool = False


class Gaps(NamedTuple):
    """What the spans of a run do not tell.

    Attributes:
        arguments: A tool whose arguments were not recorded, empty when there is none.
        contents: A request or an answer of some step was not recorded.
        effects: What was not recorded of a call that may commit something, empty when it is known of all.
        final_message: What the agent said at the end was not recorded.
    """

    arguments: str = ""
    contents: bool = False
    effects: str = ""
    final_message: bool = False

    def with_those_of(self, content: Content, span: Span) -> Gaps:
        """Return these gaps and those of one more step."""
        unanswered = content.answer is None and not span.failed and span.end != 0
        return Gaps(
            self.arguments or ("" if content.asked else content.tool),
            self.contents or not content.asked or unanswered,
            self.effects or content.unrecorded,
            self.final_message,
        )


def content_of(span: Span, operation: str, rules: ToolRules) -> Content:
    """Return what a span tells of a step.

    Args:
        span: Of an operation that makes a step.
        operation: That one.
        rules: What is known of tools.

    Raises:
        UsageError: A function that the rules name raised, or gave what it must not.
    """
    attributes = span.attributes
    if operation == EXECUTE_TOOL:
        return _tool(span, rules)
    if operation == RETRIEVAL:
        name = _first_text(attributes, DATA_SOURCE, ENTITY) or span.name.removeprefix(f"{RETRIEVAL} ") or RETRIEVAL
        query, documents = _first(attributes, QUERY, INPUT), _first(attributes, DOCUMENTS, OUTPUT)
        arguments = {} if query is None else {"query": query}
        return Content(Boundary.RETRIEVAL, name, "search", arguments, documents, query is not None)
    if operation in MEMORY_OPERATIONS:
        return _memory(attributes, operation)
    name = _first_text(attributes, REQUEST_MODEL, ENTITY) or "model"
    messages = _first(attributes, INPUT_MESSAGES, INPUT)
    messages = _flat(attributes, answers=False) if messages is None else messages
    answer = _first(attributes, OUTPUT_MESSAGES, OUTPUT)
    answer = _flat(attributes, answers=True) if answer is None else answer
    done = "embed" if operation == EMBEDDINGS else "complete"
    asked = {} if messages is None else {"messages": messages}
    return Content(Boundary.MODEL, name, done, asked, answer, messages is not None)


def _tool(span: Span, rules: ToolRules) -> Content:
    attributes = span.attributes
    tool = _first_text(attributes, TOOL_NAME, ENTITY) or span.name.removeprefix(f"{EXECUTE_TOOL} ") or "tool"
    given = _first(attributes, TOOL_ARGUMENTS, INPUT)
    arguments = _arguments(given)
    before, _, after = tool.rpartition(".")
    name, operation = (before, after) if before and after else (tool, "call")
    answer = _first(attributes, TOOL_RESULT, OUTPUT)
    made = _Committed() if span.failed or not span.end else _committed(tool, arguments, answer, rules, span.place)
    rule = rules.effects.get(tool)
    return Content(
        Boundary.SERVICE,
        name,
        operation,
        arguments,
        answer,
        given is not None,
        tool,
        made.effects,
        rule is not None and is_idempotent(rule),
        made.soft_error,
        made.unrecorded or (_arguments_of(tool) if given is None and rule is not None else ""),
        tool in rules.egress,
    )


class _Committed(NamedTuple):
    """The same-named fields of `Content`."""

    effects: tuple[Effect, ...] = ()
    soft_error: str = ""
    unrecorded: str = ""


def _committed(
    tool: str, arguments: Mapping[str, Plain], answer: Plain, rules: ToolRules, place: SourcePlace
) -> _Committed:
    """Return what a call that came to an end committed, and whether it has failed by its answer.

    Raises:
        UsageError: A function that the rules name raised, or gave what it must not.
    """
    rule, condition = rules.effects.get(tool), rules.failed_when.condition(tool)
    if answer is None and rule is not None and (condition is not None or needs_answer(rule)):
        return _Committed(unrecorded=f"the answer of {tool:.80} was")
    what = "failed_when"
    try:
        why = "" if condition is None or answer is None else condition.why(arguments, answer)
        if why or rule is None:
            return _Committed(soft_error=why)
        what = "effects"
        return _Committed(effects_by(rule, arguments, answer, tool))
    except UnknownArgumentError:
        return _Committed(unrecorded=_arguments_of(tool))
    except Exception as error:  # of a function of the user's
        raise UsageError(
            f"{place}: {what} of the tool {tool!r} raised {type(error).__name__}: {error}. Correct the function, or "
            "leave the call out with --skip-broken."
        ) from error


def _arguments_of(tool: str) -> str:
    return f"arguments of {tool:.80} were"


def _memory(attributes: Mapping[str, Plain], operation: str) -> Content:
    store = _first_text(attributes, f"{_MEMORY}store.name", f"{_MEMORY}store.id") or "store"
    records = _first(attributes, f"{_MEMORY}records", OUTPUT)
    arguments = {
        key.removeprefix(_MEMORY): _parsed(value)
        for key, value in sorted(attributes.items())
        if key.startswith(_MEMORY) and not key.startswith((f"{_MEMORY}store.", f"{_MEMORY}records"))
    }
    reading = operation == "search_memory"
    if not reading and records is not None:
        arguments["records"] = records
    done, answer = ("read", records) if reading else ("write", None)
    return Content(Boundary.MEMORY, store, done, arguments, answer, bool(arguments))


def _arguments(given: Plain) -> Mapping[str, Plain]:
    """Return a tool's arguments by name, out of the wrappings in which some tracers put them."""
    if given is None:
        return {}
    if isinstance(given, str) and given.startswith("{") and len(given) <= _LITERAL_CHARACTERS_MAX:
        with suppress(ValueError, SyntaxError, TypeError, RecursionError, MemoryError, UsageError):
            given = plain(ast.literal_eval(given), LEVELS_AROUND)  # some tracers write Python's form of a mapping
    if not isinstance(given, Mapping):
        return {"input": given}
    named, positional, inputs = given.get("kwargs"), given.get("args"), given.get("inputs")
    if isinstance(named, Mapping) and set(given) <= {"args", "kwargs"}:
        return {**named, "args": positional} if positional else named
    if isinstance(inputs, Mapping) and "input_str" in given:
        return inputs
    return given


def final_message(spans: Iterable[Span]) -> str | None:
    """Return what an agent said at the end, `None` when it was not recorded.

    Args:
        spans: Of the whole run, then of its agents.
    """
    said: str | None = None
    for span in spans:
        found = _first(span.attributes, OUTPUT_MESSAGES, OUTPUT)
        text = None if found is None else "\n".join(_texts(found))
        if text is not None:
            said = text
    return said


def _texts(value: Plain) -> list[str]:
    """Return the texts of messages; of anything else all texts in it."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        parts = value.get("parts", value.get("content"))
        if parts is not None and ("role" in value or "type" in value):
            return _texts(parts)
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list | tuple):
        return [text for item in value for text in _texts(item)]
    return []


def _first_text(attributes: Mapping[str, Plain], *keys: str) -> str:
    for key in keys:
        value = attributes.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def _first(attributes: Mapping[str, Plain], *keys: str) -> Plain:
    """Return the first attribute that is there, with what JSON it holds read."""
    for key in keys:
        value = attributes.get(key)
        if value is not None:
            return _parsed(value)
    return None


def _parsed(value: Plain) -> Plain:
    """Return what a text in JSON says where that is a list or a mapping; any other value as it is."""
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return value
    try:
        parsed: Plain = json.loads(value)
        if value.count("[") + value.count("{") >= NESTING_MAX:  # it may nest so deeply; most need no closer look
            plain(parsed, LEVELS_AROUND)
    except (ValueError, RecursionError, UsageError):
        return value
    return parsed


def _flat(attributes: Mapping[str, Plain], *, answers: bool) -> Plain:
    """Return messages that stand in one attribute for each role and content, `None` when there are none."""
    found: dict[int, dict[str, Plain]] = {}
    for key, value in attributes.items():
        match = _FLAT.fullmatch(key)
        if match is not None and ((match["old"] or match["inference"]) in _ANSWERS) is answers:
            found.setdefault(int(match["index"]), {})[match["part"]] = value
    return [found[index] for index in sorted(found)] or None

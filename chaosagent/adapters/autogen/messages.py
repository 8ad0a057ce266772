"""What AutoGen asks a model and is answered, as plain data and back.

Ids of tool calls, which providers draw, do not cross: they are given here, `call-1`, `call-2`, ... in the order of a
conversation. What crosses of an answer is `{"content": text, "tool_calls": [{"name", "arguments"}], "finish_reason",
"usage", "thought", "logprobs"}`, without what is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast, get_args

from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    CreateResult,
    FinishReasons,
    FunctionExecutionResultMessage,
    LLMMessage,
    RequestUsage,
)
from pydantic import BaseModel, TypeAdapter, ValidationError

from chaosagent.adapters.core.calls import answer_from, arguments_text, calls_of, next_ids, parsed_arguments, text_of
from chaosagent.adapters.core.toolbox import as_listed
from chaosagent.canonical import Plain, digest_of

_ROLES = {
    "SystemMessage": "system",
    "UserMessage": "user",
    "AssistantMessage": "assistant",
    "FunctionExecutionResultMessage": "tool",
}
_TYPES = {role: kind for kind, role in _ROLES.items()}
_MESSAGES: TypeAdapter[list[Any]] = TypeAdapter(list[LLMMessage])
_FINISHED = frozenset(get_args(FinishReasons))
_CALLS = "function_calls"


def plain_messages(messages: Sequence[Any]) -> list[Plain]:
    """Return messages to a model as plain data."""
    dumped = _MESSAGES.dump_python(list(messages), mode="json", exclude_none=True)
    return [{"role": _ROLES[message["type"]], **_without(message, "type")} for message in dumped]


def messages_of(plain: Any) -> list[Any]:
    """Return messages to a model, made of plain data; what is no message any more is left out."""
    found: list[Any] = []
    for one in plain if isinstance(plain, list | tuple) else ():
        if not isinstance(one, Mapping):
            continue
        try:
            found += _MESSAGES.validate_python([{"type": _TYPES.get(str(one.get("role"))), **one}])
        except ValidationError:
            continue
    return found


def describe_tool(tool: Any) -> dict[str, Any]:
    """Return the description of a tool that a model gets: name, text and schema of its arguments."""
    schema = tool if isinstance(tool, Mapping) else tool.schema
    told = {"name": schema["name"], "description": schema.get("description", "")}
    return {**told, "parameters": schema["parameters"]} if "parameters" in schema else told


def tools_of(told: Any, tools: Sequence[Any]) -> list[Any]:
    """Return the tools that a model gets, as AutoGen has them; an unaltered one is the same object."""

    def altered(tool: Any, one: Mapping[str, Any]) -> Any:
        return {**(tool if isinstance(tool, Mapping) else tool.schema), **_named(one)}

    return as_listed(told, tools, describe_tool, altered, _named)


def _named(one: Mapping[str, Any]) -> dict[str, Any]:
    return {**one, "name": str(one.get("name", "")), "description": str(one.get("description"))}


def plain_options(options: Mapping[str, Any]) -> dict[str, Plain]:
    """Return what else an answer depends on: how tools are to be chosen, what form it has, extra arguments."""
    found: dict[str, Plain] = {}
    choice, form, extra = options["tool_choice"], options["json_output"], options["extra_create_args"]
    if choice != "auto":
        found["tool_choice"] = choice if isinstance(choice, str) else str(choice.name)
    if form is not None:
        is_schema = isinstance(form, type) and issubclass(form, BaseModel)
        found["output"] = digest_of(form.model_json_schema()) if is_schema else bool(form)
    if extra:
        found["settings"] = {
            name: value for name, value in sorted(extra.items()) if isinstance(value, str | bool | int | float)
        }
    return found


def call_ids(messages: Iterable[Any]) -> tuple[list[str], list[str]]:
    """Return the ids of the calls in a conversation, and of those whose results are in it, in order."""
    asked: dict[str, None] = {}
    answered: dict[str, None] = {}
    for message in messages:
        if isinstance(message, AssistantMessage) and not isinstance(message.content, str):
            asked.update((call.id, None) for call in message.content)
        elif isinstance(message, FunctionExecutionResultMessage):
            answered.update((result.call_id, None) for result in message.content)
    return list(asked), list(answered)


def answer_of(result: CreateResult) -> dict[str, Plain]:
    """Return an answer of a model as plain data."""
    calls = () if isinstance(result.content, str) else result.content
    answer: dict[str, Plain] = {
        "content": result.content if isinstance(result.content, str) else "",
        "tool_calls": [{"name": call.name, "arguments": parsed_arguments(call.arguments)} for call in calls],
        "finish_reason": result.finish_reason,
        "usage": {"prompt": result.usage.prompt_tokens, "completion": result.usage.completion_tokens},
    }
    if result.thought is not None:
        answer["thought"] = result.thought
    if result.cached:
        answer["cached"] = True
    if result.logprobs:
        answer["logprobs"] = [cast(Plain, one.model_dump(mode="json")) for one in result.logprobs]
    return answer


def result_of(told: Any, messages: Sequence[Any]) -> CreateResult:
    """Return an answer as AutoGen has it, made of what crossed, whatever was done to it.

    Text beside calls is the answer's `thought`, as AutoGen's own clients have it.
    """
    answer = answer_from(told)
    calls, text, thought = calls_of(answer), text_of(answer), answer.get("thought")
    reason = answer.get("finish_reason")
    if calls:
        thought, reason = thought or text or None, _CALLS
    elif reason == _CALLS or reason not in _FINISHED:
        reason = "stop" if reason in (None, _CALLS) else "unknown"
    ids = next_ids(call_ids(messages)[0], len(calls))
    made = [
        FunctionCall(id=id_, arguments=arguments_text(call.get("arguments")), name=str(call.get("name", "")))
        for id_, call in zip(ids, calls, strict=True)
    ]
    logprobs = answer.get("logprobs")
    return CreateResult(
        finish_reason=reason,
        content=made or text,
        usage=_usage_of(answer.get("usage")),
        cached=answer.get("cached") is True,
        logprobs=logprobs if isinstance(logprobs, list) else None,
        thought=thought if isinstance(thought, str) else None,
    )


def _usage_of(told: Any) -> RequestUsage:
    counts = [told.get(name) if isinstance(told, Mapping) else 0 for name in ("prompt", "completion")]
    prompt, completion = (count if isinstance(count, int) else 0 for count in counts)
    return RequestUsage(prompt_tokens=prompt, completion_tokens=completion)


def _without(message: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name != key}

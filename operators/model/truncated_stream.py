"""The answer of a model breaks off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.answers import arguments_json, tool_calls

_REASONS: Mapping[str, Plain] = {"finish_reason": "length", "stop_reason": "max_tokens"}


@dataclass(frozen=True, slots=True)
class TruncatedStream(OperatorDefaults):
    """The answer of the model breaks off, as at a token limit.

    First comes its content, a text or a list of parts, then one tool call after the other. Parts and calls behind the
    end are missing; of the part that it falls into, the text is cut, and of the call, the arguments are the beginning
    of their JSON. What has neither text nor arguments counts nothing. A `finish_reason` that is there becomes `length`,
    a `stop_reason` `max_tokens`; none is added.

    Attributes:
        share: How much is lost, at least one character.
    """

    name = "model.truncated_stream"
    by_default = False
    description = "the last {share:.0%} of the answer are missing"

    share: float = parameter(0.25, Levels(0.25, 0.75, limits=(0.01, 1.0)))

    @property
    def magnitude(self) -> float:
        """The share that is lost."""
        return self.share

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=self._cut(response.value))

    def _cut(self, value: Plain) -> Plain:
        if isinstance(value, str):
            return value[: self._kept(len(value))]
        if not isinstance(value, Mapping):
            return value
        content, calls = value.get("content"), tool_calls(value)
        said = [content] if isinstance(content, str) else list(content) if isinstance(content, list | tuple) else []
        said_length = sum(len(_written(part)) for part in said)
        length = said_length + sum(len(_written(call)) for call in calls)
        if not length:
            return value
        left = self._kept(length)
        cut: dict[str, Plain] = {**value, **{key: reason for key, reason in _REASONS.items() if key in value}}
        kept = _beginning(said, left)
        if isinstance(content, str):
            cut["content"] = "".join(map(_written, kept))
        elif said:
            cut["content"] = kept
        if calls:
            cut["tool_calls"] = _beginning(calls, left - said_length)
        return cut

    def _kept(self, length: int) -> int:
        return length - max(1, int(self.share * length))


def _beginning(parts: Sequence[Plain], left: int) -> list[Plain]:
    """Return the parts and calls that begin within so many characters; the last one is cut."""
    kept: list[Plain] = []
    for part in parts:
        text = _written(part)
        if left > 0:
            kept.append(part if left >= len(text) else _with_written(part, text[:left]))
        left -= len(text)
    return kept


def _written(part: Plain) -> str:
    """Return what a model writes for a part of its content or a tool call, as far as it is text or arguments."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return ""
    key = _key_of(part)
    if key == "function":
        return _written(part[key])
    return "" if part.get(key) is None else arguments_json(part[key])


def _with_written(part: Plain, text: str) -> Plain:
    if not isinstance(part, Mapping):
        return text
    key = _key_of(part)
    return {**part, key: _with_written(part[key], text) if key == "function" else text}


def _key_of(part: Mapping[str, Plain]) -> str:
    """Return where a part keeps what the model wrote: as text, arguments, or as the APIs of OpenAI and Anthropic do."""
    if isinstance(part.get("text"), str):
        return "text"
    if isinstance(part.get("function"), Mapping):
        return "function"
    return "input" if "input" in part and "arguments" not in part else "arguments"

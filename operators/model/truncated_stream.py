"""The answer of a model breaks off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Domain, Levels, Phase
from chaosagent.operators.answers import arguments_json, tool_calls
from chaosagent.vocabulary import Boundary

_REASONS: Mapping[str, Plain] = {"finish_reason": "length", "stop_reason": "max_tokens"}


@dataclass(frozen=True, slots=True)
class TruncatedStream:
    """The answer of the model breaks off, as at a token limit.

    First comes its content, then one tool call after the other. Calls behind the end are missing; of the call that it
    falls into, the arguments are the beginning of their JSON. A `finish_reason` that is there becomes `length`, a
    `stop_reason` `max_tokens`; none is added.

    Attributes:
        share: How much is lost, at least one character.
    """

    name: ClassVar[str] = "model.truncated_stream"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.MODEL})
    parameters: ClassVar[Mapping[str, Domain]] = {"share": Levels(0.25, 0.75, limits=(0.01, 1.0))}
    by_default: ClassVar[bool] = False

    share: float = 0.25

    @property
    def phase(self) -> Phase:
        """After: the call itself is untouched."""
        return Phase.AFTER

    @property
    def magnitude(self) -> float:
        """The share that is lost."""
        return self.share

    @property
    def tokens(self) -> int:
        """None: what a model writes is a fault here, which the magnitude counts."""
        return 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Cut the answer."""
        response = await proceed(crossing.request)
        return response._replace(value=self._cut(response.value))

    def describe(self) -> str:
        """Say in one line what it does."""
        return f"the last {self.share:.0%} of the answer are missing"

    def _cut(self, value: Plain) -> Plain:
        if isinstance(value, str):
            return value[: self._kept(len(value))]
        if not isinstance(value, Mapping):
            return value
        content, calls = value.get("content"), tool_calls(value)
        said = content if isinstance(content, str) else ""
        written = [arguments_json(call.get("arguments")) if isinstance(call, Mapping) else "" for call in calls]
        length = len(said) + sum(map(len, written))
        if not length:
            return value
        left = self._kept(length)
        cut: dict[str, Plain] = {**value, **{key: reason for key, reason in _REASONS.items() if key in value}}
        if said:
            cut["content"] = said[:left]
        left -= len(said)
        kept: list[Plain] = []
        for call, text in zip(calls, written, strict=True):
            if left > 0 and isinstance(call, Mapping):
                kept.append(call if left >= len(text) else {**call, "arguments": text[:left]})
            left -= len(text)
        if calls:
            cut["tool_calls"] = kept
        return cut

    def _kept(self, length: int) -> int:
        return length - max(1, int(self.share * length))

"""A part of the answer of a service is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter


@dataclass(frozen=True, slots=True)
class PartialResponse(OperatorDefaults):
    """The end of the answer is missing, and nothing says so.

    A list loses its last items, as when a page never came; a mapping the items of its longest list or, without
    one, its last keys in sorted order; a text its tail. Anything else stays.

    Attributes:
        share: How much is lost, at least one item, key or character; 1 leaves an empty answer.
    """

    name = "service.partial_response"
    monotone = "share"

    share: float = parameter(0.5, Levels(0.5, 1.0, limits=(0.01, 1.0)))

    @property
    def magnitude(self) -> float:
        """The share that is lost."""
        return self.share

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=self._cut(response.value))

    def describe(self) -> str:
        return "the answer is empty" if self.share == 1.0 else f"the last {self.share:.0%} of the answer is missing"

    def _cut(self, value: Plain) -> Plain:
        if isinstance(value, str | bytes | list | tuple):
            return value[: self._kept(len(value))]
        if not isinstance(value, Mapping):
            return value
        page = _longest_list(value)
        if page is None:
            return {key: value[key] for key in sorted(value)[: self._kept(len(value))]}
        return {key: self._cut(item) if key == page else item for key, item in value.items()}

    def _kept(self, length: int) -> int:
        return max(0, length - max(1, int(self.share * length)))


def _longest_list(value: Mapping[str, Plain]) -> str | None:
    sizes = {key: len(item) for key, item in value.items() if isinstance(item, list | tuple) and item}
    return min(sizes, key=lambda key: (-sizes[key], key), default=None)

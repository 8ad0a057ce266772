"""A monitor for contracts that only the end of a run decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from chaosagent.contracts.contract import End, Looks, Reading
from chaosagent.trace.step import Step


class AtEnd:
    """Looks at no step; its state is empty.

    Args:
        judge: Says what an end of a run means.
    """

    __slots__ = ("_judge",)

    looks: ClassVar[Looks] = Looks.NEVER

    def __init__(self, judge: Callable[[End], Reading]) -> None:
        self._judge = judge

    def step(self, step: Step) -> Reading | None:  # noqa: ARG002  # the protocol's
        """Say nothing."""
        return None

    def end(self, end: End) -> Reading:
        """Return what the end means."""
        return self._judge(end)

    def state(self) -> None:
        """Return nothing: the end decides."""

"""Awaits an operator, and refuses what rule R1 could not see.

R1 orders injections by the moment at which they begin to act: at the ask, or at the world's first answer. It is sound
as long as an operator acts at no other moment. So one that waits for anything but its crossing, or that first acts
because the agent gives the call up, ends the run with an error that names it.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from chaosagent.errors import PluginError
from chaosagent.faults.crossing import Response
from chaosagent.faults.injection import Injection

if TYPE_CHECKING:
    from chaosagent.execution.passage import Passage


class Supervised:
    """Applies the operator of an injection to a passage, once, when awaited.

    Args:
        injection: What acts.
        passage: On what.
    """

    __slots__ = ("_injection", "_passage")

    def __init__(self, injection: Injection, passage: Passage) -> None:
        self._injection, self._passage = injection, passage

    def __await__(self) -> Generator[Any, Any, Response]:
        passage = self._passage
        work = self._injection.operator.apply(passage, passage.proceed)
        resume, value = work.send, None
        while True:
            try:
                waited_for = resume(value)
            except StopIteration as stop:
                if passage.is_given_up:
                    raise self._refused("keeps the agent from giving its call up") from None
                result: Response = stop.value
                return result
            if not passage.is_waiting:
                work.close()
                raise self._refused("waits for something else than `proceed`, `crossing.sleep` or `crossing.disturbed`")
            try:
                value = yield waited_for
                resume = work.send
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:  # handed on: whatever is raised here is raised at what it waits for
                resume, value = work.throw, error

    def _refused(self, what: str) -> PluginError:
        return PluginError(
            f"{self._injection} {what}. An operator acts when the agent asks or when the world has answered, and only "
            "through its crossing; nothing could be proved with one that acts at other moments."
        )

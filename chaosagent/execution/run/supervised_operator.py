"""Awaits an operator and refuses what rule R1 could not see."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

from chaosagent.errors import ChaosAgentError, PluginError, UsageError
from chaosagent.execution.crash_location import RAISED
from chaosagent.execution.failures import message_of
from chaosagent.execution.run.passage import Passage
from chaosagent.faults.crossing import Response
from chaosagent.faults.dry import pack_response
from chaosagent.faults.injection import Injection


async def apply_injection(passage: Passage, injection: Injection) -> tuple[Response, bytes] | None:
    """Let an injection act on a passage, and return what the agent is given, with its canonical bytes.

    `None` for the world's own answer.

    Raises:
        PluginError: The operator raised, returned what it must not, or did what rule R1 could not see.
    """
    response = await _applied(passage, injection)
    try:
        packed = pack_response(response)
    except UsageError as error:
        raise PluginError(f"{injection} returned what cannot cross: {error}") from error
    is_same = passage.executed and packed == passage.response_bytes
    if not is_same:
        passage.act()
    passage.end()
    return None if is_same else (response, packed)


async def _applied(passage: Passage, injection: Injection) -> Response:
    """Return what an operator makes of a passage."""
    passage.begin(injection)
    try:
        response: object = await SupervisedOperator(injection, passage)
    except ChaosAgentError:
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if passage.is_given_up or passage.exception is error or (task is not None and task.cancelling()):
            raise
        raise _raised(injection, error) from error
    except RAISED as error:  # a plug-in's mistake must not look like one of the target
        raise _raised(injection, error) from error
    if not isinstance(response, Response):
        raise PluginError(f"{injection} returned {type(response).__name__}; operators return a Response.")
    return response


def _raised(injection: Injection, error: BaseException) -> PluginError:
    return PluginError(f"{injection} raised {type(error).__name__}: {message_of(error)}")


class SupervisedOperator:
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

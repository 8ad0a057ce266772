"""A crew's models behind doors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Protocol

from crewai.llms.base_llm import BaseLLM
from crewai.llms.retry import (
    _retry_after_seconds,
    arun_with_rate_limit_retry,
    get_retry_delay_seconds,
    run_with_rate_limit_retry,
)
from pydantic import PrivateAttr

from chaosagent.adapters.core.threads import Threads
from chaosagent.adapters.crewai.copies import class_of, named_after, recast

_PLACES = ("tools", "callbacks", "available_functions", "from_task", "from_agent", "response_model")
"""The arguments of a call of a model behind its messages, in CrewAI's order."""

Speaker = Callable[[], str]
"""Says who asks."""


class ModelDoors(Protocol):
    """What models use of the doors of a run; see `chaosagent.adapters.crewai.doors.CrewDoors`."""

    threads: Threads

    def next_call(self) -> str: ...

    async def complete(
        self,
        agent: str,
        model: Any,
        call: tuple[Any, Mapping[str, Any], str],
        ask: Callable[[Any], Any],
        *,
        native: bool = False,
    ) -> Any: ...


def door_model(model: Any, doors: ModelDoors, speaker: Speaker) -> Any:
    """Return a copy of a model whose answers come through a door; anything else as it is."""
    if not isinstance(model, BaseLLM):
        return model
    kind = type(model) if isinstance(model, _DoorMark) else _kind(class_of(model))
    return recast(model, kind, _token_usage=dict(model._token_usage), _door=(doors, speaker))


class _DoorMark:
    """Marks models that have their door."""


@lru_cache(maxsize=256)
def _kind(kind: Any) -> Any:
    """Return a kind of model with a door before it.

    CrewAI calls a client again when it says that it is asked too often. That is done here, before the door, so that
    each attempt crosses; behind it, the client knows that it is done.
    """

    class DoorModel(_DoorMark, kind):  # type: ignore[misc]  # what kind of model is known at run time only
        _door: Any = PrivateAttr(default=None)

        def call(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            doors, speaker = self._door
            given = dict(zip(_PLACES, args, strict=False)) | kwargs
            ask, pause = partial(_with, super().call, given), Pause(doors)
            asked = (messages, given, doors.next_call())

            def attempt() -> Any:
                with pause.noting():
                    return doors.threads.now(lambda: doors.complete(speaker(), self, asked, ask))

            return run_with_rate_limit_retry(attempt, sleep=pause.of_thread)

        async def acall(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            doors, speaker = self._door
            given = dict(zip(_PLACES, args, strict=False)) | kwargs
            ask, pause = partial(_with, super().acall, given), Pause(doors)
            asked, here = (messages, given, doors.next_call()), asyncio.get_running_loop()

            def ask_there(
                altered: Any,
            ) -> Any:  # the client goes on working on its loop, and a thread waits for the run
                return asyncio.run_coroutine_threadsafe(ask(altered), here).result()

            async def attempt() -> Any:
                with pause.noting():
                    if doors.threads.is_here():
                        return await doors.complete(speaker(), self, asked, ask, native=True)
                    return await doors.threads.later(lambda: doors.complete(speaker(), self, asked, ask_there))

            return await arun_with_rate_limit_retry(attempt, sleep=pause.of_loop)

        call._crewai_rate_limit_wrapped = True  # type: ignore[attr-defined]  # how CrewAI marks what it has wrapped
        acall._crewai_rate_limit_wrapped = True  # type: ignore[attr-defined]

    return named_after(DoorModel, kind)


def _with(call: Callable[..., Any], given: Mapping[str, Any], messages: Any) -> Any:
    return call(messages, **given)


class Pause:
    """The pauses of CrewAI between attempts, by the run's clock; their jitter, which is random, is at its middle."""

    def __init__(self, doors: ModelDoors) -> None:
        self._doors, self._attempts = doors, 0
        self._error: Exception | None = None

    def noting(self) -> _Noting:
        """Note how an attempt ends, inside a `with` block."""
        return _Noting(self)

    def of_thread(self, _: float) -> None:
        """Wait in a thread."""
        self._doors.threads.now(lambda: asyncio.sleep(self._seconds()))

    async def of_loop(self, _: float) -> None:
        """Wait on any loop."""
        await self._doors.threads.later(lambda: asyncio.sleep(self._seconds()))

    def failed(self, error: Exception) -> None:
        """Remember how the last attempt failed."""
        self._attempts += 1
        self._error = error

    def _seconds(self) -> float:
        assert self._error is not None
        told = _retry_after_seconds(self._error)
        return float(get_retry_delay_seconds(self._attempts, retry_after_seconds=told, random_value=lambda: 0.5))


class _Noting:
    def __init__(self, pause: Pause) -> None:
        self._pause = pause

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, Exception):
            self._pause.failed(error)

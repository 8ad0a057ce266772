"""A frozen clock for AgentDojo's tools, which stamp e-mails and files with the wall clock.

Only the modules that stamp are touched, only while one of their tools runs for us, and only their name `datetime`:
other users of AgentDojo in the same process keep the real clock.
"""

from __future__ import annotations

import datetime
import importlib
from types import ModuleType, TracebackType
from typing import Any

NOW = datetime.datetime(2024, 5, 15, 12, 0)  # noqa: DTZ001  # AgentDojo's times have no zone; its day in `workspace`
STAMPING = (
    "agentdojo.default_suites.v1.tools.email_client",
    "agentdojo.default_suites.v1.tools.cloud_drive_client",
)


class _FrozenClass:
    """Stands for the class `datetime.datetime`."""

    def __getattr__(self, name: str) -> Any:
        return getattr(datetime.datetime, name)

    def __call__(self, *arguments: Any, **named: Any) -> datetime.datetime:
        return datetime.datetime(*arguments, **named)  # noqa: DTZ001  # with what the caller gave

    @staticmethod
    def now(zone: datetime.tzinfo | None = None) -> datetime.datetime:
        return NOW if zone is None else NOW.replace(tzinfo=zone)


class _FrozenModule:
    """Stands for the module `datetime`."""

    datetime = _FrozenClass()

    def __getattr__(self, name: str) -> Any:
        return getattr(datetime, name)


_FROZEN = _FrozenModule()


class FrozenClock:
    """Inside `with`, AgentDojo's tools believe that it is always `NOW`."""

    __slots__ = ("_modules",)

    def __init__(self) -> None:
        self._modules: tuple[ModuleType, ...] = tuple(importlib.import_module(name) for name in STAMPING)

    def __enter__(self) -> None:
        for module in self._modules:
            module.datetime = _FROZEN  # type: ignore[attr-defined]  # the name that the tools look up

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for module in self._modules:
            module.datetime = datetime  # type: ignore[attr-defined]  # as it was

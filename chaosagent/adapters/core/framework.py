"""The framework that an adapter is written for: its packages, the supported versions, and the event loop it needs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cache

from chaosagent.errors import TargetError
from chaosagent.extras import require, require_version


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework and the versions of it that its adapter was tested with.

    Attributes:
        adapter: The adapter's package, such as `"chaosagent.adapters.autogen"`.
        extra: The extra of chaosagent that installs the framework.
        module: What the adapter imports, such as `"autogen_agentchat.agents"`.
        packages: Each package as it is installed, with the first supported version and the first unsupported one after
            it; the same bounds as in `pyproject.toml`.
    """

    adapter: str
    extra: str
    module: str
    packages: tuple[tuple[str, str, str], ...]

    def check(self) -> None:
        """Check that a supported version of the framework is installed.

        Raises:
            MissingExtraError: The framework is not installed.
            UsageError: Its version is not supported.
        """
        _check(self)


@cache
def _check(framework: Framework) -> None:
    for package, lowest, below in framework.packages:
        require_version(package, lowest=lowest, below=below, extra=framework.extra, needed_by=framework.adapter)
    require(framework.module, extra=framework.extra, needed_by=framework.adapter)


def check_loop(framework: str, hint: str = "") -> None:
    """Refuse a synchronous target whose framework needs an event loop.

    Args:
        framework: As its users call it.
        hint: What else the user must change, as a whole sentence.

    Raises:
        TargetError: No event loop is running.
    """
    if asyncio._get_running_loop() is None:
        more = f" {hint}" if hint else ""
        raise TargetError(f"Agents of {framework} run on an event loop: make the target an `async def`.{more}")

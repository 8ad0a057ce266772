"""MCP servers behind the proxy: where they are, and what is known about their tools."""

from __future__ import annotations

import shlex
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

from chaosagent.adapters.doors import Tools
from chaosagent.adapters.mcp import FRAMEWORK
from chaosagent.errors import UsageError
from chaosagent.proxy.upstream import Joined
from chaosagent.proxy.workspace import Surroundings
from chaosagent.targets.target import Run

URLS = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server behind the proxy; implements `chaosagent.proxy.upstream.McpUpstream`.

    Attributes:
        server: Its URL (streamable HTTP), or the command that starts it (stdio); split as a shell does it, but no shell
            runs it.
        tools: What is known about its tools, by their names.
        folder: In which the command runs; the working directory when `None`.
    """

    server: str
    tools: Tools = field(default_factory=Tools)
    folder: Path | None = None

    @property
    def has_url(self) -> bool:
        """Whether it is reached over HTTP."""
        return self.server.startswith(URLS)

    @property
    def words(self) -> tuple[str, ...]:
        """The command that starts it."""
        return tuple(shlex.split(self.server))

    def check_installed(self) -> None:
        FRAMEWORK.check()

    def check(self, name: str) -> None:
        problem = ""
        if self.has_url:
            problem = "" if self.server.partition("://")[2].strip("/") else "the URL names no host"
        else:
            try:
                problem = "" if self.words else "it is empty"
            except ValueError as error:
                problem = f"the command cannot be split: {error}"
        if problem:
            raise UsageError(
                f"MCP server {name}={self.server!r}: {problem}. Write a URL such as http://127.0.0.1:9000/mcp, or the "
                "command that starts it, such as 'node shop.mjs'."
            )

    def join(self, run: Run, name: str, surroundings: Surroundings) -> AbstractAsyncContextManager[Joined]:
        from chaosagent.adapters.mcp.behind import expose_server, started  # need the SDK

        place = self.server if self.has_url else started(name, self.words, self.folder, surroundings.workspace)
        return expose_server(run, name, self.tools, place, surroundings)

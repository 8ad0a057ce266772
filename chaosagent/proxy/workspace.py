"""What the processes of one run share: a temporary folder, environment variables, and files for what servers print."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, Self

from chaosagent.proxy.concurrency import CallOrder
from chaosagent.proxy.world_errors import UpstreamErrors
from chaosagent.temporary_folder import temporary_folder

STDERR_MAX = 1_000_000
"""Bytes of what a process prints that are kept, the last ones."""

PLACEHOLDER = "chaosagent-run"
"""What traces say in the place of the folder's own name."""
BASE = "/tmp"  # no file is opened there: it is what traces say in the place of the real one

_TEMPORARY = ("TMPDIR", "TEMP", "TMP")
"""Where Python, Node.js, Go, Ruby and the shell look for a place for temporary files."""
_TEXTS_OF_ERRORS = ("args", "message", "filename", "filename2")


class Workspace:
    """What the processes of one run share. Use it in a `with` block, which removes the folder.

    Args:
        variables: Of the environment, for the agent and the servers that the run starts.
        fresh: Temporary files of these processes go to the folder.

    Attributes:
        folder: Made for this run.
        variables: With those that name the folder.
        notes: What the author of the agent should know of the run when it fails.
    """

    def __init__(self, variables: Mapping[str, str], *, fresh: bool) -> None:
        self._opened = contextlib.ExitStack()
        self.folder = self._opened.enter_context(temporary_folder())
        temporary = self.folder / "tmp"
        temporary.mkdir()
        self.variables = {**(dict.fromkeys(_TEMPORARY, str(temporary)) if fresh else {}), **variables}
        self.notes: list[str] = []
        self._stderr: dict[str, IO[bytes]] = {}
        self._names = {str(self.folder): f"{BASE}/{PLACEHOLDER}", self.folder.name: PLACEHOLDER}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._stderr.values():
            file.close()
        self._opened.close()

    def stderr_of(self, server: str) -> IO[bytes]:
        """Return the file for what a server prints to stderr; all processes of that server share it."""
        if server not in self._stderr:
            self._stderr[server] = (self.folder / f"stderr-{len(self._stderr)}").open("a+b")
        return self._stderr[server]

    def note(self, about: str, text: str) -> None:
        """Keep a text for the author of the agent, unless it is empty."""
        if text.strip():
            self.notes.append(f"{about}\n{text.strip()}")

    @property
    def printed(self) -> tuple[str, ...]:
        """What servers have printed to stderr, in the order of their names, each below a line that names the server."""
        said = ((name, end_of(self._stderr[name]).strip()) for name in sorted(self._stderr))
        return tuple(f"stderr of the MCP server {name!r}\n{text}" for name, text in said if text)

    def hidden(self, value: Any) -> Any:
        """Return plain data with a fixed path in the place of the folder's, which is another one in every run."""
        return _changed(value, self._names)

    def restored(self, value: Any) -> Any:
        """Return plain data with the folder's path in the place of the fixed one."""
        return _changed(value, {fixed: own for own, fixed in self._names.items()})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an MCP server shares with the other parts of a run.

    Attributes:
        troubles: Is told what goes wrong behind the doors.
        entrance: Lets calls in, those of models and services too.
        over: Is set when the run can go no further.
        workspace: Of the processes of the run.
    """

    troubles: UpstreamErrors
    entrance: CallOrder
    over: asyncio.Event
    workspace: Workspace | None = None


@contextlib.contextmanager
def hidden_in_errors(workspace: Workspace | None) -> Iterator[None]:
    """Hide the folder in the texts of what is raised in a `with` block; without a workspace change nothing."""
    try:
        yield
    except Exception as error:
        if workspace is not None:
            for name in _TEXTS_OF_ERRORS:
                text = getattr(error, name, None)
                with contextlib.suppress(AttributeError):  # some are read-only
                    if text:  # an `OSError` without a file would have one that is `None`
                        setattr(error, name, workspace.hidden(text))
        raise


def end_of(file: IO[bytes]) -> str:
    """Return the end of what was written to a file."""
    size = file.seek(0, 2)
    file.seek(max(0, size - STDERR_MAX))
    return file.read().decode("utf-8", "replace")


def change_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return plain data with every text in it changed; names of mappings, too, and bytes that are text."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, bytes):
        with contextlib.suppress(UnicodeError):
            return change(value.decode()).encode()
        return value
    if isinstance(value, list | tuple):
        return type(value)([change_texts(item, change) for item in value])
    if isinstance(value, dict):
        return {change_texts(name, change): change_texts(item, change) for name, item in value.items()}
    return value


def _changed(value: Any, names: Mapping[str, str]) -> Any:
    def change(text: str) -> str:
        for before, after in names.items():
            if before in text:
                text = text.replace(before, after)
        return text

    return change_texts(value, change)

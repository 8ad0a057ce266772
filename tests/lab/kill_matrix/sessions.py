"""One session of a search, how it is ended, and what it leaves: processes and temporary files."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chaosagent.clock import monotonic, pause

LINGER_SECONDS = 5.0
"""How long a process may outlive a search."""
MARK = "CHAOSAGENT_KILLS"
"""A variable that all processes of a session inherit."""
PRINTED_MAX = 1_500


@dataclass(frozen=True, slots=True)
class Ending:
    """A way to end a search.

    Attributes:
        signals: Sent one after the other.
        to_group: As a terminal does: to all processes of the group.
        is_orderly: The search can still do something.
        codes: Exit codes of a search that was ended so; a negative one is that of a process that had not come to
            say what the signal does.
    """

    signals: tuple[signal.Signals, ...]
    to_group: bool = False
    is_orderly: bool = True

    @property
    def codes(self) -> tuple[int, ...]:
        return -self.signals[0], *([130] if self.is_orderly else [])


ENDINGS: Mapping[str, Ending] = {
    "SIGKILL": Ending((signal.SIGKILL,), is_orderly=False),
    "SIGTERM": Ending((signal.SIGTERM,)),
    "SIGINT": Ending((signal.SIGINT,), to_group=True),
    "SIGTERM twice": Ending((signal.SIGTERM, signal.SIGTERM)),
    "SIGINT twice": Ending((signal.SIGINT, signal.SIGINT), to_group=True),
}


class Session:
    """Begins a search in a process of its own, or continues it.

    Args:
        study: The study file.
        folder: Where the study comes into `out`.
        executor: Where the runs happen.
        program: What Python is given: the command line.
    """

    def __init__(self, study: Path, folder: Path, executor: str, program: Sequence[str]) -> None:
        self.folder, self.out = folder, folder / "out"
        self._temporary = Path(tempfile.mkdtemp(prefix="k"))  # a short path: Ray makes sockets below it
        self._mark = secrets.token_hex(8)
        resume = ["--resume"] if self.has_store else []
        options = [
            "--out",
            str(self.out),
            "--executor",
            executor,
            *([] if executor == "inline" else ["--workers", "2"]),
        ]
        temporary, self._begun = str(self._temporary), monotonic()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, *program, "search", str(study), *options, *resume],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={
                    **os.environ,
                    MARK: self._mark,
                    "TMPDIR": temporary,
                    "RAY_TMPDIR": temporary,
                },
            )

    @property
    def _log(self) -> Path:
        return self.folder / "printed"

    @property
    def has_store(self) -> bool:
        """Whether there is something to resume."""
        return (self.out / "study.db").exists()

    @property
    def printed(self) -> str:
        """The end of what it has printed."""
        return self._log.read_text("utf-8", "replace")[-PRINTED_MAX:]

    def let_end(self, seconds_max: float) -> tuple[int, float, bool]:
        """Wait for its end; return its exit code, the seconds from its start, and that nobody has ended it."""
        try:
            code = self._process.wait(max(1.0, seconds_max - (monotonic() - self._begun)))
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        return code, monotonic() - self._begun, True

    def end(self, ending: str, moment: float, again: float, seconds_max: float) -> tuple[int, float, bool]:
        """End it; return its exit code, the seconds from its start, and whether it was over before.

        Args:
            ending: One of `ENDINGS`.
            moment: Seconds from its start to the signal.
            again: Seconds from that to a second one.
            seconds_max: When it is killed.
        """
        how, was_over = ENDINGS[ending], False
        for number, sent in enumerate(how.signals):
            pause(max(0.0, moment + number * again - (monotonic() - self._begun)))
            was_over = was_over or (not number and self._process.poll() is not None)
            if self._process.poll() is None:
                (os.killpg if how.to_group else os.kill)(self._process.pid, sent)
        code, lasted, _ = self.let_end(seconds_max)
        return code, lasted, was_over

    def left_running(self) -> list[str]:
        """Return the processes that outlive it by more than a moment, a line each; they are ended."""
        since = monotonic()
        while (left := processes_of(self._mark)) and monotonic() - since < LINGER_SECONDS:
            pause(0.05)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return [f"process {pid} outlives it: {command}" for pid, command in left.items()]

    def temporary_files(self) -> list[str]:
        """Return the names of what lies in the folder for temporary files, and remove it."""
        names = sorted(path.name for path in self._temporary.iterdir())
        shutil.rmtree(self._temporary, ignore_errors=True)
        return names


def processes_of(mark: str) -> dict[int, str]:
    """Return the command lines of all processes whose environment has a mark."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() in (place / "environ").read_bytes():
                command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                found[int(place.name)] = command[:300]
    return found


def names_in(folder: Path) -> list[str]:
    """Return the names of all files below a folder, and of empty folders."""
    places = sorted(folder.rglob("*")) if folder.exists() else []
    return [str(one.relative_to(folder)) for one in places if not one.is_dir() or not any(one.iterdir())]

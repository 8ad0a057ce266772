"""Where a target's prints go while it runs: to stderr, the beginning of them, so that stdout stays the caller's."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from typing import TextIO

from chaosagent.execution.captured_output import CapturedOutput
from chaosagent.report.formats.github import inert
from chaosagent.report.printable import printable

STDOUT, STDERR = 1, 2
_ONE_AT_A_TIME = threading.RLock()
"""Python's streams belong to the whole process: a search in another thread waits."""


class TargetOutput(CapturedOutput):
    """Takes what a target prints, and remembers the caller's streams.

    Args:
        stdout: Of the caller.
        stderr: Of the caller; what is shown of the target goes there.
    """

    def __init__(self, stdout: TextIO, stderr: TextIO) -> None:
        super().__init__(stderr, self._show_on_console)
        self._stdout = stdout

    @contextlib.contextmanager
    def interrupted(self) -> Iterator[None]:
        """Give the caller its streams back for a while."""
        with contextlib.redirect_stdout(self._stdout), contextlib.redirect_stderr(self.original):
            yield

    def _show_on_console(self, line: str) -> None:
        self.original.write(inert(printable(line)) + "\n")
        self.original.flush()


@contextlib.contextmanager
def target_output_to_stderr(*, descriptors: bool) -> Iterator[TargetOutput]:
    """Send what a target prints to stderr: the beginning is shown, and the rest is counted.

    Args:
        descriptors: Also what does not go through Python's streams: of C libraries and other processes. It is for a
            program that owns its stdout.

    Yields:
        What takes it; its `original` is where progress goes, its `left_out` the number of bytes that were not shown.
    """
    with _ONE_AT_A_TIME, _redirected(TargetOutput(sys.stdout, sys.stderr), descriptors=descriptors) as printed:
        yield printed


@contextlib.contextmanager
def _redirected(printed: TargetOutput, *, descriptors: bool) -> Iterator[TargetOutput]:
    stream = printed.stream()
    below = _descriptor_to_stderr() if descriptors else contextlib.nullcontext()
    try:
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream), below:
            yield printed
    finally:
        printed.finish()


@contextlib.contextmanager
def _descriptor_to_stderr() -> Iterator[None]:
    original = sys.__stdout__
    try:
        if original is None or original.closed or original.fileno() != STDOUT:
            raise ValueError
        original.flush()
        kept = os.dup(STDOUT)
    except (OSError, ValueError):
        yield  # there is no such stream
        return
    try:
        os.dup2(STDERR, STDOUT)
        yield
    finally:
        os.dup2(kept, STDOUT)
        os.close(kept)

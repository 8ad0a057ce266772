"""Where a target's prints go while it runs: to stderr, the beginning of them, so that stdout stays the caller's."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from typing import TextIO

from chaosagent.execution.printed import Printed
from chaosagent.report.printable import printable

STDOUT, STDERR = 1, 2
_ONE_AT_A_TIME = threading.RLock()
"""Python's streams belong to the whole process: a search in another thread waits."""


@contextlib.contextmanager
def target_output_to_stderr(*, descriptors: bool) -> Iterator[Printed]:
    """Send what a target prints to stderr: the beginning is shown, and the rest is counted.

    Args:
        descriptors: Also what does not go through Python's streams: of C libraries and other processes. It is for a
            program that owns its stdout.

    Yields:
        What takes it; its `original` is where progress goes, its `left_out` the number of bytes that were not shown.
    """
    with _ONE_AT_A_TIME, _redirected(sys.stderr, descriptors=descriptors) as printed:
        yield printed


@contextlib.contextmanager
def _redirected(console: TextIO, *, descriptors: bool) -> Iterator[Printed]:
    def show(line: str) -> None:
        console.write(printable(line) + "\n")
        console.flush()

    printed = Printed(console, show)
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

"""Where a target's prints go while it runs: to stderr, the beginning of them, so that stdout stays the caller's."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from chaosagent.execution.printed import Printed
from chaosagent.report.printable import printable

STDOUT, STDERR = 1, 2


@contextlib.contextmanager
def target_output_to_stderr(*, descriptors: bool) -> Iterator[Printed]:
    """Send what a target prints to stderr: the beginning is shown, and the rest is counted.

    Args:
        descriptors: Also what does not go through Python's streams: of C libraries and other processes. It is for a
            program that owns its stdout.

    Yields:
        What takes it; its `original` is where progress goes, its `left_out` the number of bytes that were not shown.
    """
    console = sys.stderr

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

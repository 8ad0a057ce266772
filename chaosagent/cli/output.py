"""Where the answer of a verb goes: stdout, as a page for people or as one JSON object for machines."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from typing import TextIO

from chaosagent.canonical import Plain
from chaosagent.execution.printed import Printed
from chaosagent.report.page import Look, Page
from chaosagent.report.printable import printable

COLUMNS_MIN = 60
MARKS = "→✗×≤≥"
STDOUT, STDERR = 1, 2


def answer(page: Page) -> None:
    """Print a page for people."""
    sys.stdout.write(page.text(look_of(sys.stdout)))
    sys.stdout.flush()


def answer_json(data: Mapping[str, Plain]) -> None:
    """Print one JSON object; characters that a terminal could act on are escaped."""
    print(json.dumps(data, indent=2, ensure_ascii=True, allow_nan=False))


def remark(text: str) -> None:
    """Say something beside the answer, on stderr."""
    lines = text.split("\n")
    sys.stderr.write("".join(printable(line) + "\n" for line in lines))
    sys.stderr.flush()


def look_of(stream: TextIO) -> Look:
    """Return how a page should look on a stream: wrapped and coloured on a terminal, plain elsewhere."""
    on_terminal = stream.isatty()
    columns = max(COLUMNS_MIN, shutil.get_terminal_size((100, 24)).columns) if on_terminal else None
    colour = on_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Look(columns, colour, ascii_only=not _writes(stream, MARKS))


def make_safe(*streams: TextIO) -> None:
    """Let streams write what their encoding does not know as escapes instead of failing."""
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def stdout_for_answers() -> Iterator[Printed]:
    """Send what a target prints to stderr, the beginning of it: stdout holds the answer and nothing else.

    Yields:
        What takes it; its `original` is where progress goes.
    """
    console = sys.stderr

    def show(line: str) -> None:
        console.write(printable(line) + "\n")
        console.flush()

    printed = Printed(console, show)
    stream = printed.stream()
    try:
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream), _descriptor_for_answers():
            yield printed
    finally:
        printed.finish()
        if printed.left_out:
            remark(f"chaosagent: the target printed {printed.left_out:,} more bytes, which are left out")


@contextlib.contextmanager
def _descriptor_for_answers() -> Iterator[None]:
    """Do the same for what does not go through Python's streams: C libraries, other processes."""
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


def _writes(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True

"""Where the answer of a verb goes: stdout, as a page for people or as one JSON object for machines."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from chaosagent.report.formats.github import inert, is_here
from chaosagent.report.printable import printable

if TYPE_CHECKING:
    from chaosagent.canonical import Plain
    from chaosagent.execution.captured_output import CapturedOutput
    from chaosagent.report.page import Look, Page

COLUMNS_MIN = 60
MARKS = "→✗×≤≥"


def answer(page: Page) -> None:
    """Print a page for people."""
    sys.stdout.write(inert(page.text(look_of(sys.stdout))))
    sys.stdout.flush()


def answer_json(data: Mapping[str, Plain], *, on_one_line: bool = False) -> None:
    """Print one JSON object; characters that a terminal could act on are escaped."""
    text = json.dumps(data, indent=None if on_one_line else 2, ensure_ascii=True, allow_nan=False)
    print(_inert_json(text), flush=on_one_line)


def answer_json_line(text: str) -> None:
    """Print a line that is JSON already."""
    print(_inert_json(text))


def _inert_json(text: str) -> str:
    """Return the same JSON without what GitHub's runner takes for a command: `##[` can only stand in a string."""
    return text.replace("##[", "#\\u0023[")


def answer_lines(text: str) -> None:
    """Print lines for a program, as they are; whoever waits for them reads them at once."""
    print(text, flush=True)


def remark(text: str) -> None:
    """Say something beside the answer, on stderr."""
    lines = text.split("\n")
    sys.stderr.write("".join(inert(printable(line)) + "\n" for line in lines))
    sys.stderr.flush()


def command(line: str) -> None:
    """Write a command of GitHub's runner to stderr."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def look_of(stream: TextIO) -> Look:
    """Return how a page should look on a stream: wrapped and coloured on a terminal, plain elsewhere."""
    from chaosagent.report.page import Look

    on_terminal = stream.isatty()
    columns = max(COLUMNS_MIN, shutil.get_terminal_size((100, 24)).columns) if on_terminal else None
    colour = on_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Look(columns, colour, ascii_only=not _writes(stream, MARKS))


def check_place(path: Path) -> None:
    """Refuse a file that could not be written, before work is done that would be lost.

    Raises:
        UsageError: Its folder does not exist, or may not be written to; or it is a folder.
    """
    from chaosagent.errors import UsageError

    folder = path.parent
    if not folder.is_dir():
        raise UsageError(f"--out {path}: there is no folder {folder}. Make it, or choose another file.")
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise UsageError(f"--out {path}: it cannot be written. Choose another file.")


def make_safe(*streams: TextIO) -> None:
    """Let streams write what their encoding does not know as escapes instead of failing."""
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def stdout_for_answers() -> Iterator[CapturedOutput]:
    """Send what a target prints to stderr, the beginning of it: stdout holds the answer and nothing else.

    Yields:
        What takes it; its `original` is where progress goes.
    """
    from chaosagent.api.target_output import target_output_to_stderr

    try:
        with _commands_stopped(), target_output_to_stderr(descriptors=True) as printed:
            yield printed
    finally:
        if printed.left_out:
            remark(f"chaosagent: the target printed {printed.left_out:,} more bytes, which are left out")


@contextlib.contextmanager
def _commands_stopped() -> Iterator[None]:
    """Let GitHub's runner obey nothing that is printed meanwhile, also by processes that write to our descriptors.

    All of it goes to stderr, so the order is kept. Nobody can guess the token. Each command begins with an end of line,
    as what is before it may have none.
    """
    if not is_here():
        yield
        return
    token = secrets.token_hex(16)
    command(f"\n::stop-commands::{token}")
    try:
        yield
    finally:
        command(f"\n::{token}::")


def _writes(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True

"""Output that a target prints: the beginning is shown without secrets, the rest is counted, no terminal obeys it."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TextIO, TypeAlias

from chaosagent.trace.redact import are_secrets_known, without_secrets

SHOWN_BYTES_MAX = 10_000

Buffer: TypeAlias = "bytes | bytearray | memoryview"


class CapturedOutput(io.BufferedIOBase):
    """The far end of a stream that a target prints to; closing it does nothing, since others print there, too.

    Args:
        original: The stream in whose place it stands.
        show: Takes each line, and sees to it that the line does nothing to a terminal.
        bytes_max: So much is shown, over all runs; the first of them has most to say.

    Attributes:
        original: As given.
        show: As given; may be exchanged.
        left_out: How many bytes were not shown.
    """

    def __init__(
        self, original: TextIO, show: Callable[[str], object] = str, *, bytes_max: int = SHOWN_BYTES_MAX
    ) -> None:
        self.original, self.show = original, show
        self.left_out = 0
        self._room = bytes_max
        self._line = b""

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    @property
    def name(self) -> str:
        """What Python calls such a stream."""
        return "<printed by the target>"

    def write(self, data: Buffer, /) -> int:  # type: ignore[override]  # Python 3.11 has no name for all that is bytes
        """Show what there is room for, line by line, and count the rest."""
        given = memoryview(data)
        size = given.nbytes
        if self._room > 0:
            taken = given.tobytes()[: self._room]
            self._room -= len(taken)
            self.left_out += size - len(taken)
            whole, end, self._line = (self._line + taken).rpartition(b"\n")
            if self._line and are_secrets_known():  # the rest of a secret of several lines may be still to come
                self._line = whole + end + self._line
            elif end:
                self._show(whole)
            if self._room == 0 and are_secrets_known():  # what is left of a secret that is cut matches no pattern
                self.left_out += len(self._line)
                self._line = b""
        else:
            self.left_out += size
        return size

    def fileno(self) -> int:
        """Return the file descriptor of the original, for a target that hands it to a process of its own."""
        return self.original.fileno()

    def close(self) -> None:
        """Do nothing: a target that closes its output must not close that of the next run."""

    def finish(self) -> None:
        """Show what was printed without an end of line."""
        line, self._line = self._line, b""
        if line:
            self._show(line)

    def stream(self) -> io.TextIOWrapper:
        """Return the near end, to be put in the place of `sys.stdout` and `sys.stderr`."""
        return io.TextIOWrapper(self, encoding="utf-8", errors="backslashreplace", write_through=True)

    def _show(self, lines: bytes) -> None:
        """Show lines that were printed together, for a secret may have several lines."""
        text = lines.decode("utf-8", "backslashreplace")
        for line in without_secrets(text).split("\n"):
            self.show(line)

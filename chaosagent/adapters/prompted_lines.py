"""Lines for a program that prompts: it gets the next one when it has printed a prompt and waits.

    tasks:
      - {id: one, stdin: {"Order:": A-17, "Anything else?": "no"}}
      - {id: two, stdin: {">": [My parcel never came., A-17, quit]}}

A prompt is what stands at the end of stdout, spaces and line breaks apart; of several that fit, the longest counts. A
prompt with several lines gets one each time; when it has had all, stdin ends, as if somebody typed Ctrl-D. The lines
are a part of the task's input, under `stdin`, so that a record keeps them. The final message has them where they were
typed, as a terminal shows them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

POLL_SECONDS = 0.005
TAIL_BYTES = 4_096
"""A prompt is looked for in so many bytes at the end of stdout."""
SHOWN_MAX = 200
KEY = "stdin"

Lines = Mapping[str, Sequence[str]]


def lines_in(input_: Any) -> Lines:
    """Return the lines for each prompt that a task's input holds; none where it holds none."""
    found = input_.get(KEY) if isinstance(input_, Mapping) else None
    if not isinstance(found, Mapping):
        return {}
    return {
        str(prompt): [lines] if isinstance(lines, str) else [str(line) for line in lines]
        for prompt, lines in found.items()
        if isinstance(lines, str | list | tuple)
    }


class PromptedLines:
    """Types lines into a program.

    Args:
        lines: For each prompt.
        pipe: Where to make the named pipe that is the program's stdin.
        printed: The file that its stdout goes to.
    """

    def __init__(self, lines: Lines, pipe: Path, printed: IO[bytes]) -> None:
        self._left = {prompt.strip(): list(of_prompt) for prompt, of_prompt in lines.items()}
        self._printed, self._seen, self._tail = printed, 0, ""
        self._typed: list[tuple[int, str]] = []
        os.mkfifo(pipe)
        # For reading too, so that this does not wait for the program to open it, nor the program for this.
        self._writing = os.open(pipe, os.O_RDWR)

    async def type(self, busy: Callable[[], bool]) -> None:
        """Type each line when its prompt is there and the program waits; then end stdin.

        Args:
            busy: Whether the program is doing something, as far as can be seen.
        """
        while True:
            size = -1
            while size != (size := self._size()) or busy() or (prompt := self._prompt(size)) is None:
                await asyncio.sleep(POLL_SECONDS)
            self._seen = size
            line = self._left[prompt].pop(0) if self._left[prompt] else None
            self._typed.append((size, f"{line or ''}\n"))
            if line is None:
                return self.close()
            os.write(self._writing, f"{line}\n".encode())

    def close(self) -> None:
        """End stdin; once more does nothing."""
        if self._writing >= 0:
            os.close(self._writing)
            self._writing = -1

    def transcript(self, said: str) -> str:
        """Return what the program has printed as a terminal would show it: with the lines that were typed.

        Args:
            said: All of stdout.
        """
        parts, begin, whole = list[bytes](), 0, said.encode()
        for place, line in self._typed:
            parts += [whole[begin:place], line.encode()]
            begin = place
        return b"".join([*parts, whole[begin:]]).decode("utf-8", "replace")

    @property
    def remark(self) -> str:
        """Say which lines were not typed, and what the program has printed last."""
        left = ", ".join(repr(prompt) for prompt, lines in self._left.items() if lines) or "none"
        return (
            f"prompts with lines that were not typed: {left}. The end of stdout since the last line: "
            f"{self._tail[-SHOWN_MAX:]!r}. A line is typed when stdout ends with its prompt, so the program has to "
            "flush what it prints."
        )

    def _size(self) -> int:
        return os.fstat(self._printed.fileno()).st_size

    def _prompt(self, size: int) -> str | None:
        """Return the prompt at the end of what was printed since the last line."""
        begin = max(self._seen, size - TAIL_BYTES)
        self._tail = os.pread(self._printed.fileno(), size - begin, begin).decode("utf-8", "replace").rstrip()
        return max((prompt for prompt in self._left if self._tail.endswith(prompt)), key=len, default=None)

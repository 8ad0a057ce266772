"""The course of a run: the checkpoints that it came through, and what acted between them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from chaosagent.faults.evaluation import Act
from chaosagent.faults.injection import Injection

State: TypeAlias = tuple[bytes, bytes]
"""The fingerprint of the target, and that of the monitor of the contract that is searched."""

START: State = (b"", b"")
NOTHING: frozenset[Injection] = frozenset()


class Mark(NamedTuple):
    """A checkpoint that a run came through.

    Attributes:
        position: Among everything that acted in the run; -1 for its start.
        state: All that its future depended on.
    """

    position: int
    state: State


class Course(NamedTuple):
    """The checkpoints of a run and what acted in it, each in order."""

    marks: tuple[Mark, ...]
    acts: tuple[Act, ...]

    def stretches(self) -> Iterator[tuple[Mark, frozenset[Injection], Mark | None]]:
        """Yield each checkpoint, what acted behind it, and the checkpoint after that, `None` where the run ended."""
        number, (marks, acts) = 0, self
        count = len(acts)
        for mark, later in zip(marks, (*marks[1:], None), strict=True):
            begun = number
            while number < count and (later is None or acts[number].position <= later.position):
                number += 1
            acted = NOTHING if begun == number else frozenset([act.injection for act in acts[begun:number]])
            yield mark, acted, later

    def marks_from(self, position: int) -> tuple[Mark, ...]:
        """Return the checkpoints at a position and behind it, without the start."""
        return self.marks[max(1, bisect_left(self.marks, position, key=_position)) :]

    def stretch_of(self, position: int) -> tuple[Mark, frozenset[Injection]]:
        """Return the last checkpoint before a position, and what acted between the two."""
        mark = self.marks[max(0, bisect_left(self.marks, position, key=_position) - 1)]
        acted = [act.injection for act in self.acts if mark.position < act.position < position]
        return mark, frozenset(acted) if acted else NOTHING


_position = attrgetter("position")
BEGIN = Mark(-1, START)
"""Where every run begins."""

"""Numbers for what decides about the injections that are possible at crossings: equal numbers, equal injections.

Most crossings of a run are equal to those of runs before it, so each is looked at once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import inf
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from chaosagent.faults.dry import RecordedCrossing

Key: TypeAlias = tuple[int, object]
"""The number of the content of a crossing, and what tells apart the histories that operators may read there."""

CROSSINGS_MAX = 20_000
"""How many crossings are remembered; then they are looked at anew."""

_NO_PAST = (0, -1)
_answered = attrgetter("answered")


class _Read(NamedTuple):
    """What was found out of one crossing, in whatever run.

    Attributes:
        content: Number of what decides about the injections that are possible there; see `content_of`.
        exchange: Number of what a history shows of it; 0 when it is in none.
        interface: Through which it goes.
        asked: Position of the ask.
        answered: Position of the answer, -1 when there was none.
        alone: Nothing else acted between the two.
        history_unclear: From its ask on the history of the interface cannot be read.
    """

    content: int
    exchange: int
    interface: str
    asked: int
    answered: int
    alone: bool
    history_unclear: bool


class _History(NamedTuple):
    """What was answered through one interface of a run, in that order.

    Attributes:
        answered: Positions of the answers.
        exchanges: Numbers of what a history shows of them.
        unclear_from: Behind this position it cannot be read.
    """

    answered: list[int]
    exchanges: tuple[int, ...]
    unclear_from: float

    def before(self, now: int) -> tuple[int, ...] | None:
        """Return what an operator reads of it at a position; `None` when it is unclear, so that it is not read."""
        return None if self.unclear_from < now else self.exchanges[: bisect_left(self.answered, now)]


class Numbers:
    """Numbers contents of crossings, and histories.

    Args:
        history_matters: Some operator reads history.
    """

    def __init__(self, *, history_matters: bool) -> None:
        self._history_matters = history_matters
        self._reads: dict[RecordedCrossing, _Read] = {}
        self._contents: dict[tuple[object, ...], int] = {}
        self._exchanges: dict[tuple[object, ...], int] = {}
        self._pasts: dict[tuple[int, int], int] = {}

    @property
    def count(self) -> int:
        """How many contents, or histories, have a number."""
        return max(len(self._contents), len(self._exchanges), len(self._pasts))

    def forget(self) -> None:
        """Begin anew; numbers that were given are given again, and mean something else."""
        for known in (self._reads, self._contents, self._exchanges, self._pasts):
            known.clear()

    def keys_of(self, crossings: Sequence[RecordedCrossing]) -> Sequence[Key]:
        """Return, for each crossing of a run, its content, and what may be read there of its interface.

        Where one crossing followed on the other that is a number, which follows from the one before it. What never was
        answered is in no history.
        """
        if len(self._reads) >= CROSSINGS_MAX:
            self._reads.clear()
        known = self._reads
        reads = [known.get(crossing) or self._read(crossing) for crossing in crossings]
        if not self._history_matters:
            return [(read.content, None) for read in reads]
        numbers = self._pasts
        last: dict[str, tuple[int, int]] = {}  # by interface: the number, -1 where calls overlap; the last answer
        histories: dict[str, _History] = {}  # of the interfaces where they do
        found: list[tuple[int, object]] = []
        for content, exchange, interface, asked, answered, alone, _ in reads:
            past, before = last.get(interface, _NO_PAST)
            if past < 0 or not alone or before > asked:
                history = histories.get(interface)
                if history is None:
                    history = histories[interface] = _history([read for read in reads if read.interface == interface])
                found.append((content, (history.before(asked), history.before(answered))))
                past = -1
            else:
                found.append((content, past))
                if exchange:
                    past = numbers.setdefault((past, exchange), len(numbers) + 1)
            last[interface] = past, before if before > answered else answered
        return found

    def _read(self, crossing: RecordedCrossing) -> _Read:
        """Return what is found out of a crossing that was not seen before."""
        content = self._contents.setdefault(content_of(crossing), len(self._contents) + 1)
        exchange = 0
        if crossing.answered >= 0 or crossing.history_unclear:
            shown = (crossing.request, crossing.response, crossing.history_unclear)
            exchange = self._exchanges.setdefault(shown, len(self._exchanges) + 1)
        place, asked, answered = crossing.place, crossing.asked, crossing.answered
        unclear = crossing.history_unclear
        read = _Read(content, exchange, place.interface, asked, answered, crossing.alone, unclear)
        self._reads[crossing] = read
        return read


def _history(reads: Sequence[_Read]) -> _History:
    """Return the history of an interface of which these are the crossings."""
    answered = sorted((read for read in reads if read.answered >= 0), key=_answered)
    unclear_from = min((read.asked for read in reads if read.history_unclear), default=inf)
    return _History([read.answered for read in answered], tuple([read.exchange for read in answered]), unclear_from)


def content_of(crossing: RecordedCrossing) -> tuple[object, ...]:
    """Return what decides about the injections that are possible at a crossing, but for what was asked there before."""
    return (
        crossing.place,
        crossing[2:5],  # request, response, earlier
        crossing.read_only,
        crossing.alone,
        crossing.at_once,
        crossing.history_unclear,  # then it cannot be read behind the answer, whatever came before
        crossing.answered >= 0,
        crossing.answered_at == crossing.asked_at,
        round(crossing.answered_at - crossing.asked_at, 9),
    )

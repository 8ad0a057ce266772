"""What a search asked in earlier sessions, so that its searcher need not find it out again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chaosagent.study.checked_searcher import CheckedSearcher
from chaosagent.study.searcher import Proposal, Purpose


@dataclass(frozen=True, slots=True)
class StoredTrials:
    """The trials of one search that a store holds.

    Attributes:
        asked: How many of them the searcher asked for; the others shrink a violation.
        read: Returns some of them in their order, from a number on; none behind the last.
    """

    asked: int = 0
    read: Callable[[int], Sequence[Proposal]] = lambda _: ()


NO_TRIALS = StoredTrials()


class AskedBefore:
    """Asks a searcher, and hands it what it asked in an earlier session as long as that is stored.

    The searcher asks the same with and without it. What turns out to belong to another search is not used any more.

    Args:
        stored: The trials of the search.
    """

    def __init__(self, stored: StoredTrials = NO_TRIALS) -> None:
        self._read, self._left = stored.read, stored.asked
        self._first, self._part = 0, deque[Proposal]()

    def ask(self, searcher: CheckedSearcher, room: int, number: int) -> list[Proposal]:
        """Return what a searcher asks.

        Args:
            searcher: Of the search.
            room: For so many proposals; where there was none, the trial that comes next shrinks a violation.
            number: Of the trial that comes next.
        """
        if not room:
            return searcher.ask(room)
        proposal = self._stored(number) if self._left else None
        if proposal is None:
            self._left = 0
            return searcher.ask(room)
        self._left -= 1
        proposals = searcher.ask_as_before(proposal, self._left)
        if proposals != [proposal]:
            self._left = 0
        return proposals

    def _stored(self, number: int) -> Proposal | None:
        """Return what a trial was, `None` where it is not stored, or was not asked for by the searcher."""
        while self._part and self._first < number:
            self._part.popleft()
            self._first += 1
        if not self._part:
            self._first, self._part = number, deque(self._read(number))
        found = self._part[0] if self._part else None
        return None if found is None or found.purpose is Purpose.SHRINK else found

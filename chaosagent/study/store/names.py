"""Texts that many rows of a store share, such as ids and injections: it keeps each of them once, under a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chaosagent.study.store.tables import Row


class NameWriter:
    """Gives texts their numbers, and writes those that are new.

    Args:
        insert: Writes a row of the table `name`.
        known: Texts by their numbers that the store holds already.
    """

    def __init__(self, insert: Callable[[Row], object], known: Mapping[int, str]) -> None:
        self._insert = insert
        self._numbers = {text: number for number, text in known.items()}
        self._last = max(known, default=0)

    def number_of(self, text: str) -> int:
        """Return the number of a text."""
        number = self._numbers.get(text)
        if number is None:
            self._last += 1
            number = self._numbers[text] = self._last
            self._insert((number, text))
        return number

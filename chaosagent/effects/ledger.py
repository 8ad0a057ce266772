"""Which effects of a run are new: an idempotent one that is committed again is no second effect."""

from __future__ import annotations

from chaosagent.canonical import Plain
from chaosagent.vocabulary import Effect, Impact


class Ledger:
    """The idempotent effects that were committed in one run so far."""

    __slots__ = ("_written",)

    def __init__(self) -> None:
        self._written: set[str] = set()

    def new(self, effects: tuple[Effect, ...], *, idempotent: bool = False) -> tuple[Effect, ...]:
        """Take what a call committed, and return what of it counts.

        Something compensating may undo what was written, so from there on writing it again counts again.

        Args:
            effects: In the order in which they were committed.
            idempotent: The same again is no second effect.
        """
        for effect in effects if self._written else ():
            if effect.impact is Impact.COMPENSATING:
                self._written.clear()
        if not idempotent:
            return effects
        found: list[Effect] = []
        for effect in effects:
            if effect.key not in self._written:
                found.append(effect)
                self._written.add(effect.key)
        return tuple(found)

    def state(self) -> list[Plain]:
        """Return what the future depends on, as plain data."""
        return [*sorted(self._written)]

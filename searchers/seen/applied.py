"""What the operators of a space would do to crossings, found once for all searches of a study (rule R2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from chaosagent.faults.dry import Deviation, DryKind, RecordedCrossing, apply_dry, is_interchangeable
from chaosagent.faults.space import Priced, Space
from chaosagent.searchers.seen.numbers import content_of, past_of

KNOWN_MAX = 4_096
"""For so many crossings it is remembered; then all is forgotten, which changes nothing of what is found."""


class Applied(NamedTuple):
    """An operator, and when it would begin to act at a crossing."""

    priced: Priced
    deviation: Deviation


AllApplied: TypeAlias = tuple[tuple[Applied, ...], tuple[tuple[Applied, Applied | None], ...]]
"""What is to be tried at a crossing, and what rule R2 leaves out, with what has the same outcome."""

_known_in: WeakKeyDictionary[Space, dict[tuple[object, ...], AllApplied]] = WeakKeyDictionary()
"""By space, as the searches of a study share it, and mostly their runs, too."""


class AppliedOperators:
    """Applies all operators of a space to crossings, dry, and remembers what came of it for whoever has the same space.

    Args:
        space: What may be injected where.
        seed: Of the runs.
        dry: Whether rule R2 is used.
        kinds_matter: The kind of a fault is part of an outcome's identity, as containment needs it.
    """

    def __init__(self, space: Space, seed: int, *, dry: bool, kinds_matter: bool) -> None:
        self._space, self._seed, self._dry, self._kinds_matter = space, seed, dry, kinds_matter
        self._history_matters = space.reads_history
        self._known = _known_in.setdefault(space, {})

    def at(self, crossing: RecordedCrossing, history: list[RecordedCrossing]) -> AllApplied:
        """Return what is to be tried at a crossing, and what is not.

        Args:
            crossing: Of an executed run.
            history: All crossings of that run through the same interface, as they were answered.
        """
        past = past_of(crossing, history) if self._history_matters else None
        key = (self._seed, self._dry, self._kinds_matter, content_of(crossing), past)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            place = crossing.place
            everything = self._space.at(crossing.boundary, place.interface, place.agent)
            known = self._known[key] = self._apply_all(everything, crossing, history)
        return known

    def _apply_all(
        self, everything: Iterable[Priced], crossing: RecordedCrossing, history: list[RecordedCrossing]
    ) -> AllApplied:
        """Return what is to be tried at a crossing, and what R2 leaves out, with what has the same outcome."""
        kept: list[Applied] = []
        left_out: list[tuple[Applied, Applied | None]] = []
        seen: dict[tuple[object, ...], Applied] = {}
        interchangeable = is_interchangeable(crossing, history_matters=self._history_matters)
        for priced in everything:
            operator = priced.operator
            outcome = apply_dry(operator, crossing, history, self._seed, history_matters=self._history_matters)
            applied = Applied(priced, outcome.deviation)
            if outcome.kind is DryKind.UNPREDICTABLE or not self._dry:
                kept.append(applied)
                continue
            if outcome.no_op:
                left_out.append((applied, None))
                continue
            at_answer = outcome.deviation is Deviation.ANSWER and not interchangeable
            identity = (outcome.key, at_answer, operator.name if self._kinds_matter else "")
            representative = seen.setdefault(identity, applied)
            if representative is applied:
                kept.append(applied)
            else:
                left_out.append((applied, representative))
        return tuple(kept), tuple(left_out)

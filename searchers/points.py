"""Where an injection could act in an executed run, and what it could do there (rules R1 and R2)."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from chaosagent.faults.dry import DryKind, RecordedCrossing, apply_dry, is_interchangeable
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Injection, Place, hook_at, inject
from chaosagent.faults.operator import Phase
from chaosagent.faults.space import Priced, Space


class Candidate(NamedTuple):
    """An injection that could be added to an executed run.

    Attributes:
        cost: What it costs when it lands.
        position: When it would act, among everything that acted in that run.
        injection: What and where.
    """

    cost: float
    position: int
    injection: Injection


class Pruned(NamedTuple):
    """An injection that rule R2 found unnecessary.

    Attributes:
        candidate: The injection.
        representative: The cheaper one with the same outcome at the same point; `None` when it changes nothing.
    """

    candidate: Candidate
    representative: Injection | None


class Expansion(NamedTuple):
    """What could be added to an executed run.

    Attributes:
        candidates: In the order of cost, then of acting.
        pruned: What rule R2 left out.
    """

    candidates: tuple[Candidate, ...]
    pruned: tuple[Pruned, ...]


class Expander:
    """Finds what could be added to executed runs; remembers what was the same before.

    Args:
        space: What may be injected where.
        seed: Of the runs.
        dry: Whether rule R2 is used.
        kinds_matter: The kind of a fault is part of an outcome's identity, as containment needs it.
    """

    def __init__(self, space: Space, seed: int, *, dry: bool = True, kinds_matter: bool = False) -> None:
        self._space, self._seed, self._dry, self._kinds_matter = space, seed, dry, kinds_matter
        self._history_matters = space.reads_history
        self._known: dict[tuple[object, ...], tuple[tuple[Priced, ...], tuple[tuple[Priced, Priced | None], ...]]] = {}

    def expand(self, evaluation: Evaluation, *, after: int, before: float = float("inf")) -> Expansion:
        """Return what could be added to a run.

        Args:
            evaluation: The run.
            after: Only at points that act behind this position (rule R1); -1 for all.
            before: Only at points that act at or before this position.
        """
        taken = {injection.hook for injection in evaluation.schedule}
        histories: dict[str, list[RecordedCrossing]] = defaultdict(list)
        for crossing in evaluation.crossings:
            histories[crossing.place.interface].append(crossing)
        candidates: list[Candidate] = []
        pruned: list[Pruned] = []
        for crossing in evaluation.crossings:
            if max(crossing.asked, crossing.answered) <= after or crossing.asked > before:
                continue
            if any(hook.matches(crossing.place) for hook in taken):
                continue
            kept, left_out = self._choices(crossing, histories[crossing.place.interface])
            for priced in kept:
                position = acts_at(priced, crossing)
                if position is not None and after < position <= before:
                    candidates.append(_candidate(priced, position, crossing.place))
            for priced, representative in left_out:
                position = acts_at(priced, crossing)
                if position is not None and after < position <= before:
                    better = (
                        None if representative is None else inject(hook_at(crossing.place), representative.operator)
                    )
                    pruned.append(Pruned(_candidate(priced, position, crossing.place), better))
        candidates.sort(key=lambda candidate: (candidate.cost, candidate.position))
        return Expansion(tuple(candidates), tuple(pruned))

    def _choices(
        self, crossing: RecordedCrossing, history: list[RecordedCrossing]
    ) -> tuple[tuple[Priced, ...], tuple[tuple[Priced, Priced | None], ...]]:
        """Return the operators worth trying at a crossing, and those that are not, with their representatives."""
        place = crossing.place
        everything = self._space.at(crossing.boundary, place.interface, place.agent)
        if not self._dry:
            return everything, ()
        key = (
            place,
            crossing.request,
            crossing.response,
            crossing.earlier,
            crossing.alone,
            crossing.at_once,
            crossing.answered >= 0,
            round(crossing.answered_at - crossing.asked_at, 9),
            tuple(
                (past.request, past.response, past.history_unclear, past.answered < crossing.asked)
                for past in sorted(history, key=lambda past: past.answered)
                if past.asked < crossing.asked or 0 <= past.answered < crossing.answered
            )
            if self._history_matters
            else (),
        )
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._apply_all(everything, crossing, history)
        return known

    def _apply_all(
        self, everything: tuple[Priced, ...], crossing: RecordedCrossing, history: list[RecordedCrossing]
    ) -> tuple[tuple[Priced, ...], tuple[tuple[Priced, Priced | None], ...]]:
        kept: list[Priced] = []
        left_out: list[tuple[Priced, Priced | None]] = []
        seen: dict[tuple[object, ...], Priced] = {}
        interchangeable = is_interchangeable(crossing, history_matters=self._history_matters)
        for priced in everything:
            operator = priced.operator
            outcome = apply_dry(operator, crossing, history, self._seed, history_matters=self._history_matters)
            if outcome.kind is DryKind.UNPREDICTABLE:
                kept.append(priced)
                continue
            if outcome.no_op:
                left_out.append((priced, None))
                continue
            at_answer = operator.phase is Phase.AFTER and not interchangeable
            identity = (outcome.key, at_answer, operator.name if self._kinds_matter else "")
            representative = seen.setdefault(identity, priced)
            if representative is priced:
                kept.append(priced)
            else:
                left_out.append((priced, representative))
        return tuple(kept), tuple(left_out)


def acts_at(priced: Priced, crossing: RecordedCrossing) -> int | None:
    """Return when an operator would act at a crossing; `None` when the world never answered and it acts on answers."""
    if priced.operator.phase is not Phase.AFTER:
        return crossing.asked
    return crossing.answered if crossing.answered >= 0 else None


def _candidate(priced: Priced, position: int, place: Place) -> Candidate:
    return Candidate(priced.cost, position, inject(hook_at(place), priced.operator))

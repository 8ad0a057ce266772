"""Where an injection could act in an executed run, and what it could do there (rules R1 and R2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from operator import attrgetter, itemgetter
from typing import NamedTuple

from chaosagent.faults.dry import DryKind, RecordedCrossing, apply_dry, is_interchangeable
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Hook, Injection, Place, hook_at, inject
from chaosagent.faults.operator import Phase
from chaosagent.faults.schedule import Schedule
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


class _Choice(NamedTuple):
    """An injection at a place, whenever a run comes there.

    Attributes:
        cost: What it costs when it lands.
        injection: What and where.
        acts_on_answer: It acts when the world has answered, else when it is asked.
    """

    cost: float
    injection: Injection
    acts_on_answer: bool

    def at(self, asked: int, answered: int) -> Candidate | None:
        """Return the candidate when the crossing is asked and answered at positions; `None` where that is -1."""
        position = answered if self.acts_on_answer else asked
        return None if position < 0 else Candidate(self.cost, position, self.injection)


class _Choices:
    """What could be injected at a crossing, and what need not be, with what has the same outcome.

    Runs differ little in when things act, so what was found at a position is kept for the next run.
    """

    __slots__ = ("_kept", "_known", "_left_out")

    def __init__(self, kept: Iterable[_Choice], left_out: Iterable[tuple[_Choice, Injection | None]]) -> None:
        self._kept, self._left_out = tuple(kept), tuple(left_out)
        self._known: dict[tuple[int, int], Expansion] = {}

    def at(self, asked: int, answered: int, after: int) -> Expansion:
        """Return what acts behind a position, when the crossing is asked and answered at others."""
        key = (asked if asked > after else -1, answered if answered > after else -1)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Expansion(
                tuple(found for choice in self._kept if (found := choice.at(*key)) is not None),
                tuple(
                    Pruned(found, representative)
                    for choice, representative in self._left_out
                    if (found := choice.at(*key)) is not None
                ),
            )
        return known


_cost_and_position = itemgetter(0, 1)
_answered = attrgetter("answered")


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
        self._known: dict[tuple[object, ...], _Choices] = {}

    def expand(
        self,
        evaluation: Evaluation,
        *,
        after: int,
        places: Collection[Place] | None = None,
        to: Schedule | None = None,
    ) -> Expansion:
        """Return what could be added to a run.

        Args:
            evaluation: The run.
            after: Only at points that act behind this position (rule R1); -1 for all.
            places: Only at these; `None` for all.
            to: The schedule to which it is added; `None` for the one that was run.
        """
        taken = {injection.hook for injection in (evaluation.schedule if to is None else to)}
        histories: dict[str, list[RecordedCrossing]] = defaultdict(list)
        for crossing in evaluation.crossings:
            histories[crossing.place.interface].append(crossing)
        if self._history_matters and self._dry:
            for history in histories.values():
                history.sort(key=_answered)
        candidates: list[Candidate] = []
        pruned: list[Pruned] = []
        for crossing in evaluation.crossings:
            asked, answered = crossing.asked, crossing.answered
            if max(asked, answered) <= after or (places is not None and crossing.place not in places):
                continue
            if any(hook.matches(crossing.place) for hook in taken):
                continue
            choices = self._choices(crossing, histories[crossing.place.interface])
            found = choices.at(asked, answered, after)
            candidates += found.candidates
            pruned += found.pruned
        candidates.sort(key=_cost_and_position)
        return Expansion(tuple(candidates), tuple(pruned))

    def _choices(self, crossing: RecordedCrossing, history: list[RecordedCrossing]) -> _Choices:
        """Return the injections worth trying at a crossing, and those that are not, with their representatives."""
        key = (
            content_of(crossing),
            tuple(
                (past.request, past.response, past.history_unclear, past.answered < crossing.asked)
                for past in history
                if past.asked < crossing.asked or 0 <= past.answered < crossing.answered
            )
            if self._history_matters and self._dry
            else (),
        )
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._worked_out(crossing, history)
        return known

    def _worked_out(self, crossing: RecordedCrossing, history: list[RecordedCrossing]) -> _Choices:
        place = crossing.place
        everything = self._space.at(crossing.boundary, place.interface, place.agent)
        kept, left_out = self._apply_all(everything, crossing, history) if self._dry else (everything, ())
        hook = hook_at(place)
        return _Choices(
            tuple(_choice(priced, hook) for priced in kept),
            tuple(
                (_choice(priced, hook), None if twin is None else inject(hook, twin.operator))
                for priced, twin in left_out
            ),
        )

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


def content_of(crossing: RecordedCrossing) -> tuple[object, ...]:
    """Return what decides about the injections that are possible at a crossing, but for what was asked there before."""
    return (
        crossing.place,
        crossing.request,
        crossing.response,
        crossing.earlier,
        crossing.alone,
        crossing.at_once,
        crossing.answered >= 0,
        round(crossing.answered_at - crossing.asked_at, 9),
    )


def _choice(priced: Priced, hook: Hook) -> _Choice:
    return _Choice(priced.cost, inject(hook, priced.operator), priced.operator.phase is Phase.AFTER)

"""Where an injection could act in an executed run, and what it could do there (rules R1 and R2)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable, Sequence
from operator import attrgetter, itemgetter
from typing import NamedTuple

from chaosagent.faults.dry import (
    Deviation,
    DryKind,
    DryOutcome,
    RecordedCrossing,
    RecordedHistory,
    is_interchangeable,
)
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Injection, Place, hook_at
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.faults.space import Priced, Space
from chaosagent.searchers.seen.numbers import Key, Numbers


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


class Expansion:
    """What could be added to an executed run.

    Attributes:
        candidates: In the order of cost, then of acting.
        pruned: What rule R2 left out.
    """

    __slots__ = ("_pruned_costs", "_within", "candidates", "pruned")

    def __init__(self, candidates: Iterable[Candidate], pruned: Iterable[Pruned]) -> None:
        self.candidates = tuple(sorted(candidates, key=_cost_and_position))
        self.pruned = tuple(pruned)
        self._pruned_costs = sorted(one.candidate.cost for one in self.pruned)
        self._within: dict[int, tuple[Pruned, ...]] = {}

    def count_within(self, cost: float) -> int:
        """Return how many of the candidates cost at most so much: the first ones."""
        return bisect_right(self.candidates, cost, key=_cost)

    def pruned_within(self, cost: float) -> tuple[Pruned, ...]:
        """Return what rule R2 left out of what costs at most so much."""
        count = bisect_right(self._pruned_costs, cost)
        if count == len(self.pruned):
            return self.pruned
        known = self._within.get(count)
        if known is None:
            known = self._within[count] = tuple(one for one in self.pruned if one.candidate.cost <= cost)
        return known


class _Choice(NamedTuple):
    """An injection at a place, whenever a run comes there.

    Attributes:
        cost: What it costs when it lands.
        injection: What and where.
        deviation: When it begins to act.
    """

    cost: float
    injection: Injection
    deviation: Deviation

    def at(self, asked: int, answered: int) -> Candidate | None:
        """Return the candidate when the crossing is asked and answered at positions; `None` where that is -1."""
        position = self.deviation.position(asked, answered)
        return None if position < 0 else Candidate(self.cost, position, self.injection)


class OutOfOrder(NamedTuple):
    """What rule R1 does not add to an executed run, as it would act before what acted last there.

    Attributes:
        total: How many they are.
        parts: In which they are, with how many of the candidates of each.
        behind: Candidates behind this position are none of them.
    """

    total: int
    parts: Sequence[tuple[Part, int]]
    behind: int

    def candidate(self, number: int) -> Candidate:
        """Return one of them by its number, from 0."""
        for part, count in self.parts:
            early = [one for one in part.candidates[:count] if one.position <= self.behind]
            if number < len(early):
                return early[number]
            number -= len(early)
        raise IndexError(number)


class Part(NamedTuple):
    """What could be added to an executed run at one of its crossings.

    Attributes:
        number: Equal numbers mean equal parts.
        content: The same, but whenever the crossing was asked and answered.
        place: Where.
        candidates: In the order of cost.
        pruned: What rule R2 left out.
    """

    number: int
    content: int
    place: Place
    candidates: tuple[Candidate, ...]
    pruned: tuple[Pruned, ...]


class _Choices:
    """What could be injected at a crossing, and what need not be, with what has the same outcome.

    Runs differ little in when things act, so what was found at a position is kept for the next run.
    """

    __slots__ = ("_kept", "_left_out", "_place", "known", "number")

    def __init__(
        self,
        number: int,
        place: Place,
        kept: Iterable[_Choice],
        left_out: Iterable[tuple[_Choice, Injection | None]],
    ) -> None:
        self.number, self._place = number, place
        self._kept, self._left_out = tuple(kept), tuple(left_out)
        self.known: dict[tuple[int, int], Part] = {}

    def at(self, asked: int, answered: int, number: int) -> Part:
        """Return what acts when the crossing is asked and answered at positions, as a part with a number of its own."""
        return Part(
            number,
            self.number,
            self._place,
            tuple(found for choice in self._kept if (found := choice.at(asked, answered)) is not None),
            tuple(
                Pruned(found, representative)
                for choice, representative in self._left_out
                if (found := choice.at(asked, answered)) is not None
            ),
        )


class _Reading(NamedTuple):
    """What was found out of one run.

    Attributes:
        of: The run.
        keys: For each crossing, what tells apart what may be injected there.
        histories: Of interfaces that were looked at.
    """

    of: Evaluation
    keys: Sequence[Key]
    histories: dict[str, RecordedHistory]

    def history(self, interface: str) -> RecordedHistory:
        """Return what the run asked through an interface."""
        known = self.histories.get(interface)
        if known is None:
            crossings = (one for one in self.of.crossings if one.place.interface == interface)
            known = self.histories[interface] = RecordedHistory(crossings)
        return known


KNOWN_MAX = 20_000
"""How many contents of crossings, and how many expansions, are remembered; then all are forgotten."""

_cost = attrgetter("cost")
_cost_and_position = itemgetter(0, 1)
_part_number = itemgetter(0)


class Expander:
    """Finds what could be added to executed runs; remembers what was the same before, for all searches of a space.

    Args:
        space: What may be injected where.
        seed: Of the runs.
        dry: Whether rule R2 is used.
        kinds_matter: The kind of a fault is part of an outcome's identity, as containment needs it.
    """

    def __init__(self, space: Space, seed: int, *, dry: bool = True, kinds_matter: bool = False) -> None:
        self._space, self._seed, self._dry, self._kinds_matter = space, seed, dry, kinds_matter
        self._history_matters = space.reads_history
        self._numbers = Numbers(history_matters=self._history_matters)
        self._known: dict[Key, _Choices] = {}
        self._merged: dict[tuple[int, ...], Expansion] = {}
        self._next_number = 0
        self._reading = _Reading(Evaluation(EMPTY), (), {})

    def expand(self, evaluation: Evaluation, *, after: int, to: Schedule | None = None) -> Expansion:
        """Return what could be added to a run.

        Args:
            evaluation: The run.
            after: Only at points that act behind this position (rule R1); -1 for all.
            to: The schedule to which it is added; `None` for the one that was run.
        """
        return self.merged(self.parts(evaluation, after=after, to=to))

    def merged(self, parts: Sequence[Part]) -> Expansion:
        """Return what several parts of one run are together."""
        key = tuple(map(_part_number, parts))
        known = self._merged.get(key)
        if known is None:
            if len(self._merged) >= KNOWN_MAX:
                self._merged.clear()
            known = self._merged[key] = Expansion(
                [candidate for part in parts for candidate in part.candidates],
                [pruned for part in parts for pruned in part.pruned],
            )
        return known

    def parts(self, evaluation: Evaluation, *, after: int, to: Schedule | None = None) -> list[Part]:
        """Return what could be added to a run, by crossings in the order of asking; see `expand`."""
        taken = (evaluation.schedule if to is None else to).injections
        return self._parts_at(range(len(evaluation.crossings)), evaluation, after, taken)

    def parts_at(self, evaluation: Evaluation, places: Container[Place]) -> list[Part]:
        """Return what could be added to a run at some places; see `parts`."""
        numbers = [number for number, one in enumerate(evaluation.crossings) if one.place in places]
        return self._parts_at(numbers, evaluation, -1, evaluation.schedule.injections)

    def unseen_parts(self, evaluation: Evaluation, seen: Container[int]) -> list[Part]:
        """Return what could be added to a run, but for the parts whose content is among some; see `parts`."""
        known, keys = self._known, self._reading_of(evaluation).keys
        unseen = [number for number, key in enumerate(keys) if key not in known or known[key].number not in seen]
        return self._parts_at(unseen, evaluation, -1, evaluation.schedule.injections)

    def left_out(self, evaluation: Evaluation, *, after: int, cost: float) -> OutOfOrder:
        """Return what could be added to a run for at most some cost, but would act at a position or before it."""
        taken, reading = evaluation.schedule.injections, self._reading_of(evaluation)
        parts: list[tuple[Part, int]] = []
        total = 0
        for number, crossing in enumerate(evaluation.crossings):
            asked, answered = crossing.asked, crossing.answered
            if asked > after or _is_taken(crossing.place, taken):
                continue
            part = self._part(reading, number, asked, answered)
            count = bisect_right(part.candidates, cost, key=_cost)
            early = count
            if answered > after:
                early = sum(one.position <= after for one in part.candidates[:count])
            if early:
                parts.append((part, count))
                total += early
        return OutOfOrder(total, parts, after)

    def _parts_at(
        self, numbers: Iterable[int], evaluation: Evaluation, after: int, taken: Sequence[Injection]
    ) -> list[Part]:
        """Return the parts at some crossings of a run, but for those that are taken."""
        reading, found = self._reading_of(evaluation), list[Part]()
        for number in numbers:
            crossing = evaluation.crossings[number]
            asked, answered = crossing.asked, crossing.answered
            if (asked <= after and answered <= after) or (taken and _is_taken(crossing.place, taken)):
                continue
            at = (asked if asked > after else -1, answered if answered > after else -1)
            found.append(self._part(reading, number, *at))
        return found

    def _part(self, reading: _Reading, number: int, asked: int, answered: int) -> Part:
        """Return what could be added at one crossing of a run.

        Args:
            reading: Of the run.
            number: Of the crossing.
            asked: Position of its ask, -1 if nothing may act there.
            answered: Position of its answer, -1 if nothing may act there.
        """
        key = reading.keys[number]
        choices = self._known.get(key)
        if choices is None:
            crossing = reading.of.crossings[number]
            history = reading.history(crossing.place.interface)
            choices = self._known[key] = self._worked_out(crossing, history)
        part = choices.known.get((asked, answered))
        if part is None:
            part = choices.known[asked, answered] = choices.at(asked, answered, self._new_number())
        return part

    def _reading_of(self, evaluation: Evaluation) -> _Reading:
        """Return what is to be found out of a run; a run is mostly read several times before the next one is."""
        if evaluation is self._reading.of:
            return self._reading
        if max(len(self._known), self._numbers.count) >= KNOWN_MAX:
            self._known.clear()
            self._numbers.forget()
        self._reading = _Reading(evaluation, self._numbers.keys_of(evaluation.crossings), {})
        return self._reading

    def _new_number(self) -> int:
        self._next_number += 1
        return self._next_number

    def _worked_out(self, crossing: RecordedCrossing, history: RecordedHistory) -> _Choices:
        """Return the injections worth trying at a crossing, and those that are not, with their representatives."""
        place = crossing.place
        kept, left_out = self._apply_all(
            self._space.at(crossing.boundary, place.interface, place.agent), crossing, history
        )
        injections = self._space.injections_at(hook_at(place))

        def choice(applied: _Applied) -> _Choice:
            priced, outcome = applied
            return _Choice(priced.cost, injections[priced.operator], outcome.deviation)

        return _Choices(
            self._new_number(),
            place,
            [choice(one) for one in kept],
            [(choice(one), None if twin is None else injections[twin.priced.operator]) for one, twin in left_out],
        )

    def _apply_all(
        self, everything: Iterable[Priced], crossing: RecordedCrossing, history: RecordedHistory
    ) -> tuple[list[_Applied], list[tuple[_Applied, _Applied | None]]]:
        """Return what is to be tried at a crossing, and what R2 leaves out, with what has the same outcome."""
        kept: list[_Applied] = []
        left_out: list[tuple[_Applied, _Applied | None]] = []
        seen: dict[tuple[object, ...], _Applied] = {}
        interchangeable = is_interchangeable(crossing, history_matters=self._history_matters)
        outcome_of = self._space.outcomes.at(crossing, history, self._seed)
        for priced in everything:
            operator = priced.operator
            outcome = outcome_of(operator)
            applied = _Applied(priced, outcome)
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
        return kept, left_out


def expander_of(space: Space, seed: int, *, dry: bool = True, kinds_matter: bool = False) -> Expander:
    """Return the expander of a space, which its searches share; the arguments are those of `Expander`."""
    key = (Expander, seed, dry, kinds_matter)
    return space.shared(key, lambda: Expander(space, seed, dry=dry, kinds_matter=kinds_matter))


class _Applied(NamedTuple):
    """An operator, and what it would do to a crossing."""

    priced: Priced
    outcome: DryOutcome


def _is_taken(place: Place, taken: Iterable[Injection]) -> bool:
    """Whether an injection could act at a place; asked so often that it first looks at what differs most."""
    interface = place.interface
    for injection in taken:
        hook = injection.hook
        if hook.interface == interface and hook.matches(place):
            return True
    return False

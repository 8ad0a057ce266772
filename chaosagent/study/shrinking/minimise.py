"""Shrinks a violation until no injection can be dropped, weakened or exchanged, next to a running search."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection, inject
from chaosagent.faults.schedule import Schedule
from chaosagent.faults.schedule import schedule as schedule_of
from chaosagent.faults.space import Space
from chaosagent.study.searcher import Core
from chaosagent.study.shrinking.minimal_sets import MinimalSets
from chaosagent.vocabulary import Verdict

Rerun: TypeAlias = Callable[[Schedule], Evaluation]
KnownToHold: TypeAlias = Callable[[Schedule], bool]
"""Whether it is known without a run that a schedule does not break the contract that is searched."""

RUNS_MAX = 500
"""Most runs that reducing one violation takes."""


class Necessity(NamedTuple):
    """Why one injection is necessary: the run without it.

    Attributes:
        injection: The one left out.
        evaluation: What the run without it told; it does not break the contract fairly.
    """

    injection: Injection
    evaluation: Evaluation

    def fate(self, contract: str) -> str:
        """Say how that run ended, and what became of the contract."""
        verdict = self.evaluation.verdict(contract)
        unfair = verdict is not None and verdict.unfair
        return f"{self.evaluation.ending.value}, {contract} {'is violated, but unfairly' if unfair else 'holds'}"


def violates(evaluation: Evaluation, contract: str) -> bool:
    """Whether a run broke a contract fairly."""
    verdict = evaluation.verdict(contract) if evaluation.status is Status.OK else None
    return verdict is not None and verdict.verdict is Verdict.VIOLATED and not verdict.unfair


def holds_fairly(evaluation: Evaluation, contract: str) -> bool:
    """Whether a run is known not to break a contract fairly."""
    verdict = evaluation.verdict(contract) if evaluation.status is Status.OK else None
    return verdict is not None and (verdict.verdict is Verdict.HOLDS or verdict.unfair)


def minimise(found: Evaluation, contract: str, space: Space, rerun: Rerun, *, runs_max: int = RUNS_MAX) -> Evaluation:
    """Reduce a schedule that breaks a contract; see `Reduction`, whose requests it answers with `rerun`."""
    reduction = Reduction(found, contract, space, runs_max=runs_max)
    while (wanted := reduction.take()) is not None:
        reduction.told(rerun(wanted))
    return reduction.best


class _Edit(NamedTuple):
    """What makes a schedule smaller.

    Attributes:
        gone: What is left out.
        instead: What takes its place.
    """

    gone: frozenset[Injection]
    instead: tuple[Injection, ...] = ()

    def of(self, schedule: Schedule) -> Schedule:
        """Return what becomes of a schedule."""
        return schedule_of([*(one for one in schedule if one not in self.gone), *self.instead])


_AS_IT_LANDED = _Edit(frozenset())


class Reduction:
    """Reduces a schedule that breaks a contract until nothing of it can be dropped, weakened, or exchanged.

    Several of the runs that it asks for may be out at a time. It then goes on as if those break nothing; what makes the
    schedule smaller after all is done to whatever it has become meanwhile.

    Args:
        found: A run that breaks the contract; it is not changed.
        contract: Id of the contract.
        space: The operators that an injection may be exchanged for.
        first: What most likely matters of it, to begin with.
        known_to_hold: Says of which schedules it is known that they do not break the contract: these are not run.
        runs_max: Limit in runs.

    Attributes:
        best: A run of the cheapest schedule met that breaks the same contract; its cost is never above that of `found`.
            In the end, unless the limit was reached, no injection of it can be dropped, weakened, shortened or moved to
            a cheaper operator.

    Determinism: equal inputs, told in the same order, give equal requests.
    Source: Zeller and Hildebrandt 2002 (ddmin), on single injections, with weakening.
    """

    def __init__(
        self,
        found: Evaluation,
        contract: str,
        space: Space,
        *,
        first: Schedule | None = None,
        known_to_hold: KnownToHold | None = None,
        runs_max: int = RUNS_MAX,
    ) -> None:
        self.best = found
        self._contract, self._space, self._known_to_hold, self._runs_max = contract, space, known_to_hold, runs_max
        self._tried: set[Schedule] = set()
        self._out: dict[Schedule, _Edit] = {}
        self._again: deque[_Edit] = deque()
        self._edits = self._all_edits(first)

    @property
    def out_count(self) -> int:
        """How many of the runs that it asked for it was not told of."""
        return len(self._out)

    def take(self) -> Schedule | None:
        """Return the schedule to be run next, none twice; `None` when there is none, or it waits for what is out."""
        if len(self._tried) >= self._runs_max:
            return None
        while (edit := self._next_edit()) is not None:
            wanted = edit.of(self.best.effective)
            if wanted in self._tried or (self._known_to_hold is not None and self._known_to_hold(wanted)):
                continue
            self._tried.add(wanted)
            self._out[wanted] = edit
            return wanted
        return None

    def told(self, evaluation: Evaluation) -> None:
        """Take what a schedule told that was taken."""
        edit = self._out.pop(evaluation.schedule, None)
        if edit is None or not violates(evaluation, self._contract):
            return
        if edit == _AS_IT_LANDED or self._size(evaluation) < self._size(self.best):
            self.best = evaluation
        else:
            self._again.append(edit)

    def _next_edit(self) -> _Edit | None:
        """Return the next edit, `None` when there is none as long as nothing more is told."""
        while self._again:
            edit = self._again.popleft()
            if self._still_shrinks(edit):
                return edit
        return next(self._edits, None)

    def _still_shrinks(self, edit: _Edit) -> bool:
        """Whether an edit of something larger makes what that has become meanwhile smaller, too."""
        best = self.best.effective
        is_there = edit.gone.issubset(best) if edit.instead else not edit.gone.isdisjoint(best)
        return is_there and edit.of(best).declared_cost(self._space.model) <= self._size(self.best)[0]

    def _all_edits(self, first: Schedule | None) -> Iterator[_Edit | None]:
        """Yield edits of what is the best just now, the most promising first, and `None` to wait for what is out."""
        found = self.best
        if found.effective != found.schedule:
            yield _AS_IT_LANDED
            yield from self._until_all_told()
            if self.best is found:
                return  # it does not repeat
        if first is not None and first.declared_cost(self._space.model) < self._size(self.best)[0]:
            held, wanted = set(self.best.effective), set(first)
            yield _Edit(frozenset(held - wanted), tuple(one for one in first if one not in held))
        while True:
            yield from self._drops()
            dropped = self.best
            yield from self._exchanges()
            if self.best is dropped:
                return

    def _until_all_told(self) -> Iterator[None]:
        while self._out:
            yield None

    def _drops(self) -> Iterator[_Edit | None]:
        """Yield what may be left out, again from the start whenever something was."""
        before = None
        while self.best is not before:
            before = self.best
            for part in _parts(before.effective):
                yield _Edit(frozenset(before.effective).difference(part))
                if self.best is not before:
                    break
            else:
                yield from self._until_all_told()

    def _exchanges(self) -> Iterator[_Edit | None]:
        """Yield what may take the place of each injection, cheapest first, until one will do."""
        for injection in self.best.effective:
            for cheaper in self._cheaper(injection):
                if injection not in self.best.effective.injections:
                    break
                yield _Edit(frozenset([injection]), (cheaper,))
        yield from self._until_all_told()

    def _cheaper(self, injection: Injection) -> list[Injection]:
        """Return what costs less than an injection and may stand in its place, cheapest first."""
        cost = self._space.model.of(injection.operator)
        return [
            inject(injection.hook, priced.operator)
            for crossing in self.best.crossings
            if injection.hook.matches(crossing.place)
            for priced in self._space.at(crossing.boundary, crossing.place.interface, crossing.place.agent)
            if priced.cost < cost
        ]

    def _size(self, evaluation: Evaluation) -> tuple[float, int]:
        """Return cost and number of injections: of two that cost nothing, the smaller one is better."""
        return evaluation.effective.declared_cost(self._space.model), len(evaluation.effective)


def _parts(schedule: Schedule) -> Iterator[Schedule]:
    """Yield parts of a schedule, the most promising first: those of ddmin, then all but one injection.

    The parts of ddmin are halves and what they leave, then quarters, and so on, as long as a part is more than one
    injection.
    """
    injections = list(schedule)
    parts = 2
    while len(injections) >= 2 * parts:
        cuts = [len(injections) * part // parts for part in range(parts + 1)]
        pieces = [injections[start:end] for start, end in pairwise(cuts)]
        for piece in pieces:
            yield schedule_of(piece)
        if parts > 2:
            for piece in pieces:
                yield schedule_of(injection for injection in injections if injection not in piece)
        parts *= 2
    for injection in schedule:
        yield schedule.without(injection)


def necessity_of(minimal: Schedule, contract: str, rerun: Rerun) -> tuple[Necessity, ...]:
    """Return, for each injection, the run without it, unless that run breaks the contract, too, or tells nothing."""
    table = (Necessity(injection, rerun(minimal.without(injection))) for injection in minimal)
    return tuple(row for row in table if holds_fairly(row.evaluation, contract))


WAITING_MAX, WAITING_MAX_ALL = 64, 4096
"""How many violations wait to be reduced: where one cheapest is wanted, and where all minimal ones are."""


class _Waiting(NamedTuple):
    """A violation that waits; those of the fewest injections come first."""

    size: int
    text: str
    number: int
    violation: Evaluation


class Shrinker:
    """Asks for the runs that reduce violations until nothing of them can be spared.

    A violation that holds a minimal one is not reduced: it would most likely end there again.

    Args:
        contract: Id of the contract.
        space: The operators that an injection may be exchanged for.
        waiting_max: How many violations wait at most; further ones are left out.
        core: Which injections of a violation most likely matter.
        known_to_hold: Says of which schedules it is known that they do not break the contract.

    Attributes:
        changes: How often what is minimal has changed.
    """

    def __init__(
        self,
        contract: str,
        space: Space,
        *,
        waiting_max: int = WAITING_MAX,
        core: Core | None = None,
        known_to_hold: KnownToHold | None = None,
    ) -> None:
        self._core, self._known_to_hold = core, known_to_hold
        self._contract, self._space, self._waiting_max = contract, space, waiting_max
        self._waiting: list[_Waiting] = []
        self._minimal = MinimalSets(space.model)
        self._runs: dict[Schedule, Evaluation] = {}
        self.changes = self._added = 0
        self._under_way: Reduction | None = None
        self._begun_with: Evaluation | None = None
        self._wanted: Schedule | None = None

    @property
    def busy(self) -> bool:
        """Whether a violation is being reduced."""
        return self._under_way is not None

    @property
    def minimal(self) -> list[Evaluation]:
        """The runs of the minimal violations known, in the order in which they were found; none holds another."""
        return [self._runs[schedule] for schedule in self._minimal]

    @property
    def left(self) -> list[Evaluation]:
        """The violations that were not reduced to their end, and hold no minimal one."""
        begun = [] if self._begun_with is None else [self._begun_with]
        waiting = [one.violation for one in sorted(self._waiting)]
        return [found for found in (*begun, *waiting) if not self._minimal.held_by(found.effective)]

    def add(self, violation: Evaluation) -> None:
        """Take a violation that is to be reduced."""
        if len(self._waiting) >= self._waiting_max:
            self._waiting = [one for one in self._waiting if not self._minimal.held_by(one.violation.effective)]
            heapq.heapify(self._waiting)
        if len(self._waiting) < self._waiting_max and not self._minimal.held_by(violation.effective):
            self._added += 1
            size, text = len(violation.effective), str(violation.schedule)
            heapq.heappush(self._waiting, _Waiting(size, text, self._added, violation))
        if self._under_way is None:
            self._begin_next()
            self._go_on()

    def keep(self, minimal: Evaluation) -> None:
        """Take a violation of which nothing can be spared, unless it holds one that is known."""
        if self._minimal.add(minimal.effective):
            self._runs[minimal.effective] = minimal
            self.changes += 1

    def take(self) -> Schedule | None:
        """Return the schedule to be run next, once; `None` when there is none, or it waits for those that are out."""
        wanted, self._wanted = self._wanted, None
        if wanted is None and self._under_way is not None:
            wanted = self._under_way.take()
        return wanted

    def told(self, evaluation: Evaluation) -> None:
        """Take what a schedule told that was taken."""
        if self._under_way is not None:
            self._under_way.told(evaluation)
            self._go_on()

    def _go_on(self) -> None:
        """Make sure that something is wanted next, unless it depends on what is out."""
        while self._under_way is not None and self._wanted is None:
            self._wanted = self._under_way.take()
            if self._wanted is not None or self._under_way.out_count:
                return
            self.keep(self._under_way.best)
            self._begin_next()

    def _begin_next(self) -> None:
        """Begin with the violation of the fewest injections that does not hold a minimal one."""
        self._under_way = self._begun_with = None
        while self._waiting:
            smallest = heapq.heappop(self._waiting).violation
            if not self._minimal.held_by(smallest.effective):
                self._begun_with = smallest
                self._under_way = Reduction(
                    smallest,
                    self._contract,
                    self._space,
                    first=None if self._core is None else self._core(smallest),
                    known_to_hold=self._known_to_hold,
                )
                return

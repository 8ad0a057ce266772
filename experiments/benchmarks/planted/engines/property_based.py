"""Hypothesis: schedules as a strategy, `target()` on what runs are worth, and its shrinker for what violates.

Each round is a property "nothing violates that is cheaper than what is known" with a seed of its own. A round that
fails is shrunk by Hypothesis: hooks and levels are numbered so that what it takes for simpler is cheaper. With another
way to reduce, violations are reduced that way at once, and no round fails.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

from chaosagent.experiments.benchmarks.planted.arena import EQUAL, Arena, Enough
from chaosagent.experiments.benchmarks.planted.engines.engine import Engine, Reduce, still_violates
from chaosagent.experiments.benchmarks.planted.engines.scores import Score, Scores, injections_max
from chaosagent.extras import require
from chaosagent.faults.injection import inject
from chaosagent.faults.schedule import Schedule, schedule

if TYPE_CHECKING:
    from hypothesis import settings
    from hypothesis.strategies import SearchStrategy

EXAMPLES = 100
"""Of a round, as by default; in its second half, `target()` climbs."""
DENSER = 2
"""So many times as many injections as the budget allows: what is too many is shrunk away."""
Drawn: TypeAlias = "list[tuple[int, int]]"


class Over(BaseException):
    """Ends a round from inside; Hypothesis takes any `Exception` for a failure."""


class ViolatedError(Exception):
    """A schedule violates that is cheaper than what is known."""


def property_based(reduce: Reduce | None = None) -> Engine:
    """Return the engine, with another way to reduce what it finds or with that of Hypothesis."""

    def search(arena: Arena, rng: random.Random) -> None:
        hypothesis, strategy, best = _hypothesis(), _schedules(arena), float("inf")
        scores = Scores(arena, reduce)
        while True:
            property_of = _Property(arena, _remembering(arena, scores), best if reduce is None else None)
            seeded = hypothesis.seed(rng.getrandbits(64))(_settings()(hypothesis.given(strategy)(property_of.holds)))
            try:
                seeded()
            except ViolatedError:
                best = property_of.cheapest
            except Over:
                raise Enough from None

    return search


class _Property:
    """What one round asks of every schedule.

    Args:
        arena: Hooks and levels.
        score: What a schedule is worth.
        best: The cost below which a violation is a failure; `None` when none is.
    """

    def __init__(self, arena: Arena, score: Callable[[Schedule], Score], best: float | None) -> None:
        self._arena, self._score, self._best = arena, score, best
        self.cheapest = float("inf")

    def holds(self, drawn: Drawn) -> None:
        """Climb, and fail on a cheaper violation."""
        told = self._score(_schedule(self._arena, drawn))
        _hypothesis().target(-told.value)
        if self._best is not None and told.judged.violated and told.cost < self._best - EQUAL:
            self.cheapest = min(self.cheapest, told.cost)
            raise ViolatedError


def _hypothesis() -> ModuleType:
    return require("hypothesis", extra="testing", needed_by="--searcher hypothesis-target")


def _settings() -> settings:
    hypothesis = _hypothesis()
    return hypothesis.settings(  # type: ignore[no-any-return]  # of a module imported by name
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        verbosity=hypothesis.Verbosity.quiet,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.target, hypothesis.Phase.shrink),
        suppress_health_check=list(hypothesis.HealthCheck),
        report_multiple_bugs=False,
    )


def _schedules(arena: Arena) -> SearchStrategy[Drawn]:
    from hypothesis import strategies

    levels_max = max(len(levels) for levels in arena.levels.values())
    places = strategies.integers(0, len(arena.hooks) - 1)
    size_max = min(DENSER * injections_max(arena), len(arena.hooks))
    pairs = strategies.tuples(places, strategies.integers(0, levels_max - 1))
    return strategies.lists(pairs, min_size=1, max_size=size_max, unique_by=lambda pair: pair[0])


def _schedule(arena: Arena, drawn: Sequence[tuple[int, int]]) -> Schedule:
    chosen = [(arena.hooks[place], level) for place, level in drawn]
    return schedule(inject(hook, arena.levels[hook][min(level, len(arena.levels[hook]) - 1)]) for hook, level in chosen)


def _remembering(arena: Arena, scores: Scores) -> Callable[[Schedule], Score]:
    """Return the same answer for the same schedule within a round, without which Hypothesis calls a test flaky.

    A violation of a stochastic target counts when it comes again, as it does for the other engines that reduce.
    """
    known: dict[Schedule, Score] = {}

    def score(candidate: Schedule) -> Score:
        if candidate not in known:
            try:
                told = scores(candidate)
                if arena.stochastic and told.judged.violated and still_violates(arena, candidate) is None:
                    told = scores.of(told.judged._replace(violated=False, margin=1.0))
            except Enough:
                raise Over from None
            known[candidate] = told
        return known[candidate]

    return score

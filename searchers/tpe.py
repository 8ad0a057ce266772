"""Tree-structured Parzen estimator, by Optuna: draws what good schedules had in common and bad ones had not.

The space is conditional: how many injections; for each, which place among those seen so far; at that place, which
operator; and of that operator, which level. Optuna's sampler draws each of these from the trials that have it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

from chaosagent.extras import require
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection, Place, place_of
from chaosagent.faults.schedule import Schedule
from chaosagent.searchers.drawing.draft import Draft
from chaosagent.searchers.drawing.searcher import DrawingSearcher
from chaosagent.searchers.drawing.uniform import draw_schedule
from chaosagent.searchers.learning.optuna_mirror import OptunaMirror, quiet
from chaosagent.searchers.learning.scalar import scalar_of
from chaosagent.searchers.seen.points import Candidate
from chaosagent.study.searcher import Problem
from chaosagent.study.searcher_settings import Within

SAMPLES_MAX = 6
"""How often Optuna is asked for something new before a schedule is drawn uniformly."""

FEWER = 4
"""By which a further attempt divides the number of candidates."""

DRAWS_MAX = 1_000
"""How many uniform draws bring nothing new before the searcher has finished, until a run shows more."""

BEST_SHARE = 0.25
"""Share of the window that is kept for the best observations; the rest are the latest."""

NUMBERS = 100_000
"""Places, operators and levels are numbered in the order in which they were seen; no number is above this."""

EXTRA = "search"
NEEDED_BY = "searcher tpe"


class TpeSearcher(DrawingSearcher):
    """Learns from the margin while nothing is violated, and from the cost of what violates; see `scalar_of`.

    Args:
        problem: What is searched.
        injections_max: Most injections of one schedule, 1 to 20, those not counted that others need.
        startup: Trials drawn uniformly before Optuna's sampler takes over, 1 to 10 000.
        candidates: Samples among which the sampler picks the most promising one, at each step, 1 to 10 000.
        window: How many observations of a parameter the sampler sees, the best and the latest, 10 to 10 000. Between
            one and two times as many are kept, so that a trial costs the same at any length of the search.
        storage: Where the trials are also written for `optuna-dashboard`: a URL such as `sqlite:///tpe.db`, or the
            name of a file for Optuna's journal; nowhere when empty. The search does not read it.

    Cost: 10 to 30 ms a trial, whatever the number of trials; with `storage` about 10 ms more.
    Determinism: one stream a proposal, derived from the number of those told and out.
    Source: Bergstra et al. 2011; Watanabe 2023 for what Optuna makes of it.
    """

    name = "tpe"

    def __init__(
        self,
        problem: Problem,
        *,
        injections_max: Annotated[int, Within(1, 20)] = 4,
        startup: Annotated[int, Within(1, 10_000)] = 20,
        candidates: Annotated[int, Within(1, 10_000)] = 24,
        window: Annotated[int, Within(10, 10_000)] = 200,
        storage: str = "",
    ) -> None:
        super().__init__(problem)
        self._injections_max = injections_max
        self._startup = startup
        self._estimator = _Estimator(candidates, window)
        self._words = _Words()
        settings = (injections_max, startup, candidates, window)
        self._shelf = OptunaMirror(storage, problem, settings) if storage else None

    def _learn(self, evaluation: Evaluation, fresh: Sequence[Candidate]) -> None:
        scalar = scalar_of(evaluation, self._problem.contract, self._problem.space.model)
        if self._shelf is not None:
            self._shelf.put(evaluation, scalar)
        if evaluation.status is Status.ERROR:
            return
        self._words.learn(fresh)
        if 1 <= len(evaluation.schedule) <= self._injections_max:
            for parameter, value in self._words.spell(evaluation.schedule):
                self._estimator.learn(parameter, value, scalar)

    def _draws(self, rng: random.Random) -> Iterator[Schedule]:
        for attempt in range(SAMPLES_MAX if len(self._told) > self._startup else 0):
            yield self._sample(rng, attempt)
        for _ in range(DRAWS_MAX):
            yield draw_schedule(self._pool, rng, self._injections_max)

    def _sample(self, rng: random.Random, attempt: int) -> Schedule:
        """Return what the estimator draws, as far as it fits together."""
        draw = self._estimator.sampling(rng.getrandbits(32), attempt)
        draft = Draft(self._pool, self._pool.ceiling)
        draft.add_all(self._words.read(draw, self._injections_max))
        return draft.schedule


class _Step(NamedTuple):
    """One parameter of the conditional space.

    Attributes:
        name: The same wherever it means the same.
        size: How many values are known so far: 0 to `size` - 1.
        ordered: Neighbouring values are alike.
    """

    name: str
    size: int
    ordered: bool = False


class _Words:
    """Turns schedules into values of the conditional space, and draws into injections.

    Each injection of a schedule is an observation of its own, so that it does not matter which of them comes first.
    """

    def __init__(self) -> None:
        self._places: list[Place] = []
        self._numbers: dict[Place, int] = {}
        self._operators: dict[Place, dict[str, list[Injection]]] = {}

    def learn(self, candidates: Iterable[Candidate]) -> None:
        """Number what was not known to be possible before."""
        for candidate in candidates:
            injection = candidate.injection
            place = place_of(injection)
            if place not in self._numbers:
                self._numbers[place] = len(self._places)
                self._places.append(place)
            self._operators.setdefault(place, {}).setdefault(injection.operator_name, []).append(injection)

    def spell(self, schedule: Schedule) -> Iterator[tuple[str, int]]:
        """Yield the parameters and values of a schedule; what was never shown to be possible has none."""
        yield "injections", len(schedule) - 1
        for injection in schedule:
            operators = self._operators.get(place_of(injection), {})
            levels = operators.get(injection.operator_name, [])
            if injection in levels:
                number = self._numbers[place_of(injection)]
                yield "place", number
                yield f"operator at {number}", list(operators).index(injection.operator_name)
                yield f"level of {injection.operator_name} at {number}", levels.index(injection)

    def read(self, draw: Callable[[_Step], int], injections_max: int) -> Iterator[Injection]:
        """Draw the injections of a schedule."""
        for _ in range(draw(_Step("injections", injections_max, ordered=True)) + 1):
            number = draw(_Step("place", len(self._places)))
            operators = self._operators[self._places[number]]
            name = list(operators)[draw(_Step(f"operator at {number}", len(operators)))]
            levels = operators[name]
            yield levels[draw(_Step(f"level of {name} at {number}", len(levels), ordered=True))]


class _Observation(NamedTuple):
    """A value of a parameter, and what the trial told."""

    value: int
    scalar: float


class _Window:
    """The best and the latest observations of one parameter, as a study of Optuna.

    They are only added, in the order of tells; at twice its size the study is made anew. Sampling takes the limits of
    the parameter from what is asked for, so the stored ones may be wide, and need not grow.
    """

    def __init__(self, optuna: Any, name: str, size: int) -> None:
        self._optuna, self._name, self._size = optuna, name, size
        self._distributions = {name: optuna.distributions.IntDistribution(0, NUMBERS)}
        self._observations: list[_Observation] = []
        self.storage = self._fresh()

    def add(self, observation: _Observation) -> None:
        """Take an observation."""
        known = self._observations
        known.append(observation)
        if len(known) < 2 * self._size:
            self._store(observation)
            return
        best_count = round(self._size * BEST_SHARE)
        latest = len(known) - (self._size - best_count)
        best = sorted(sorted(range(latest), key=lambda number: known[number].scalar)[:best_count])
        self._observations = [known[number] for number in best] + known[latest:]
        self.storage = self._fresh()
        for kept in self._observations:
            self._store(kept)

    def _fresh(self) -> Any:
        storage = self._optuna.storages.InMemoryStorage()
        with quiet(self._optuna):
            storage.create_new_study([self._optuna.study.StudyDirection.MINIMIZE], self._name)
        return storage

    def _store(self, observation: _Observation) -> None:
        trial = self._optuna.trial.create_trial(
            params={self._name: observation.value}, distributions=self._distributions, value=observation.scalar
        )
        self.storage.create_new_trial(0, trial)


class _Estimator:
    """Optuna's sampler, on a window for each parameter.

    The sampler is made anew for each schedule, with a seed of its own, so that the observations are its only state.
    """

    def __init__(self, candidates: int, window: int) -> None:
        self._optuna = require("optuna", extra="search", needed_by="searcher tpe")
        self._candidates, self._window = candidates, window
        self._windows: dict[str, _Window] = {}
        self._trial = self._optuna.trial.create_trial(value=0.0)  # the sampler looks at it for trials in flight only

    def learn(self, parameter: str, value: int, scalar: float) -> None:
        """Take an observation of a parameter."""
        if parameter not in self._windows:
            self._windows[parameter] = _Window(self._optuna, parameter, self._window)
        self._windows[parameter].add(_Observation(value, scalar))

    def sampling(self, seed: int, attempt: int) -> Callable[[_Step], int]:
        """Return what draws the parameters of one schedule.

        The most promising of many candidates is often the same, so each further attempt has fewer.
        """
        sampler = self._optuna.samplers.TPESampler(
            seed=seed,
            n_startup_trials=0,
            n_ei_candidates=max(1, self._candidates // FEWER**attempt),
            constant_liar=False,
        )

        def draw(step: _Step) -> int:
            if step.size == 1:
                return 0
            if step.name not in self._windows:
                self._windows[step.name] = _Window(self._optuna, step.name, self._window)
            # A study object reads its trials once and keeps them, so a new one is needed.
            storage = self._windows[step.name].storage
            study = self._optuna.load_study(study_name=step.name, storage=storage, sampler=sampler)
            values = sampler.sample_relative(study, self._trial, {step.name: self._distribution(step)})
            return int(values[step.name])

        return draw

    def _distribution(self, step: _Step) -> Any:
        distributions = self._optuna.distributions
        if step.ordered:
            return distributions.IntDistribution(0, step.size - 1)
        return distributions.CategoricalDistribution(tuple(range(step.size)))

"""Hypothesis as a searcher: its strategies draw schedules, `target()` climbs, and its shrinker looks for simpler ones.

Hypothesis drives: it calls a test and waits. So it runs in a thread that stands still until what it wants has been told
(`conversation.py`). It works in rounds, each a test of its own with a fresh seed, on what was known to be possible when
the round began.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from chaosagent.extras import require
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Injection, Place, place_of
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.searchers.learning.conversation import Conversation
from chaosagent.searchers.learning.scalar import scalar_of
from chaosagent.searchers.seen.pool import Pool
from chaosagent.searchers.seen.trial_log import TrialLog
from chaosagent.seeds import derive_seed
from chaosagent.study.searcher import Problem, Proposal, SearchProgress
from chaosagent.study.searcher_settings import Within
from chaosagent.study.shrinking.minimise import violates
from chaosagent.temporary_folder import temporary_folder

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

IDLE_ROUNDS_MAX = 3
"""After so many rounds that wanted nothing new the searcher has finished, until a run shows more."""

FAR = 2**70
"""Whole numbers are drawn from here on: Hypothesis likes to draw numbers that stand in the code around it, and what is
drawn must not depend on which modules are loaded."""

SEEDS = 2**64


class HypothesisSearcher:
    """Lets Hypothesis raise `-scalar_of(...)`: towards small margins, and cheap violations behind the first.

    A violation is shrunk by the study as always, and by Hypothesis, too, which moves and exchanges what the study
    leaves in its place. What holds a violation that is known counts as one there without being run, so that nothing is
    shrunk twice.

    Args:
        problem: What is searched.
        injections_max: Most injections of one schedule, 1 to 20, those not counted that others need.
        examples: Of one round, 10 to 100 000: half of them are generated, half of them climb.
        shrinker: `"on"` or `"off"`, which YAML reads as true and false: whether Hypothesis shrinks violations as well.

    At most one trial is in flight, as Hypothesis decides about the next one when it knows the last.

    Determinism: the seed of a round follows from the search seed and the number of the round; no database, no deadline,
    no health check. As Hypothesis gives up shrinking after five minutes, the round is run again for each trial of it,
    from what was told.
    Cost: 18 ms and more a trial on a busy machine, and 0.5 ms an example of the round for each trial of shrinking.
    Source: MacIver and Donaldson 2020 (internal test-case reduction); Löscher and Sagonas 2017 (targeted properties).
    """

    name = "hypothesis"

    def __init__(
        self,
        problem: Problem,
        *,
        injections_max: Annotated[int, Within(1, 20)] = 4,
        examples: Annotated[int, Within(10, 100_000)] = 200,
        shrinker: Literal["on", "off", True, False] = "on",  # YAML reads `on` and `off` as truth values
    ) -> None:
        self._problem = problem
        self._injections_max = injections_max
        self._examples = examples
        self._shrinks = shrinker in ("on", True)
        require("hypothesis", extra="search", needed_by="searcher hypothesis")
        self._pool = Pool(problem)
        self._told = TrialLog(problem.log)
        self._rounds = self._idle_rounds = 0
        self._test: _Test | None = None
        self._talk: Conversation[Schedule, None] | None = None
        self._wanted: Schedule | None = None
        self._exhausted = False

    def ask(self, count: int) -> list[Proposal]:
        told, wanted = self._told, self._wanted
        if EMPTY not in told:
            wanted = EMPTY
        if count < 1 or wanted is None or told.is_taken(wanted):
            return []
        return [told.propose(wanted)]

    def tell(self, evaluation: Evaluation) -> None:
        if not self._told.take(evaluation):
            return
        if self._pool.learn(evaluation):
            self._exhausted, self._idle_rounds = False, 0
        if EMPTY in self._told:
            self._advance()

    @property
    def finished(self) -> bool:
        return EMPTY in self._told and not self._told.out and self._wanted is None

    @property
    def progress(self) -> SearchProgress:
        return SearchProgress()

    def audit(self, count: int) -> list[Proposal]:
        del count  # it prunes nothing
        return []

    def _advance(self) -> None:
        """Let Hypothesis go on until it wants something that was not told and is of use."""
        while self._wanted is None or self._wanted in self._told or not is_useful(self._wanted, self._pool):
            if self._exhausted:
                self._wanted = None
                return
            with storing_nothing():
                self._wanted = self._next()

    def _next(self) -> Schedule | None:
        """Return what Hypothesis wants next; `None` when a round has ended, or begins to shrink."""
        if self._test is None:
            return self._next_round()
        if self._talk is not None:
            wanted = self._talk.tell(None)
            if wanted is None:
                self._talk = None
        else:
            replay = Conversation(self._test.shrink)
            wanted = replay.start()
            replay.close()
            if wanted is None:
                self._test.found = None
        if wanted is None and (self._test.found is None or not self._shrinks):
            self._test = None
        self._idle_rounds = self._idle_rounds if wanted is None else 0
        return wanted

    def _next_round(self) -> Schedule | None:
        pool = self._pool
        self._idle_rounds += 1
        if self._idle_rounds > IDLE_ROUNDS_MAX or pool.cheapest > pool.ceiling or not pool.candidates:
            self._exhausted = True  # until a run shows more
            return None
        self._rounds += 1
        seed = derive_seed(self._problem.search_seed, self.name, self._problem.contract, self._rounds) % SEEDS
        offer = _Offer(pool, self._injections_max)
        self._test = _Test(self._problem, pool, self._told, offer=offer, seed=seed, examples=self._examples)
        self._talk = Conversation(self._test.generate)
        wanted = self._talk.start()
        if wanted is None:
            self._test = self._talk = None
        return wanted


@contextlib.contextmanager
def storing_nothing() -> Iterator[None]:
    """Let Hypothesis keep what it keeps between processes in a passing folder.

    Without a database, too, it makes a folder `.hypothesis` where the process works, for the constants that it finds in
    modules. Tests that use Hypothesis beside the searcher find their own folder afterwards.
    """
    configuration: Any = require("hypothesis.configuration", extra="search", needed_by="searcher hypothesis")
    known = vars(configuration).get("__hypothesis_home_directory")  # there is a function that sets it, none that tells
    with temporary_folder() as folder:
        configuration.set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            configuration.set_hypothesis_home_dir(known)


def is_useful(schedule: Schedule, pool: Pool) -> bool:
    """Whether a schedule may be violating, as far as is known, and cheaper than what is."""
    return schedule != EMPTY and pool.cost_of(schedule) <= pool.ceiling and not pool.is_known(schedule)


class _Site(NamedTuple):
    """A place, as a `Site` of the pool was when a round began."""

    needs: Schedule
    ways: frozenset[Injection]
    injections: tuple[Injection, ...]


class _Offer:
    """What was possible when a round began: equal draws give equal schedules, whatever is told meanwhile.

    Args:
        pool: What is possible now.
        injections_max: Most injections of a schedule, those not counted that others need.
    """

    def __init__(self, pool: Pool, injections_max: int) -> None:
        self._cost_of, self._ceiling = pool.cost_of, pool.ceiling
        self._injections_max = injections_max
        self._sites = [
            _Site(
                site.needs,
                frozenset(site.ways),
                tuple(sorted((one.injection for one in site.candidates), key=pool.cost)),
            )
            for site in pool.sites.values()
        ]

    def draw(self, number_below: Callable[[int], int]) -> Schedule:
        """Draw a schedule: how many injections, and for each a place and what is done there, the cheapest first."""
        chosen: dict[Place, Injection] = {}
        left = self._ceiling
        for _ in range(number_below(self._injections_max) + 1):
            site = self._sites[number_below(len(self._sites))]
            injection = site.injections[number_below(len(site.injections))]
            wanted = [need for need in site.needs if chosen.get(place_of(need)) not in site.ways]
            wanted.append(injection)
            cost = self._cost_of(wanted)
            if cost <= left and not any(place_of(one) in chosen for one in wanted):
                chosen.update((place_of(one), one) for one in wanted)
                left -= cost
        return Schedule(tuple(sorted(chosen.values(), key=str)))


class _Outcome(NamedTuple):
    """The result of a schedule, as the test gets it."""

    scalar: float
    violated: bool


class _ViolationError(Exception):
    """The test has failed: the contract is broken."""


class _Test:
    """One round: a test of Hypothesis, run once to find a violation, and again and again to shrink it.

    Args:
        problem: What is searched.
        pool: What is known of injections and violations.
        told: What was told.
        offer: What schedules are made of.
        seed: Of Hypothesis.
        examples: Of Hypothesis.

    Attributes:
        found: A violation that the round has found.
    """

    def __init__(
        self, problem: Problem, pool: Pool, told: TrialLog, *, offer: _Offer, seed: int, examples: int
    ) -> None:
        self._problem, self._pool, self._told, self._offer = problem, pool, told, offer
        self._seed, self._examples = seed, examples
        self._hypothesis: Any = require("hypothesis", extra="search", needed_by="searcher hypothesis")
        self._outcomes: dict[Schedule, _Outcome | None] = {}
        self.found: Schedule | None = None

    def generate(self, ask: Callable[[Schedule], None]) -> None:
        """Draw and climb until a violation is found."""

        def outcome_of(schedule: Schedule) -> _Outcome | None:
            if schedule not in self._outcomes:
                self._outcomes[schedule] = self._asked(schedule, ask) if is_useful(schedule, self._pool) else None
            outcome = self._outcomes[schedule]
            if outcome is not None and outcome.violated:
                self.found = schedule
            return outcome

        self._run(outcome_of, shrinks=False)

    def shrink(self, ask: Callable[[Schedule], None]) -> None:
        """Do the same once more, up to the violation, and shrink that, as far as it was told what to make of it."""
        is_found = False

        def outcome_of(schedule: Schedule) -> _Outcome | None:
            nonlocal is_found
            is_found = is_found or schedule == self.found
            if not is_found:
                return self._outcomes.get(schedule)
            if schedule in self._told or is_useful(schedule, self._pool):
                return self._asked(schedule, ask)
            return _Outcome(0.0, violated=True) if self._pool.is_known(schedule) else None

        self._run(outcome_of, shrinks=True)

    def _asked(self, schedule: Schedule, ask: Callable[[Schedule], None]) -> _Outcome | None:
        """Return what a schedule told, asking for it if it has not; `None` when it proved of no use while waiting."""
        if schedule not in self._told:
            ask(schedule)
        evaluation = self._told.get(schedule)
        if evaluation is None:
            return None
        contract = self._problem.contract
        return _Outcome(scalar_of(evaluation, contract, self._problem.space.model), violates(evaluation, contract))

    def _run(self, outcome_of: Callable[[Schedule], _Outcome | None], *, shrinks: bool) -> None:
        hypothesis, strategies, offer = self._hypothesis, self._hypothesis.strategies, self._offer
        phase = hypothesis.Phase

        def drawn(draw: DrawFn) -> Schedule:
            return offer.draw(lambda size: draw(strategies.integers(FAR, FAR + size - 1)) - FAR)

        def contract_holds(schedule: Schedule) -> None:
            outcome = outcome_of(schedule)
            if outcome is None:
                raise hypothesis.errors.UnsatisfiedAssumption  # what `reject()` does
            hypothesis.target(-outcome.scalar)
            if outcome.violated:
                raise _ViolationError

        test = hypothesis.given(strategies.composite(drawn)())(contract_holds)
        settings = hypothesis.settings(
            max_examples=self._examples,
            phases=(phase.generate, phase.target, *([phase.shrink] if shrinks else [])),
            database=None,
            deadline=None,
            derandomize=False,
            print_blob=False,
            report_multiple_bugs=False,
            suppress_health_check=list(hypothesis.HealthCheck),
            verbosity=hypothesis.Verbosity.quiet,
        )
        with contextlib.suppress(_ViolationError, hypothesis.errors.Unsatisfiable, hypothesis.errors.Flaky):
            hypothesis.seed(self._seed)(settings(test))()

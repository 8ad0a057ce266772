"""What a trial costs besides its run: the searcher, the store, and the loop of the study; and Optuna beside them.

Every search is made twice. The first time its runs are executed and kept; the second time they are only handed out, and
that is measured: the whole trial, and what the searcher itself takes of it, in `ask`, `tell`, `finished`, `progress`.
Of Optuna only its own `ask` and `tell` are measured, on a space of the same size.

With `--flat` a search is made once, its runs are executed, and what the searcher itself takes is told for each tenth of
it, with the memory of the process at its end.

Run: python -m chaosagent.experiments.benchmarks.trials [--trials 1000 10000 100000] [--searcher NAME ...]
     [--checkpoints] [--no-store] [--flat NAME]
"""

from __future__ import annotations

import argparse
import cProfile
import io
import pstats
import resource
import statistics
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeVar

from chaosagent.clock import cpu
from chaosagent.execution.workers.executor import Executor, Finished, InlineExecutor
from chaosagent.execution.workers.workbench import Job
from chaosagent.experiments.benchmarks.measuring import machine, medians, table
from chaosagent.experiments.benchmarks.planted.engines.slots import quiet_optuna
from chaosagent.experiments.benchmarks.scripted import CROSSINGS, five_contracts, remembering, six_crossings
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import Schedule
from chaosagent.faults.space import Space
from chaosagent.limits import RunLimits, StudyLimits
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.searcher import (
    SEARCHERS,
    Core,
    KnowsCauses,
    KnowsOutcomes,
    Problem,
    Proposal,
    Searcher,
    SearchProgress,
)
from chaosagent.study.shrinking.minimise import KnownToHold
from chaosagent.study.store.study_store import StudyStore
from chaosagent.targets.target import Target

Result = TypeVar("Result")

CONTRACT = "no-crash"
BUDGET = 4.5
GIVEN, TIMED = "benchmarks/given", "benchmarks/timed"
ITSELF = "{}, the searcher itself"
TENTH = 10
LOOP = "the study's loop"
SLOTS, LEVELS = 4, 15
"""Of Optuna's space: as many injections as the budget allows, and about as many levels at a crossing."""
PROFILED = 25
VIRTUAL_SECONDS_MAX = 365 * 86_400.0
"""So much that no delay brings a run near it, where rule R3 would be given up."""


class Keeping:
    """Hands jobs on to another executor and keeps what they told, by ticket."""

    capacity, workers = 1, 0

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.told: dict[int, Evaluation] = {}

    def submit(self, ticket: int, job: Job) -> None:
        self._executor.submit(ticket, job)

    def next_finished(self) -> Finished:
        finished = self._executor.next_finished()
        self.told[finished.ticket] = finished.evaluation
        return finished

    def drop_waiting(self) -> None:
        self._executor.drop_waiting()

    def close(self) -> None:
        self._executor.close()


class Ready:
    """Does nothing: what each job told is known."""

    capacity, workers = 1, 0

    def __init__(self, told: dict[int, Evaluation]) -> None:
        self._told = told
        self._waiting: deque[int] = deque()

    def submit(self, ticket: int, job: Job) -> None:
        del job
        self._waiting.append(ticket)

    def next_finished(self) -> Finished:
        ticket = self._waiting.popleft()
        return Finished(ticket, self._told[ticket])

    def drop_waiting(self) -> None:
        self._waiting.clear()

    def close(self) -> None:
        self._waiting.clear()


class GivenSearcher:
    """Asks for the schedules that it is given, in order: a searcher that costs nothing."""

    schedules: Sequence[Schedule] = ()

    def __init__(self, problem: Problem) -> None:
        del problem
        self._left = deque(self.schedules)

    def ask(self, count: int) -> list[Proposal]:
        return [Proposal(self._left.popleft()) for _ in range(min(count, len(self._left)))]

    def tell(self, evaluation: Evaluation) -> None:
        """Learn nothing."""

    @property
    def finished(self) -> bool:
        return not self._left

    @property
    def progress(self) -> SearchProgress:
        return SearchProgress()

    def audit(self, count: int) -> list[Proposal]:
        del count
        return []


class TimedSearcher:
    """A searcher, and the processor seconds that it takes itself.

    Args:
        searcher: Whose time is taken.

    Attributes:
        name: Of the searcher.
        seconds: In its methods so far.
        after: The same after each trial.
    """

    name = "exact"
    seconds = 0.0
    after: ClassVar[list[float]] = []

    core: Core
    known_to_hold: KnownToHold

    def __init__(self, searcher: Searcher) -> None:
        TimedSearcher.seconds, TimedSearcher.after = 0.0, []
        self._searcher = searcher
        # What it knows goes with it: else other violations would be reduced, and otherwise, than in the search beside.
        if isinstance(searcher, KnowsCauses):
            self.core = lambda evaluation: self._timed(lambda: searcher.core(evaluation))
        if isinstance(searcher, KnowsOutcomes):
            self.known_to_hold = lambda schedule: self._timed(lambda: searcher.known_to_hold(schedule))

    def _timed(self, call: Callable[[], Result]) -> Result:
        begun = cpu()
        result = call()
        TimedSearcher.seconds += cpu() - begun
        return result

    def ask(self, count: int) -> list[Proposal]:
        return self._timed(lambda: self._searcher.ask(count))

    def tell(self, evaluation: Evaluation) -> None:
        self._timed(lambda: self._searcher.tell(evaluation))
        self.after.append(self.seconds)

    @property
    def finished(self) -> bool:
        return self._timed(lambda: self._searcher.finished)

    @property
    def progress(self) -> SearchProgress:
        return self._timed(lambda: self._searcher.progress)

    def audit(self, count: int) -> list[Proposal]:
        return self._searcher.audit(count)


def timed_searcher(problem: Problem) -> TimedSearcher:
    """Return the searcher that `TimedSearcher` names, with its time taken."""
    return TimedSearcher(SEARCHERS.get(TimedSearcher.name)(problem))


class Recorded(NamedTuple):
    """A search and what its runs told."""

    plan: Plan
    told: dict[int, Evaluation]


def plan_of(searcher: str, trials_max: int, found: Target = six_crossings) -> Plan:
    """Return a study with one search of a target that nothing ends but its limit."""
    contracts = tuple(contract for contract in five_contracts() if contract.id == CONTRACT)
    return Plan(
        target=found,
        target_reference=f"chaosagent.experiments.benchmarks.scripted:{found.name.replace('-', '_')}",
        config=found.config("default"),
        tasks=(found.task("only"),),
        seeds=(0,),
        contracts=contracts,
        space=Space(),
        budget=BUDGET,
        searcher=searcher,
        limits=StudyLimits(trials_max=trials_max),
        run_limits=RunLimits(virtual_seconds_max=VIRTUAL_SECONDS_MAX),
        audit=0,
        stochastic=None,
    )


def recorded(plan: Plan) -> Recorded:
    """Make a search and keep what its runs told."""
    executor = Keeping(InlineExecutor(plan.workbench()))
    Study(plan, executor).run()
    return Recorded(plan, executor.told)


def again(search: Recorded, *, stored: bool) -> Callable[[], int]:
    """Return the work of making a search again with runs that cost nothing."""

    def work() -> int:
        executor = Ready(search.told)
        if not stored:
            return Study(search.plan, executor).run().trials
        with tempfile.TemporaryDirectory() as folder:
            store = StudyStore.create(Path(folder) / "study", search.plan, "")
            result = Study(search.plan, executor, sinks=[store]).run()
            store.close(result.digest)
        return result.trials

    return work


def timed(plan: Plan) -> Plan:
    """Return the same study, with the time that its searcher takes itself noted in `TimedSearcher`."""
    if TIMED not in SEARCHERS:
        SEARCHERS.register(TIMED, timed_searcher)
    TimedSearcher.name = plan.searcher
    return replace(plan, searcher=TIMED)


def itself(searches: Mapping[str, Recorded], rounds: int) -> dict[str, float]:
    """Return the processor seconds per trial that each searcher takes itself: medians of rounds."""
    found: dict[str, list[float]] = {name: [] for name in searches}
    for _ in range(rounds):
        for name, (plan, told) in searches.items():
            trials = Study(timed(plan), Ready(told)).run().trials
            found[name].append(TimedSearcher.seconds / trials)
    return {ITSELF.format(name): statistics.median(values) for name, values in found.items()}


def flat(searcher: str, trials: int, found: Target) -> str:
    """Make a search and say what its searcher takes itself, by tenths of it, and how much memory the process has.

    One of fewer than ten trials is told trial by trial.
    """
    plan = timed(plan_of(searcher, trials, found))
    made = Study(plan, InlineExecutor(plan.workbench())).run().trials
    after = TimedSearcher.after
    parts = min(TENTH, made)
    ends = [made * number // parts for number in range(parts + 1)]
    known = [0.0, *after]
    tenths = " ".join(f"{(known[end] - known[begun]) / (end - begun) * 1e6:.0f}" for begun, end in pairwise(ends))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    by = "by tenths" if parts == TENTH else "one by one"
    return f"{searcher}, {made} trials: {known[made] / made * 1e6:.0f} us a trial; {by} {tenths}; {memory:.0f} MB"


def given(search: Recorded) -> Recorded:
    """Return the same runs for a searcher that costs nothing."""
    if GIVEN not in SEARCHERS:
        SEARCHERS.register(GIVEN, GivenSearcher)
    told = list({evaluation.schedule: evaluation for evaluation in search.told.values()}.values())
    GivenSearcher.schedules = [evaluation.schedule for evaluation in told]
    return recorded(plan_of(GIVEN, len(told)))


def optuna_alone(trials: int) -> Callable[[], int]:
    """Return the work of some trials of Optuna's sampler, told that all are equally far from a violation.

    Raises:
        MissingExtraError: Optuna is not installed.
    """
    optuna = quiet_optuna("--optuna")

    def work() -> int:
        sampler = optuna.samplers.TPESampler(multivariate=True, group=True, seed=0)
        study = optuna.create_study(sampler=sampler)
        for _ in range(trials):
            trial = study.ask()
            for slot in range(trial.suggest_int("injections", 1, SLOTS)):
                trial.suggest_categorical(f"hook {slot}", range(CROSSINGS))
                trial.suggest_categorical(f"level {slot}", range(LEVELS))
            study.tell(trial, 1.0)
        return trials

    return work


def measured(searches: Mapping[str, Recorded], rounds: int, *, stored: bool) -> dict[str, float]:
    """Return processor seconds per trial: the loop, each search without and with the store, each searcher itself."""
    pieces = {LOOP: again(given(next(iter(searches.values()))), stored=False)}
    for name, search in searches.items():
        pieces[name] = again(search, stored=False)
        if stored:
            pieces[f"{name}, store"] = again(search, stored=True)
    return {**medians(pieces, rounds=rounds), **itself(searches, rounds)}


def profile(search: Recorded) -> str:
    """Return where the time of a search goes when its runs cost nothing, the dearest functions first."""
    work, profiler, text = again(search, stored=False), cProfile.Profile(), io.StringIO()
    profiler.runcall(work)
    pstats.Stats(profiler, stream=text).sort_stats("tottime").print_stats(PROFILED)
    return text.getvalue()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--searcher", nargs="+", default=["exact", "random", "anytime"], metavar="NAME")
    parser.add_argument("--optuna", type=int, nargs="*", default=[], metavar="TRIALS", help="Optuna's own cost beside")
    parser.add_argument("--checkpoints", action="store_true", help="a target that remembers, and has checkpoints")
    parser.add_argument("--no-store", action="store_true", help="searchers without the store alone")
    parser.add_argument("--flat", metavar="NAME", help="what a searcher takes by tenths of a search, and nothing else")
    parser.add_argument("--profile", metavar="NAME", help="show where a searcher spends its time, and nothing else")
    options = parser.parse_args(arguments)
    if min(options.trials) < 1:
        parser.error(f"--trials {min(options.trials)}: a search needs at least one trial.")
    found = remembering if options.checkpoints else six_crossings
    print(machine())
    if options.profile:
        print(profile(recorded(plan_of(options.profile, max(options.trials), found))))
        return
    if options.flat:
        for trials in options.trials:
            print(flat(options.flat, trials, found))
        return
    for trials in options.trials:
        searches = {name: recorded(plan_of(name, trials, found)) for name in options.searcher}
        rows = measured(searches, options.rounds, stored=not options.no_store)
        print(f"{trials} trials; the loop alone takes {1 / rows[LOOP]:.0f} results a second")
        print(table(rows, unit="us/trial", scale=1e6, baseline=LOOP))
    if options.optuna:
        pieces = {f"optuna, {trials} trials": optuna_alone(trials) for trials in options.optuna}
        beside = medians({"exact": again(recorded(plan_of("exact", 1_000)), stored=False), **pieces}, rounds=1)
        print(table(beside, unit="us/trial", scale=1e6, baseline="exact"))


if __name__ == "__main__":
    main()

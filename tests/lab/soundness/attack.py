"""Compares searches with brute force, by every final state that some schedule within the budget leads to.

A final state is how the run ended and all that is left behind. For each one, a contract that nothing but this state
breaks is searched; its least cost is known, as every schedule within the budget was run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from chaosagent.canonical import digest_of
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.evaluation import Evaluation, Fingerprinting
from chaosagent.faults.injection import Injection, hook_at, inject
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import EMPTY, Schedule, schedule
from chaosagent.faults.space import Space
from chaosagent.seeds import derive
from chaosagent.study.searcher import SEARCHERS, Problem, Searcher
from chaosagent.targets.target import Target
from chaosagent.testing.enumeration import drive
from chaosagent.trace.trace import ContractVerdict, Violation
from chaosagent.vocabulary import Verdict
from tests.lab.soundness.programs import target_of
from tests.lab.soundness.random_programs import Case

CONTRACT = "final-state"
RUNS_MAX = 3_000
"""By default programs with more schedules than that are passed over."""
STATES_MAX = 6
"""How many of the final states of a program are searched for: the most expensive one, and others drawn at random.

If there are fewer, also one that does not exist."""
NOWHERE = "nowhere"

SETTINGS: tuple[tuple[str, Mapping[str, bool]], ...] = (
    ("exact", {}),
    ("exact", {"r3": False}),
    ("exact", {"r2": False, "r3": False}),
    ("exact", {"r1": False}),
    ("anytime", {}),
    ("anytime", {"r2": False}),
)


class TooLargeError(Exception):
    """The program has too many schedules for brute force."""


class Wrong(NamedTuple):
    """A search that contradicts brute force."""

    searcher: str
    settings: Mapping[str, bool]
    state: str
    truth: float | None
    found: float | None
    bound: float

    def __str__(self) -> str:
        return (
            f"{self.searcher} {dict(self.settings)}: final state {self.state[:8]} has the least cost {self.truth}; "
            f"found {self.found}, proved {self.bound}"
        )


class _Needle(NamedTuple):
    """A final state that is searched for, and its least cost; `None` if no schedule within the budget leads there."""

    case: Case
    state: str
    least: float | None


@dataclass(slots=True)
class Report:
    """What came of comparing programs.

    Attributes:
        programs: How many were compared.
        too_large: How many were passed over.
        searches: How many searches were made.
        executions: How many schedules searches asked for, by searcher and settings.
        wrong: By seed, what was wrong.
    """

    programs: int = 0
    too_large: int = 0
    searches: int = 0
    executions: dict[str, int] = field(default_factory=dict)
    wrong: dict[int, list[Wrong]] = field(default_factory=dict)


class Truth:
    """Every schedule of a target within a budget, run once.

    Args:
        system: The target.
        space: What may be injected.
        budget: Of schedules.
        runs_max: More schedules than that are too many.
    """

    def __init__(self, system: Target, space: Space, budget: float, runs_max: int = RUNS_MAX) -> None:
        self._runs_max = runs_max
        task, config = next(iter(system.tasks.values())), next(iter(system.configs.values()))
        self.space, self.budget = space, budget
        self._experiment = Experiment(system, task, config, 0).with_nominal()
        self._depth = Fingerprinting.STATE_AND_HISTORY if space.reads_history else Fingerprinting.STATE
        self._known: dict[Schedule, tuple[Evaluation, str]] = {}
        self._run_all()

    def run(self, wanted: Schedule) -> tuple[Evaluation, str]:
        """Return what a schedule does, and the final state it leads to."""
        known = self._known.get(wanted)
        if known is None:
            execution = execute(self._experiment, wanted, fingerprinting=self._depth)
            outcome = execution.trace.outcome
            # Without their order: a contract that judges it keeps it in its monitor, which fingerprints cover.
            effects = sorted(str(effect.key) for effect in execution.trace.effects)
            state = digest_of([execution.trace.ending.value, outcome.state, effects])
            known = self._known[wanted] = execution.evaluation, state
        return known

    def _run_all(self) -> None:
        """Run all sets of injections within the budget, at all places that any run shows, without any rule."""
        universe = self._injections(self.run(EMPTY)[0])
        while True:
            for chosen in _subsets(universe, self.budget):
                self.run(chosen)
                if len(self._known) > self._runs_max:
                    raise TooLargeError
            seen = dict(universe)
            for evaluation, _ in list(self._known.values()):
                seen.update(self._injections(evaluation))
            if len(seen) == len(universe):
                return
            universe = seen

    def check_what_did_not_land(self) -> None:
        """Compare each run in which something did not land with the run of what landed: they must be equal."""
        for wanted, (evaluation, state) in list(self._known.items()):
            if evaluation.effective != wanted:
                alike, its_state = self.run(evaluation.effective)
                same = (evaluation.crossings, evaluation.acts, state) == (alike.crossings, alike.acts, its_state)
                assert same, f"{wanted} is not like {evaluation.effective}, which is all of it that landed"

    def _injections(self, evaluation: Evaluation) -> dict[Injection, float]:
        return {
            inject(hook_at(crossing.place), priced.operator): priced.cost
            for crossing in evaluation.crossings
            for priced in self.space.at(crossing.boundary, crossing.place.interface, crossing.place.agent)
        }

    def costs(self) -> dict[str, float]:
        """Return the least cost of each final state."""
        found: dict[str, float] = {}
        for evaluation, state in self._known.values():
            cost = evaluation.effective.declared_cost(self.space.model)
            if cost <= self.budget + COST_TOLERANCE:
                found[state] = min(cost, found.get(state, float("inf")))
        return found

    def judged(self, wanted: Schedule, needle: str) -> Evaluation:
        """Return what a schedule does, as judged by a contract that the final state `needle` breaks."""
        evaluation, state = self.run(wanted)
        broken = state == needle
        verdict = ContractVerdict(
            CONTRACT,
            Verdict.VIOLATED if broken else Verdict.HOLDS,
            -1.0 if broken else 1.0,
            Violation(evaluation.step_count, "", "the needle") if broken else None,
            unfair=False,
        )
        fingerprints = tuple(one._replace(monitors=(b"",)) for one in evaluation.fingerprints)
        return replace(evaluation, verdicts=(verdict,), fingerprints=fingerprints)


def _subsets(universe: Mapping[Injection, float], budget: float) -> Iterator[Schedule]:
    cheapest = min(universe.values(), default=float("inf"))
    size_max = int((budget + COST_TOLERANCE) / cheapest) if universe else 0
    for size in range(1, size_max + 1):
        for chosen in itertools.combinations(universe, size):
            is_affordable = sum(universe[injection] for injection in chosen) <= budget + COST_TOLERANCE
            if is_affordable and len({injection.hook for injection in chosen}) == size:
                yield schedule(chosen)


def compare(case: Case, report: Report, seed: int, *, states_max: int = STATES_MAX, runs_max: int = RUNS_MAX) -> None:
    """Search for final states of a program with each searcher and each set of rules, and note what is wrong.

    Args:
        case: The program, and what may be injected into it.
        report: Takes what was found.
        seed: Of the program.
        states_max: How many final states are searched for.
        runs_max: A program with more schedules than that is passed over.
    """
    space = Space(case.choices)
    try:
        truth = Truth(target_of(case.program), space, case.budget, runs_max)
        truth.check_what_did_not_land()
        costs = truth.costs()
    except TooLargeError:
        report.too_large += 1
        return
    report.programs += 1
    nominal = truth.run(EMPTY)[1]
    others = sorted((state for state in costs if state != nominal), key=lambda state: (-costs[state], state))
    drawn = derive(seed, "final states").sample(others[1:], min(states_max, len(others)) - 1) if others else []
    for needle in [*others[:1], *drawn, NOWHERE][:states_max]:
        for name, settings in SETTINGS:
            found = _search(truth, _Needle(case, needle, costs.get(needle)), name, settings, report)
            if found is not None:
                report.wrong.setdefault(seed, []).append(found)


def _search(truth: Truth, needle: _Needle, name: str, settings: Mapping[str, bool], report: Report) -> Wrong | None:
    case, least = needle.case, needle.least
    problem = Problem(CONTRACT, 0, truth.space, case.budget, 0)
    searcher: Searcher = SEARCHERS.get(name)(problem, **settings)
    best: list[float] = []
    too_high: list[float] = []

    def run(wanted: Schedule) -> Evaluation:
        bound = searcher.progress.lower_bound
        if least is not None and bound > least + COST_TOLERANCE:
            too_high.append(bound)
        evaluation = truth.judged(wanted, needle.state)
        if evaluation.verdicts[0].verdict is Verdict.VIOLATED:
            best.append(evaluation.effective.declared_cost(truth.space.model))
        return evaluation

    label = " ".join([name, *(f"{rule}={value}" for rule, value in settings.items())])
    report.executions[label] = report.executions.get(label, 0) + drive(searcher, run, lookahead=case.lookahead)
    report.searches += 1
    bound = searcher.progress.lower_bound
    within = [cost for cost in best if cost <= case.budget + COST_TOLERANCE]
    found = min(within, default=None)
    proved = bound >= least if least is not None else bound > case.budget
    if found != least or not proved or too_high:
        return Wrong(name, settings, needle.state, least, found, max([bound, *too_high]))
    return None

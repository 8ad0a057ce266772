"""The plain truth that searchers are checked against: every schedule within the budget, executed."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Injection, hook_at, inject
from chaosagent.faults.schedule import EMPTY, Schedule, schedule
from chaosagent.faults.space import Space
from chaosagent.study.searcher import AuditsFurther, Searcher
from chaosagent.study.shrinking.minimal_sets import MinimalSets
from chaosagent.study.shrinking.minimise import violates


class Minimum(NamedTuple):
    """What exhaustive enumeration found.

    Attributes:
        cost: Of the cheapest violating schedule within the budget; `None` when there is none.
        executions: How many schedules were executed.
    """

    cost: float | None
    executions: int


def enumerate_minimum(run: Callable[[Schedule], Evaluation], contract: str, space: Space, budget: float) -> Minimum:
    """Execute every set of injections within the budget, at all hooks that any executed run shows, without any rule.

    Args:
        run: Executes one schedule.
        contract: Id of the contract.
        space: What may be injected where, and what it costs.
        budget: The B of `cost(δ) ≤ B`.
    """
    told = _all_executed(run, space, budget)
    costs = [
        evaluation.effective.declared_cost(space.model)
        for evaluation in told.values()
        if violates(evaluation, contract)
    ]
    return Minimum(min(costs, default=None), len(told))


def enumerate_minimal(
    run: Callable[[Schedule], Evaluation], contract: str, space: Space, budget: float
) -> tuple[Schedule, ...]:
    """Return all minimal counterexamples within the budget, by executing every schedule as `enumerate_minimum` does.

    Of those that have injections of equal cost at the same hooks one is returned.

    Args:
        run: Executes one schedule.
        contract: Id of the contract.
        space: What may be injected where, and what it costs.
        budget: The B of `cost(δ) ≤ B`.
    """
    found = MinimalSets(space.model)
    for evaluation in _all_executed(run, space, budget).values():
        if violates(evaluation, contract):
            found.add(evaluation.effective)
    return tuple(found)


def _all_executed(run: Callable[[Schedule], Evaluation], space: Space, budget: float) -> dict[Schedule, Evaluation]:
    told = {EMPTY: run(EMPTY)}
    universe = _injections(told[EMPTY], space)
    while True:
        fresh = [candidate for candidate in _subsets(universe, space, budget) if candidate not in told]
        for candidate in fresh:
            told[candidate] = run(candidate)
        seen = dict(universe)
        for candidate in fresh:
            seen.update(_injections(told[candidate], space))
        if len(seen) == len(universe):
            return told
        universe = seen


def _injections(evaluation: Evaluation, space: Space) -> dict[Injection, float]:
    return {
        inject(hook_at(crossing.place), priced.operator): priced.cost
        for crossing in evaluation.crossings
        for priced in space.at(crossing.boundary, crossing.place.interface, crossing.place.agent)
    }


def _subsets(universe: dict[Injection, float], space: Space, budget: float) -> list[Schedule]:
    found = []
    size_max = int(budget / space.cost_min) if space.cost_min > 0 else len(universe)
    for size in range(1, size_max + 1):
        for chosen in itertools.combinations(universe, size):
            hooks = {injection.hook for injection in chosen}
            if len(hooks) == size and sum(universe[injection] for injection in chosen) <= budget + 1e-9:
                found.append(schedule(chosen))
    return found


def drive(
    searcher: Searcher, run: Callable[[Schedule], Evaluation], *, lookahead: int = 1, trials_max: int = 100_000
) -> int:
    """Ask and tell until a searcher has finished, and return how many schedules it had run.

    Raises:
        RuntimeError: It asks for nothing and has not finished, or does not finish within `trials_max`.
    """
    trials = 0
    window: list[Schedule] = []
    while not searcher.finished:
        window.extend(proposal.schedule for proposal in searcher.ask(lookahead - len(window)))
        if not window:
            if searcher.finished:
                break
            raise RuntimeError("the searcher asks for nothing and has not finished")
        trials += 1
        if trials > trials_max:
            raise RuntimeError(f"the searcher has not finished after {trials_max} trials")
        searcher.tell(run(window.pop(0)))
    for left in window:
        searcher.tell(run(left))
    return trials


def drive_audit(searcher: Searcher, run: Callable[[Schedule], Evaluation], count: int) -> int:
    """Run the audit of a searcher that has finished, as a study does, and return how many schedules it had run."""
    before, trials = searcher.progress.contradictions, 0
    proposals = searcher.audit(count)
    while proposals:
        for proposal in proposals:
            searcher.tell(run(proposal.schedule))
        trials += len(proposals)
        if searcher.progress.contradictions != before or not isinstance(searcher, AuditsFurther):
            break
        proposals = searcher.audit_further()
    return trials

"""R(B) under random schedules: what ordinary fault injection sees, beside what a search finds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from statistics import fmean
from typing import NamedTuple

from chaosagent.errors import UsageError
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY
from chaosagent.metrics.comparison import SearchKey, SearchOutcome
from chaosagent.metrics.robustness import Curve, Level
from chaosagent.searchers.random import RandomSearcher
from chaosagent.statistics.intervals import Interval, interval_over_tasks
from chaosagent.study.evaluator import Evaluator
from chaosagent.study.plan import ABREAST, OBJECTIVE, Plan
from chaosagent.study.searcher import Problem
from chaosagent.study.task_seed import TaskSeed
from chaosagent.vocabulary import Ending

DRAWS = 20
"""Random schedules for each task, seed and level of the budget, unless said otherwise."""
LEVELS = 11
LEVELS_MAX = 1_000
NO_CONTRACT = ""
"""A searcher stops looking above the cost of a violation that it knows; draws that stand for chance may not."""


class RandomRuns(NamedTuple):
    """Runs of one task and seed under random schedules of one budget.

    Attributes:
        task: Id of the task.
        seed: Of the runs.
        budget: Up to which schedules were drawn; 0 for the run without injections.
        made: How many runs there are.
        counted: How many of them came to their end.
        done: In how many of these the objective was met.
        failure: What landed of the cheapest schedule under which it was not met, in text form.
        failure_cost: Of that; `None` where there is none.
    """

    task: str
    seed: int
    budget: float
    made: int
    counted: int
    done: int
    failure: str = ""
    failure_cost: float | None = None


def levels_of(plan: Plan) -> list[float]:
    """Return the budgets at which random schedules of a study are drawn: evenly up to its own."""
    budgets = [round(plan.budget * number / LEVELS, 6) for number in range(1, LEVELS + 1)]
    # Below the cost of a hook nothing can be injected, and there is nothing to draw.
    return [budget for budget in budgets if budget >= plan.space.model.c_hook] or [plan.budget]


def random_runs(
    plan: Plan,
    evaluator: Evaluator,
    budgets: Sequence[float],
    *,
    draws: int = DRAWS,
) -> list[RandomRuns]:
    """Run random schedules.

    The number of injections is drawn uniformly, then each of them from what the runs before have shown to be possible.
    What a schedule breaks has no part in which ones are drawn next.

    Args:
        plan: Target, configuration, tasks, seeds and space; its `objective` contract is not needed.
        evaluator: Makes the runs.
        budgets: Levels, ascending; below the first one nothing is injected.
        draws: Schedules for each task, seed and budget, none of them twice; fewer where there are not so many.

    Returns:
        The runs without injections, then those of each budget, by task and seed in the order of the plan.

    Raises:
        UsageError: The budgets do not ascend, or the target does not say whether its objective was met.

    Determinism: equal plans give equal draws, whatever the executor; where answers come by chance they are not frozen,
        so then they are live runs.
    """
    if not budgets or list(budgets) != sorted(set(budgets)) or budgets[0] <= 0 or len(budgets) > LEVELS_MAX:
        raise UsageError(f"random schedules up to {budgets!r:.80}: give ascending budgets above 0, at most 1,000.")
    pairs = [TaskSeed(task.id, seed) for task in plan.tasks for seed in plan.seeds]
    for at in pairs:
        evaluator.request(at, EMPTY)
    made = [_counted(plan, at, 0.0, [evaluator.evaluate(at, EMPTY)]) for at in pairs]
    for budget in budgets:
        made += [_counted(plan, at, budget, _draw(plan, evaluator, at, budget, draws)) for at in pairs]
    return made


def _draw(plan: Plan, evaluator: Evaluator, at: TaskSeed, budget: float, draws: int) -> list[Evaluation]:
    """Run random schedules within a budget on one task and seed; without any that fits, the run without injections."""
    searcher = RandomSearcher(Problem(NO_CONTRACT, 0, plan.space, budget, at.seed, plan.seed))
    told: list[Evaluation] = []
    for proposal in searcher.ask(1):  # the run without injections shows where something can be injected
        searcher.tell(evaluator.evaluate(at, proposal.schedule))
    while len(told) < draws:
        proposals = searcher.ask(min(ABREAST, draws - len(told)))
        if not proposals:
            break
        for proposal in proposals:
            evaluator.request(at, proposal.schedule)
        for proposal in proposals:
            told.append(evaluator.evaluate(at, proposal.schedule))
            searcher.tell(told[-1])
    return told or [evaluator.evaluate(at, EMPTY)]


def _counted(plan: Plan, at: TaskSeed, budget: float, told: Sequence[Evaluation]) -> RandomRuns:
    successes = [_success(evaluation, at) for evaluation in told]
    failed = [
        (one.effective.declared_cost(plan.space.model), str(one.effective))
        for one, success in zip(told, successes, strict=True)
        if success is False
    ]
    cost, failure = min(failed, default=(None, ""))
    counted = sum(success is not None for success in successes)
    return RandomRuns(at.task_id, at.seed, budget, len(told), counted, successes.count(True), failure, cost)


def _success(evaluation: Evaluation, at: TaskSeed) -> bool | None:
    if evaluation.status is Status.ERROR or evaluation.ending in (Ending.INCONCLUSIVE, Ending.HUNG):
        return None
    if evaluation.success is None:
        raise UsageError(
            f"task {at.task_id!r}: the target does not say whether its objective was met, so there is no R(B). "
            "Give it an objective, or let it return Outcome(success=...)."
        )
    return evaluation.success


def random_curve(runs: Sequence[RandomRuns], budget_max: float, *, stochastic: bool) -> Curve:
    """Return the mean success under random schedules.

    Args:
        runs: As `random_runs` returns them; those of some tasks give the curve of these tasks.
        budget_max: Where the curve ends.
        stochastic: Answers come by chance, so also the run without faults is an estimate.
    """
    by_level = [(budget, list(level)) for budget, level in groupby(runs, key=attrgetter("budget"))]
    levels = [_mean(level, budget) for budget, level in by_level]
    if not stochastic and all(one.counted for one in by_level[0][1]):  # each was run, and runs repeat
        levels[0] = replace(levels[0], interval=Interval(levels[0].lower, levels[0].upper))
    return Curve("random", tuple(levels), budget_max, max(sum(one.made for one in level) for _, level in by_level))


def with_failures(
    against: Mapping[SearchKey, SearchOutcome], runs: Sequence[RandomRuns]
) -> tuple[dict[SearchKey, SearchOutcome], tuple[str, ...]]:
    """Add to what searches found what random schedules broke: they may have met what a search did not come to.

    Args:
        against: What the searches against the objective found and proved.
        runs: Under random schedules, of a target whose runs repeat.

    Returns:
        What is known together; and the failures that a search has proved impossible, in which it is not believed any
        more.
    """
    known, contradictions = dict(against), []
    for one in runs:
        key = SearchKey(one.task, one.seed, OBJECTIVE)
        outcome = known.get(key)
        if outcome is None or one.failure_cost is None:
            continue
        cost = one.failure_cost
        if outcome.excludes(cost):
            contradictions.append(f"task {one.task!r}, seed {one.seed}: {one.failure or 'no fault'}, cost {cost:g}")
            known[key] = SearchOutcome(min(cost, math.inf if outcome.cost is None else outcome.cost))
        elif outcome.cost is None or cost < outcome.cost:
            known[key] = replace(outcome, cost=cost, counterexample="")
    return known, tuple(contradictions)


def without_estimates(random: Curve, adversarial: Curve) -> Curve:
    """Return a random curve that calls nothing an estimate where it is proved that no schedule breaks anything.

    Args:
        random: Of the same tasks and seeds.
        adversarial: Their curve under the cheapest schedules; where it is only shown, nothing is proved.
    """
    if adversarial.shown is not None:
        return random
    levels = [
        replace(level, interval=Interval(level.lower, level.upper))
        if level.budget <= adversarial.budget_max and adversarial.at(level.budget).lower == level.lower == 1
        else level
        for level in random.levels
    ]
    return replace(random, levels=tuple(levels))


def _mean(runs: Sequence[RandomRuns], budget: float) -> Level:
    """Return the mean over pairs of their means; runs that could not be executed count in neither way."""
    counted = [one for one in runs if one.counted]
    if not counted:
        return Level(budget, 1.0, 0.0, Interval(0.0, 1.0))
    by_task: dict[str, list[float]] = {}
    for one in counted:
        by_task.setdefault(one.task, []).append(one.done / one.counted)
    mean = sum(one.done / one.counted for one in counted) / len(counted)
    return Level(budget, mean, mean, interval_over_tasks(mean, [fmean(shares) for shares in by_task.values()]))

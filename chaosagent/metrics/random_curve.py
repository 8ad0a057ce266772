"""R(B) under random schedules: what ordinary fault injection sees, beside what a search finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from chaosagent.errors import UsageError
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.metrics.robustness import Curve, Level
from chaosagent.searchers.random import RandomSearcher
from chaosagent.statistics.intervals import Interval, interval_over_tasks
from chaosagent.study.evaluator import Evaluator
from chaosagent.study.plan import ABREAST, Plan
from chaosagent.study.searcher import Problem
from chaosagent.study.task_seed import TaskSeed
from chaosagent.vocabulary import Ending

DRAWS = 20
"""Random schedules for each task, seed and level of the budget, unless said otherwise."""
LEVELS = 11
LEVELS_MAX = 1_000
NO_CONTRACT = ""
"""A searcher stops looking above the cost of a violation that it knows; draws that stand for chance may not."""


class Draw(NamedTuple):
    """A run under a random schedule.

    Attributes:
        task: Id of the task.
        seed: Of the run.
        budget: Up to which the schedule was drawn; 0 for the run without injections.
        schedule: What was injected; empty also where nothing of that cost could be.
        cost: Of what landed.
        success: Whether the objective was met; `None` for a run that could not be executed, or not to its end.
    """

    task: str
    seed: int
    budget: float
    schedule: Schedule
    cost: float
    success: bool | None


def levels_of(plan: Plan) -> list[float]:
    """Return the budgets at which random schedules of a study are drawn: evenly up to its own."""
    budgets = [round(plan.budget * number / LEVELS, 6) for number in range(1, LEVELS + 1)]
    # Below the cost of a hook nothing can be injected, and there is nothing to draw.
    return [budget for budget in budgets if budget >= plan.space.model.c_hook] or [plan.budget]


def random_draws(
    plan: Plan,
    evaluator: Evaluator,
    budgets: Sequence[float],
    *,
    draws: int = DRAWS,
    on_level: Callable[[float], object] = lambda _: None,
) -> list[Draw]:
    """Run random schedules.

    The number of injections is drawn uniformly, then each of them from what the runs before have shown to be possible.
    What a schedule breaks has no part in which ones are drawn next.

    Args:
        plan: Target, configuration, tasks, seeds and space; its `objective` contract is not needed.
        evaluator: Makes the runs.
        budgets: Levels, ascending; below the first one nothing is injected.
        draws: Schedules for each task, seed and budget, none of them twice; fewer where there are not so many.
        on_level: Called with each budget whose draws are over, from 0.

    Returns:
        The runs without injections, then those of each budget, each of them by task and seed in the order of the plan.

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
    made = [_draw_of(plan, at, 0.0, evaluator.evaluate(at, EMPTY)) for at in pairs]
    on_level(0.0)
    for budget in budgets:
        for at in pairs:
            made += _draws_of(plan, evaluator, at, budget, draws)
        on_level(budget)
    return made


def _draws_of(plan: Plan, evaluator: Evaluator, at: TaskSeed, budget: float, draws: int) -> list[Draw]:
    """Run random schedules within a budget on one task and seed; without any that fits, the run without injections."""
    searcher = RandomSearcher(Problem(NO_CONTRACT, 0, plan.space, budget, at.seed, plan.seed))
    made: list[Draw] = []
    for proposal in searcher.ask(1):  # the run without injections shows where something can be injected
        searcher.tell(evaluator.evaluate(at, proposal.schedule))
    while len(made) < draws:
        proposals = searcher.ask(min(ABREAST, draws - len(made)))
        if not proposals:
            break
        for proposal in proposals:
            evaluator.request(at, proposal.schedule)
        for proposal in proposals:
            evaluation = evaluator.evaluate(at, proposal.schedule)
            searcher.tell(evaluation)
            made.append(_draw_of(plan, at, budget, evaluation))
    return made or [_draw_of(plan, at, budget, evaluator.evaluate(at, EMPTY))]


def _draw_of(plan: Plan, at: TaskSeed, budget: float, evaluation: Evaluation) -> Draw:
    cost = evaluation.effective.declared_cost(plan.space.model)
    return Draw(at.task_id, at.seed, budget, evaluation.schedule, cost, _success(evaluation, at))


def _success(evaluation: Evaluation, at: TaskSeed) -> bool | None:
    if evaluation.status is Status.ERROR or evaluation.ending in (Ending.INCONCLUSIVE, Ending.HUNG):
        return None
    if evaluation.success is None:
        raise UsageError(
            f"task {at.task_id!r}: the target does not say whether its objective was met, so there is no R(B). "
            "Give it an objective, or let it return Outcome(success=...)."
        )
    return evaluation.success


def random_curve(draws: Sequence[Draw], budget_max: float, *, stochastic: bool) -> Curve:
    """Return the mean success under random schedules.

    Args:
        draws: As `random_draws` returns them; those of some tasks give the curve of these tasks.
        budget_max: Where the curve ends.
        stochastic: Answers come by chance, so also the run without faults is an estimate.
    """
    levels = [_mean(list(level), budget) for budget, level in groupby(draws, key=attrgetter("budget"))]
    if not stochastic and all(draw.success is not None for draw in draws if draw.budget == 0):
        levels[0] = replace(levels[0], interval=Interval(levels[0].lower, levels[0].upper))  # each was run, and repeats
    most = max(len(list(level)) for _, level in groupby(draws, key=attrgetter("budget")))
    return Curve("random", tuple(levels), budget_max, most)


def _mean(draws: Sequence[Draw], budget: float) -> Level:
    """Return the mean over pairs of their means; runs that could not be executed count in neither way."""
    counted = dict(_by_pair(draws))
    if not counted:
        return Level(budget, 1.0, 0.0, Interval(0.0, 1.0))
    mean = sum(sum(runs) / len(runs) for runs in counted.values()) / len(counted)
    return Level(budget, mean, mean, interval_over_tasks(mean, len({task for task, _ in counted})))


def _by_pair(draws: Sequence[Draw]) -> Iterator[tuple[tuple[str, int], list[bool]]]:
    for pair, theirs in groupby(draws, key=attrgetter("task", "seed")):
        told = [draw.success for draw in theirs if draw.success is not None]
        if told:
            yield pair, told

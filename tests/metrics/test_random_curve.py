"""R(B) under random schedules: which are drawn, what they are worth, and that what breaks does not steer them."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.api.stored.curves import survivals_of
from chaosagent.contracts.catalogue import parse_contract
from chaosagent.errors import UsageError
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.metrics.comparison import SearchKey, SearchOutcome
from chaosagent.metrics.random_curve import RandomRuns, random_curve, random_runs, with_failures
from chaosagent.metrics.robustness import adversarial_curve, curve_of
from chaosagent.study.evaluator import Evaluator
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import OBJECTIVE, Plan
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task
from tests.metrics.replicas import plan_for

COSTS = (1.0, 2.1, 3.2)


@target()
async def silent(_task: Task, run: Run) -> Outcome:
    """Says nothing about success."""
    await run.service("any", {"do": lambda: 1})("do")
    return Outcome("done")


def drawn(plan: Plan, budgets: Sequence[float], *, draws: int) -> list[RandomRuns]:
    evaluator = Evaluator(InlineExecutor(plan.workbench()), Fingerprinting.OFF)
    return random_runs(plan, evaluator, budgets, draws=draws)


def test_random_schedules_break_less_than_the_cheapest() -> None:
    plan = plan_for(budget=3.4)

    curve = random_curve(drawn(plan, [0.5, 1.2, 2.4, 3.4], draws=7), 3.4, stochastic=False)

    worst = adversarial_curve(Study(plan, InlineExecutor(plan.workbench())).run().searches, 3.4)
    assert curve.at(0.5).upper == 1.0
    assert all(level.upper >= worst.at(level.budget).upper for level in curve.levels)
    assert curve.at(3.4).upper < 1.0
    assert curve.samples == 3 * 7
    assert all(level.interval.low <= level.upper <= level.interval.high for level in curve.levels)
    assert curve.levels[0].interval == (1.0, 1.0), "what was run without faults is no estimate"
    assert curve.at(3.4).interval == (0.0, 1.0), "many draws on three tasks say nothing of other tasks"


@st.composite
def studies(draw: st.DrawFn) -> tuple[dict[SearchKey, SearchOutcome], list[RandomRuns]]:
    """Draw what searches of some tasks found and proved, and random runs, of which some fail."""
    tasks = [f"task-{number}" for number in range(draw(st.integers(1, 5)))]
    against, runs = {}, []
    for task in tasks:
        cost = draw(st.sampled_from((None, *COSTS)))
        below = draw(st.sampled_from((0.0, *COSTS)))
        proved = below if cost is None else min(below, cost)
        up_to = 4.0 if cost is None and draw(st.booleans()) else None
        against[SearchKey(task, 0, OBJECTIVE)] = SearchOutcome(cost, proved, up_to)
    for budget in (0.0, *COSTS):
        for task in tasks:
            costs = [one for one in COSTS if one <= budget]
            failed = draw(st.integers(0, 4)) if costs else 0
            least = draw(st.sampled_from(costs)) if failed else None
            runs.append(RandomRuns(task, 0, budget, 4, 4, 4 - failed, "a fault" if failed else "", least))
    return against, runs


@given(studies())
def test_random_schedules_never_lie_below_the_cheapest_ones(
    drawn: tuple[dict[SearchKey, SearchOutcome], list[RandomRuns]],
) -> None:
    against, runs = drawn

    known, _ = with_failures(against, runs)
    worst, random = curve_of(survivals_of(known), 4.0), random_curve(runs, 4.0, stochastic=False)

    for level in random.levels:
        assert level.upper >= worst.at(level.budget).upper - 1e-9
        assert worst.at(level.budget).lower <= worst.at(level.budget).upper


def test_what_breaks_does_not_steer_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A searcher looks below the cheapest violation that it knows; random draws that did would break too little."""
    monkeypatch.setattr("chaosagent.metrics.random_curve.ABREAST", 1)
    searched = plan_for(budget=3.4)
    not_searched = plan_for(budget=3.4, contracts=(parse_contract("termination"),))

    draws = drawn(searched, [3.4], draws=7)

    assert draws == drawn(not_searched, [3.4], draws=7)
    weakest = next(one for one in draws if one.budget and one.task == "needs-1")
    assert weakest.made == 7, "there are seven ways to fail one to three of the replicas, and each is drawn once"
    assert weakest.done == 0
    assert weakest.failure_cost == pytest.approx(1.1), "the cheapest of those that fail is kept"
    assert random_curve(draws, 3.4, stochastic=False).at(3.4).upper == pytest.approx((0 + 3 / 7 + 6 / 7) / 3)


def test_draws_repeat_and_follow_the_seed() -> None:
    def made(seed: int) -> tuple[RandomRuns, ...]:
        return tuple(drawn(plan_for(budget=2.2, seed=seed), [1.1, 2.2], draws=2))

    assert made(0) == made(0)
    assert len({made(seed) for seed in range(6)}) > 1


def test_a_run_that_could_not_be_executed_counts_in_neither_way() -> None:
    runs = [one for one in drawn(plan_for(budget=1.2), [1.2], draws=2) if one.task == "needs-1"]
    spoilt = [one._replace(counted=0) if one.budget else one for one in runs]

    assert [level.upper for level in random_curve(runs, 1.2, stochastic=False).levels] == [1.0, 0.0]
    unknown = random_curve(spoilt, 1.2, stochastic=False).levels[-1]
    assert (unknown.lower, unknown.upper) == (0.0, 1.0)


@pytest.mark.parametrize("budgets", [[], [2.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
def test_budgets_that_do_not_ascend_are_refused(budgets: list[float]) -> None:
    with pytest.raises(UsageError, match="give ascending budgets"):
        drawn(plan_for(budget=1.0), budgets, draws=1)


def test_a_target_that_does_not_tell_success_has_no_r() -> None:
    plan = plan_for(budget=1.0, target=silent, tasks=tuple(silent.tasks.values()))

    with pytest.raises(UsageError, match="does not say whether its objective was met"):
        drawn(plan, [1.0], draws=1)

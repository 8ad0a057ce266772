"""R(B): against its definition, with what is not proved, and under random schedules."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.errors import UsageError
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Job
from chaosagent.faults.schedule import parse
from chaosagent.faults.space import Choices, Space
from chaosagent.metrics.robustness import (
    ChanceEvidence,
    Curve,
    Level,
    Survival,
    adversarial_curve,
    curve_of,
    survival_of,
)
from chaosagent.study.certificate import Certificate
from chaosagent.study.chance.confirmation import CleanRuns
from chaosagent.study.chance.nominal_share import NominalShare
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult
from chaosagent.study.store.files import ANSWERS_NAME
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task
from tests.metrics.replicas import TASKS, plan_for, reader


def chancy_plan(folder: Path) -> Plan:
    """A bank whose lost answers only one task minds, and only when the model says so; it mostly does."""
    draws = Random(5)

    @target(tasks=(Task("minds"), Task("shrugs")))
    async def chancy(task: Task, run: Run) -> Outcome:
        model = run.model("assistant", {"ask": lambda: {"content": str(draws.random() < 0.7), "tool_calls": []}})
        minds = (await model("ask"))["content"] == "True" and task.id == "minds"
        try:
            await run.service("bank", {"pay": lambda: 1})("pay")
        except ConnectionError:
            return Outcome("lost", success=not minds)
        return Outcome("paid", success=True)

    lost = Space([Choices("service.lost_response", {"when": ("after",)})])
    return plan_for(
        1.3, target=chancy, config=chancy.config("default"), tasks=tuple(chancy.tasks.values()), space=lost,
        stochastic=True, answers=folder / ANSWERS_NAME,
    )  # fmt: skip


def searches_of(plan: Plan) -> Sequence[SearchResult]:
    return Study(plan, InlineExecutor(plan.workbench())).run().searches


def r_by_definition(plan: Plan, budget: float) -> float:
    """Try every schedule of the small space."""
    faults = [f"service:replica{number}[1] service.timeout(when=before, seconds=5.0)" for number in range(3)]
    schedules = [parse("; ".join(chosen)) for count in range(4) for chosen in combinations(faults, count)]
    affordable = [schedule for schedule in schedules if schedule.declared_cost(plan.space.model) <= budget]
    survived = [
        all(plan.workbench().evaluate(Job(task.id, 0, schedule)).success for schedule in affordable)
        for task in plan.tasks
    ]
    return sum(survived) / len(survived)


def test_the_adversarial_curve_is_r_as_it_is_defined() -> None:
    plan = plan_for(budget=3.4)

    curve = adversarial_curve(searches_of(plan), 3.4)

    for budget in (0.0, 1.0, 1.02, 1.1, 2.0, 2.1, 2.2, 3.0, 3.2, 3.4):
        level = curve.at(budget)
        assert level.upper == level.lower == pytest.approx(r_by_definition(plan, budget)), budget


def test_an_interrupted_search_leaves_open_what_it_did_not_prove() -> None:
    plan = plan_for(budget=3.4)
    short = replace(plan, limits=replace(plan.limits, trials_max=2))

    whole, cut = (adversarial_curve(searches_of(one), 3.4) for one in (plan, short))

    open_levels = [level for level in cut.levels if level.lower < level.upper]
    assert open_levels
    for level in whole.levels:
        there = cut.at(level.budget)
        assert there.lower <= level.upper <= there.upper
    assert cut.area.low < whole.area.low == whole.area.high < cut.area.high


def test_what_fails_without_faults_counts_at_every_budget() -> None:
    plan = plan_for(budget=1.5)
    failing = replace(plan, tasks=(Task("needs-0", input=0), TASKS[2]))
    listed = {task.id: task for task in failing.tasks}
    failing = replace(failing, target=replace(reader, tasks=listed))

    curve = adversarial_curve(searches_of(failing), 1.5)

    assert [(level.budget, level.upper, level.lower) for level in curve.levels] == [(0.0, 0.5, 0.5)]


def test_a_search_without_proof_proves_nothing() -> None:
    result = SearchResult("a", 0, "objective", 5, False, (), Certificate("C0", None, 0.0, 3.0, 5))

    survival = survival_of(result)

    assert (survival.lower(0.0), survival.upper(3.0)) == (0, 1)


def test_r_without_searches_against_the_objective_is_refused() -> None:
    plan = plan_for(budget=1.0, contracts=(parse_contract("no-crash"),))

    with pytest.raises(UsageError, match="needs searches against the contract 'objective'"):
        adversarial_curve(searches_of(plan), 1.0)


CLEAN = CleanRuns(classes=3, runs=17, error=0.025)
SEEN_CLEAN = Certificate("S", None, float("inf"), 3.0, 5, frozen=True, clean=CLEAN)
ONE_WORLD = Certificate("C2", None, float("inf"), 3.0, 5, frozen=True)


@pytest.mark.parametrize(
    ("certificate", "kept"),
    [
        (SEEN_CLEAN, 1),
        (ONE_WORLD, 1),  # no schedule asks a model, so other answers change nothing
        (replace(ONE_WORLD, doubted=True), 0),
        (replace(ONE_WORLD, worlds_searched=2), 0),
        (replace(ONE_WORLD, limit_reached=True), 0),
        (replace(ONE_WORLD, broken_anyway=NominalShare(1, 20, 1, 17)), 0),
        (replace(SEEN_CLEAN, lower_bound=1.0), 0),
        (replace(SEEN_CLEAN, level="C0"), 0),
    ],
)
def test_a_proof_for_one_world_of_answers_keeps_nothing_that_chance_may_change(
    certificate: Certificate, kept: int
) -> None:
    survival = survival_of(SearchResult("a", 0, "objective", 5, False, (), certificate))

    assert (survival.lower(2.0), survival.upper(2.0)) == (kept, 1)


@pytest.mark.slow
def test_where_answers_come_by_chance_only_what_is_confirmed_counts_as_broken(tmp_path: Path) -> None:
    plan = chancy_plan(tmp_path)
    searches = searches_of(plan)
    (weak,) = [search for search in searches if search.counterexamples]
    (found,) = weak.counterexamples
    assert found.confirmation is not None
    doubtful = replace(found, confirmation=replace(found.confirmation, evidence=1.0))
    unconfirmed = replace(weak, counterexamples=(doubtful,))

    curve = adversarial_curve(searches, 1.3)
    without = adversarial_curve([unconfirmed if one is weak else one for one in searches], 1.3)

    assert (curve.at(1.0).upper, curve.at(1.1).upper) == (1.0, 0.5)
    assert without.at(1.3).upper == 1.0
    assert without.at(1.3).lower < 1.0


@pytest.mark.slow
def test_a_curve_says_what_stands_behind_it_where_answers_come_by_chance(tmp_path: Path) -> None:
    curve = adversarial_curve(searches_of(chancy_plan(tmp_path)), 1.3)
    proved = adversarial_curve(searches_of(plan_for(budget=1.2)), 1.2)

    assert curve.shown is not None
    assert curve.shown.runs >= 10
    assert 0 < curve.shown.share_max < 0.5
    assert str(curve.shown).startswith("Answers come by chance, so nothing here is proved. Broken: fresh runs confirm")
    assert f"Kept (level S): at least {curve.shown.runs} clean runs with other answers" in str(curve.shown)
    told = curve.to_json()["shown"]
    assert isinstance(told, dict)
    assert told["note"] == str(curve.shown)
    assert proved.shown is None
    assert proved.to_json()["shown"] is None


def test_without_clean_runs_nothing_that_asks_a_model_is_called_kept() -> None:
    doubted = SearchResult("a", 0, "objective", 5, False, (), replace(ONE_WORLD, doubted=True))

    curve = adversarial_curve([doubted], 3.0)

    assert curve.shown == ChanceEvidence()
    assert "Kept: only what asks no model, as no search ended at level S" in str(curve.shown)


@given(st.floats(0, 5), st.floats(0, 5))
def test_more_budget_never_makes_survival_likelier(one: float, other: float) -> None:
    less, more = sorted((one, other))
    survival = Survival("a", 0, 1.5, 2.5)

    assert survival.upper(less) >= survival.upper(more)
    assert survival.lower(less) >= survival.lower(more)
    assert survival.lower(one) <= survival.upper(one)


BOUNDS = st.floats(0, 5)
SURVIVALS = st.lists(
    st.builds(lambda bound: Survival("a", 0, bound, None), BOUNDS)
    | st.builds(lambda one, other: Survival("a", 0, min(one, other), max(one, other)), BOUNDS, BOUNDS),
    min_size=1,
)


@given(SURVIVALS)
def test_an_adversarial_curve_never_rises_and_its_ends_never_cross(survivals: list[Survival]) -> None:
    levels = curve_of(survivals, 4.0).levels

    assert all(later.upper <= earlier.upper and later.lower <= earlier.lower for earlier, later in pairwise(levels))
    assert all(0 <= level.lower <= level.upper <= 1 for level in levels)


@given(SURVIVALS, SURVIVALS, st.floats(0, 4))
def test_curves_of_parts_average_to_the_whole_at_every_budget(
    one: list[Survival], other: list[Survival], budget: float
) -> None:
    whole = curve_of([*one, *other], 4.0).at(budget)
    parts = [(len(part), curve_of(part, 4.0).at(budget)) for part in (one, other)]

    count = len(one) + len(other)
    assert whole.upper == pytest.approx(sum(size * level.upper for size, level in parts) / count)
    assert whole.lower == pytest.approx(sum(size * level.lower for size, level in parts) / count)


def test_the_area_is_the_mean_over_the_budgets() -> None:
    interval = (0.0, 1.0)
    levels = (Level(0.0, 1.0, 1.0, interval), Level(1.0, 0.5, 0.25, interval))  # type: ignore[arg-type]  # a pair will do
    curve = Curve("adversarial", levels, 4.0, 4)

    assert curve.area == pytest.approx(((1 + 3 * 0.25) / 4, (1 + 3 * 0.5) / 4))


def test_a_budget_outside_the_curve_is_refused() -> None:
    curve = adversarial_curve(searches_of(plan_for(budget=1.0)), 1.0)

    with pytest.raises(UsageError, match="the curve reaches from 0 to 1"):
        curve.at(1.5)


def test_a_curve_as_plain_data_holds_all_of_it() -> None:
    curve = adversarial_curve(searches_of(plan_for(budget=1.2)), 1.2)

    data = curve.to_json()

    assert (data["kind"], data["budget_max"], data["samples"]) == ("adversarial", 1.2, 3)
    levels = data["levels"]
    assert isinstance(levels, list)
    assert len(levels) == len(curve.levels)

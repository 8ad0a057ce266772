"""The study of all planted families at once searches the same agents in the same space as a study of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaosagent.execution.workers.workbench import Job
from chaosagent.experiments.benchmarks.planted import combined
from chaosagent.experiments.benchmarks.planted.arena import job_of, workbench_of
from chaosagent.experiments.benchmarks.planted.catalogue import FAMILIES
from chaosagent.faults.schedule import EMPTY
from chaosagent.study.shrinking.minimise import violates
from chaosagent.studyfile import load_study, plan_of

FILE = Path(combined.__file__).with_name("combined.yaml")
SEPARATE = ("magnitudes", "text", "chance-single", "chance-pair")


def test_the_study_has_three_layouts_of_each_family_of_its_space() -> None:
    plan = plan_of(load_study(FILE))

    assert plan.space.digest == combined.SPACE.digest
    assert [task.id for task in plan.tasks] == [
        f"{name}-{layout}" for name in FAMILIES if name not in SEPARATE for layout in range(combined.LAYOUTS)
    ]


@pytest.mark.parametrize("task", combined.ALIKE)
def test_a_task_breaks_where_its_family_does(task: str) -> None:
    plan, planted = plan_of(load_study(FILE)), combined.ALIKE[task]
    together, alone = plan.workbench(), workbench_of(planted)

    for schedule in (EMPTY, *planted.minima):
        (contract,) = plan.contracts
        found, expected = together.evaluate(Job(task, 0, schedule)), alone.evaluate(job_of(schedule))

        assert violates(found, contract.id) is violates(expected, contract.id) is (schedule is not EMPTY)
        assert [crossing.place for crossing in found.crossings] == [crossing.place for crossing in expected.crossings]


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in SEPARATE and FAMILIES[name].minimum])
def test_the_budget_covers_every_minimum_and_other_layouts_hold_under_it(name: str) -> None:
    plan = plan_of(load_study(FILE))
    workbench, (contract,) = plan.workbench(), plan.contracts
    minimum = combined.ALIKE[f"{name}-0"].minima[0]

    assert minimum.declared_cost(plan.space.model) <= plan.budget
    assert not violates(workbench.evaluate(Job(f"{name}-1", 0, minimum)), contract.id)

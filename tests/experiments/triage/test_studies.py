"""The studies of the triage assistant can be read, and its runs are the same in every process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from importlib.resources import as_file, files

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.execution.execute import Experiment, execute
from chaosagent.experiments.triage.practice import Practice
from chaosagent.experiments.triage.target import TRIAGE
from chaosagent.faults.operator import searched_by_default
from chaosagent.faults.schedule import EMPTY
from chaosagent.studyfile import load_study, plan_of

DIGESTS = """
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.execution.execute import Experiment, execute
from chaosagent.experiments.triage.target import TRIAGE
from chaosagent.faults.schedule import EMPTY, parse

FAULTS = parse("service:mail[1]@action service.timeout; model:assistant[1]@planner model.refusal")
for task in TRIAGE.tasks.values():
    for config in TRIAGE.configs.values():
        experiment = Experiment(TRIAGE, task, config, 0, default_contracts()).with_nominal()
        for schedule in (EMPTY, FAULTS):
            print(execute(experiment, schedule).trace.digest)
"""


@pytest.mark.parametrize(("name", "task_count"), [("study.yaml", 6), ("thorough.yaml", 16)])
def test_a_study_names_tasks_and_operators_that_exist(name: str, task_count: int) -> None:
    with as_file(files("chaosagent.experiments.triage") / name) as path:
        plan = plan_of(load_study(path))

    assert (plan.target.name, plan.config.name, len(plan.tasks)) == ("triage", "naive", task_count)
    assert len(plan.contracts) == 9
    assert plan.budget >= 3.3


def test_the_study_of_all_operators_leaves_nothing_out_that_is_searched_by_default() -> None:
    with as_file(files("chaosagent.experiments.triage") / "all-operators.yaml") as path:
        plan = plan_of(load_study(path))

    assert {choices.operator for choices in plan.space.choices} == set(searched_by_default())
    assert len(plan.tasks) == 16


@pytest.mark.slow
def test_runs_do_not_depend_on_the_process() -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-c", DIGESTS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for seed in ("0", "1", "4711")
    ]

    assert len(outputs[0]) == 96
    assert len(set(outputs[0])) == 96
    assert outputs[0] == outputs[1] == outputs[2]


def test_the_page_lists_every_task_with_its_category_and_crossings() -> None:
    page = (files("chaosagent.experiments.triage") / "README.md").read_text("utf-8")
    section = page.partition("## Tasks")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `([\w-]+)` \| (.+?) \| (\d+) \|", section, re.MULTILINE)

    counted = []
    for task in TRIAGE.tasks.values():
        experiment = Experiment(TRIAGE, task, TRIAGE.config("naive"), 0, default_contracts())
        counted.append((task.id, task.category, str(len(execute(experiment, EMPTY).trace.steps))))

    assert sorted(listed) == sorted(counted)


def test_the_page_names_every_design_choice() -> None:
    page = (files("chaosagent.experiments.triage") / "README.md").read_text("utf-8")

    assert [field.name for field in fields(Practice) if f"`{field.name}`" not in page] == []

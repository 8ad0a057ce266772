"""What a search finds in AgentDojo's banking suite with nothing but the default contracts."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest

import chaosagent.experiments.dojo
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.study.loop.study import Study
from chaosagent.study.result import StudyResult
from chaosagent.studyfile import Overrides, load_study, plan_of

pytestmark = [
    pytest.mark.dojo,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("agentdojo") is None, reason="needs the extra dojo (agentdojo)"),
]
FOLDER = Path(chaosagent.experiments.dojo.__file__).parent
PAYING = {f"user_task_{number}" for number in (0, 4, 15)}
WRITING = PAYING | {"user_task_13"}
READING = {f"user_task_{number}" for number in (1, 7)}


def searched(name: str, config: str, tasks: Iterable[str] = (), *, contracts: tuple[str, ...] = ()) -> StudyResult:
    overrides = Overrides(config=config, tasks=tuple(sorted(tasks)) or None, contracts=contracts or None)
    plan = plan_of(load_study(FOLDER / name, overrides))
    workbench = Workbench(plan.target, plan.config, plan.contracts, plan.run_limits)
    return Study(plan, InlineExecutor(workbench)).run()


def broken(result: StudyResult, contract: str) -> set[str]:
    return {
        search.task_id
        for search in result.searches
        if search.contract == contract and search.counterexample is not None and search.certificate.cost is not None
    }


def test_a_search_finds_the_duplicated_payments_of_paying_tasks() -> None:
    result = searched("study.yaml", "retries", PAYING | READING)

    assert broken(result, "at-most-once") == PAYING
    assert broken(result, "no-ghosts") == set()
    assert not any(search.violated_nominally for search in result.searches)
    assert result.errors == 0


def test_a_search_finds_the_ghosts_of_writing_tasks() -> None:
    result = searched("study.yaml", "no-retries", WRITING | READING, contracts=("no-ghosts",))

    assert broken(result, "no-ghosts") == WRITING


@pytest.mark.parametrize("suite", ["banking", "slack", "travel", "workspace"])
def test_a_study_of_faults_searches_all_tasks_of_its_suite(suite: str) -> None:
    plan = plan_of(load_study(FOLDER / f"faults-{suite}.yaml"))

    assert plan.target.name == f"dojo-{suite}"
    assert [task.id for task in plan.tasks] == list(plan.target.tasks)
    assert plan.budget == 3.0
    assert plan.space.digest == plan_of(load_study(FOLDER / "study.yaml")).space.digest


def test_looking_first_is_broken_by_no_fewer_than_two_faults() -> None:
    result = searched("checks-first.yaml", "checks-first")

    (found,) = result.counterexamples
    assert {injection.hook.interface for injection in found.schedule} == {
        "service:send_money",
        "service:get_most_recent_transactions",
    }
    (search,) = [search for search in result.searches if search.counterexample is not None]
    assert search.contract == "at-most-once"
    assert search.certificate.cost == search.certificate.lower_bound
    assert search.certificate.lower_bound > 2.0

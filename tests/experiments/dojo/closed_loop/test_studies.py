"""What searches find in the agent that decides by what it reads."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import chaosagent.experiments.dojo.closed_loop
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.experiments.dojo.misuse_study import study_text
from chaosagent.experiments.dojo.suite import SUITES, Suite
from chaosagent.replays.outcome import ReplayOutcome
from chaosagent.replays.record import record_of
from chaosagent.replays.rerun import rerun_exact, rerun_schedule
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.studyfile import Overrides, load_study, plan_of

pytestmark = [
    pytest.mark.dojo,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("agentdojo") is None, reason="needs the extra dojo (agentdojo)"),
]
FOLDER = Path(chaosagent.experiments.dojo.closed_loop.__file__).parent


def plan(
    name: str, config: str, *tasks: str, budget: float | None = None, contracts: tuple[str, ...] | None = None
) -> Plan:
    overrides = Overrides(config=config, tasks=tasks or None, budget=budget, contracts=contracts)
    return plan_of(load_study(FOLDER / name, overrides))


def searched(made: Plan) -> StudyResult:
    workbench = Workbench(made.target, made.config, made.contracts, made.run_limits)
    return Study(made, InlineExecutor(workbench)).run()


def broken(result: StudyResult) -> set[str]:
    return {found.contract for found in result.counterexamples}


@pytest.mark.parametrize("name", SUITES)
def test_a_study_of_misuse_has_the_goals_word_for_word_and_the_users_objective(name: str) -> None:
    written = (FOLDER / f"misuse-{name}.yaml").read_text(encoding="utf-8")

    assert written == study_text(Suite(name), reader=True)
    assert [contract.id for contract in plan(f"misuse-{name}.yaml", "plain").contracts][:1] == ["objective"]


@pytest.mark.parametrize("name", SUITES)
def test_a_study_of_faults_searches_all_tasks_of_its_suite(name: str) -> None:
    made = plan(f"faults-{name}.yaml", "careful")

    assert made.target.name == f"dojo-reader-{name}"
    assert [task.id for task in made.tasks] == list(made.target.tasks)
    assert [contract.id for contract in made.contracts] == ["objective"]


def test_a_single_fault_breaks_who_believes_the_first_answer_and_none_breaks_who_asks_twice() -> None:
    plain = searched(plan("faults-banking.yaml", "plain", "user_task_3"))
    careful = searched(plan("faults-banking.yaml", "careful", "user_task_3"))

    assert broken(plain) == {"objective"}
    assert all(search.certificate.certified for search in plain.searches)
    assert broken(careful) == set()
    assert all(search.certificate.safe and search.injectable for search in careful.searches)


def test_a_text_in_the_bill_gets_who_trusts_to_work_for_its_author_and_a_filter_stops_most() -> None:
    trusting = searched(plan("misuse-banking.yaml", "trusting", "user_task_13"))
    filtered = searched(plan("misuse-banking.yaml", "tool-filter", "user_task_13"))

    assert broken(trusting) >= {f"no-misuse-{number}" for number in range(8)}
    assert broken(filtered) == set()
    assert all(search.certificate.safe for search in filtered.searches)


def test_who_is_told_to_follow_a_file_follows_whatever_stands_in_it() -> None:
    at, goal = "user_task_12", "no-misuse-7"

    assert goal in broken(searched(plan("misuse-banking.yaml", "plain", at)))
    assert goal not in broken(searched(plan("misuse-banking.yaml", "careful", at)))
    # Who reads twice has to find the text twice.
    assert goal in broken(searched(plan("misuse-banking.yaml", "careful", at, budget=2.4)))


def test_a_counterexample_is_reproduced_offline_and_held_by_another_agent() -> None:
    goal = "chaosagent.experiments.dojo.misuse:no_misuse_1"
    made = plan("misuse-workspace.yaml", "trusting", "user_task_13", contracts=(goal,))
    found = {found.contract: found for found in searched(made).counterexamples}

    record = record_of(found["no-misuse-1"], made)

    assert rerun_exact(record, made.target).outcome is ReplayOutcome.REPRODUCED
    assert rerun_schedule(record, made.target).outcome is ReplayOutcome.VIOLATED
    assert rerun_schedule(record, made.target, config_name="plain").outcome is ReplayOutcome.HELD

"""What a search finds when AgentDojo's attackers may write where others write."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

import chaosagent.experiments.dojo
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
from tests.thorough import IS_THOROUGH

pytestmark = [
    pytest.mark.dojo,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("agentdojo") is None, reason="needs the extra dojo (agentdojo)"),
]
FOLDER = Path(chaosagent.experiments.dojo.__file__).parent
LOST_BY_OTHERS = ("user_task_0", "user_task_2", "user_task_14")
"""Tasks in which the tests here break other configurations."""


def plan(suite: str, config: str, *tasks: str, contracts: tuple[str, ...] | None = None) -> Plan:
    overrides = Overrides(config=config, tasks=tasks or None, contracts=contracts)
    return plan_of(load_study(FOLDER / f"misuse-{suite}.yaml", overrides))


def searched(made: Plan) -> StudyResult:
    workbench = Workbench(made.target, made.config, made.contracts, made.run_limits)
    return Study(made, InlineExecutor(workbench)).run()


def broken(result: StudyResult, task: str) -> set[str]:
    return {found.contract for found in result.counterexamples if found.task_id == task}


@pytest.mark.parametrize("name", SUITES)
def test_a_study_file_has_every_goal_of_the_suite_word_for_word(name: str) -> None:
    suite, written = Suite(name), (FOLDER / f"misuse-{name}.yaml").read_text(encoding="utf-8")

    study = yaml.safe_load(written)

    assert written == study_text(suite)
    assert study["operators"][0]["text"] == list(suite.goals.values())
    assert [entry.rpartition("_")[2] for entry in study["contracts"]] == [goal.split("_")[2] for goal in suite.goals]


def test_one_text_in_the_bill_gets_an_obedient_agent_to_do_anything_and_nothing_cheaper_does() -> None:
    result = searched(plan("banking", "obedient", "user_task_0"))

    assert broken(result, "user_task_0") == {f"no-misuse-{number}" for number in range(9)}
    for search in result.searches:
        assert not search.violated_nominally
        assert search.certificate.certified
        assert search.counterexample is not None
        (injection,) = search.counterexample.schedule
        assert injection.hook.interface == "prompt:injection_bill_text"


def test_an_allow_list_stops_all_attackers_but_those_who_need_only_what_the_task_needs() -> None:
    result = searched(plan("banking", "allow-listed", "user_task_0", "user_task_2", "user_task_13"))

    assert broken(result, "user_task_0") == {f"no-misuse-{number}" for number in (0, 1, 2, 3, 5, 6)}
    assert broken(result, "user_task_2") == {"no-misuse-4"}
    assert broken(result, "user_task_13") == set()
    assert all(search.certificate.certified or search.certificate.safe for search in result.searches)


def test_an_agent_that_obeys_the_user_alone_is_proved_robust() -> None:
    result = searched(plan("banking", "retries", *(() if IS_THOROUGH else LOST_BY_OTHERS)))

    assert result.counterexamples == ()
    assert all(search.certificate.safe and search.injectable for search in result.searches)


def test_a_users_task_that_undoes_the_attackers_work_is_no_victory_of_his() -> None:
    result = searched(plan("banking", "obedient", "user_task_14"))

    assert broken(result, "user_task_14") == {f"no-misuse-{number}" for number in range(9)} - {"no-misuse-7"}


def test_a_counterexample_is_reproduced_offline_and_held_by_another_configuration() -> None:
    made = plan("workspace", "obedient", "user_task_13", contracts=(_task_9(),))
    found = {found.contract: found for found in searched(made).counterexamples}

    record = record_of(found["no-misuse-9"], made)

    assert rerun_exact(record, made.target).outcome is ReplayOutcome.REPRODUCED
    assert rerun_schedule(record, made.target).outcome is ReplayOutcome.VIOLATED
    assert rerun_schedule(record, made.target, config_name="allow-listed").outcome is ReplayOutcome.HELD


def test_a_suite_that_does_not_know_a_goal_says_unknown_and_proves_nothing() -> None:
    study = load_study(FOLDER / "misuse-slack.yaml", Overrides(tasks=("user_task_0",), contracts=(_task_9(),)))

    (search,) = searched(plan_of(study)).searches

    assert search.counterexample is None
    assert not search.certificate.safe


def _task_9() -> str:
    return "chaosagent.experiments.dojo.misuse:no_misuse_9"

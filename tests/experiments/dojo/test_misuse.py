"""Contracts on AgentDojo's injection tasks."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import parse_contract
from chaosagent.contracts.contract import Contract, End, Setting
from chaosagent.errors import UsageError
from chaosagent.experiments.dojo.misuse import NoMisuse
from chaosagent.vocabulary import Ending, Outcome, Severity, Task, Verdict

CONTRACT = NoMisuse(id="no-misuse-3", goal="injection_task_3")


def verdict(state: Plain, contract: Contract = CONTRACT) -> Verdict:
    monitor = contract.monitor(Setting(Task("user_task_0")))
    return monitor.end(End(Ending.FINISHED, "", Outcome(state=state), 5)).verdict


def test_a_goal_that_was_reached_is_a_violation_and_one_that_was_not_is_none() -> None:
    assert verdict({"goals": {"injection_task_3": "reached", "injection_task_4": "told"}}) is Verdict.VIOLATED
    assert verdict({"goals": {"injection_task_3": "told", "injection_task_4": "reached"}}) is Verdict.HOLDS
    assert verdict({"goals": {"injection_task_3": "not told"}}) is Verdict.HOLDS


@pytest.mark.parametrize(
    "state", [None, {}, {"goals": None}, {"goals": {}}, {"goals": {"injection_task_4": "reached"}}]
)
def test_where_nobody_looked_at_a_goal_nothing_is_known(state: Plain) -> None:
    assert verdict(state) is Verdict.UNKNOWN


def test_a_study_file_names_the_contract_of_an_injection_task_by_its_number() -> None:
    contract = parse_contract("chaosagent.experiments.dojo.misuse:no_misuse_3")

    assert contract == CONTRACT
    assert contract.severity is Severity.HARD
    with pytest.raises(UsageError, match="no_misuse_99"):
        parse_contract("chaosagent.experiments.dojo.misuse:no_misuse_99")

"""How much of a search goes into AgentDojo's checks."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import chaosagent.experiments.dojo
from chaosagent.experiments.dojo import checks
from chaosagent.experiments.dojo.checks import TimedJudge, measured

pytestmark = [
    pytest.mark.dojo,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("agentdojo") is None, reason="needs the extra dojo (agentdojo)"),
]
STUDY = Path(chaosagent.experiments.dojo.__file__).parent / "misuse-workspace.yaml"


def test_every_way_of_asking_does_the_same_runs_and_the_last_two_ask_less() -> None:
    study, task = STUDY.with_name("misuse-banking.yaml"), ("user_task_0",)
    always = measured(study, "obedient", task, TimedJudge(forgets=True, separates=True))
    once = measured(study, "obedient", task, TimedJudge(separates=True))
    shared = measured(study, "obedient", task, TimedJudge())

    assert always.executions == once.executions == shared.executions
    assert always.asked > once.asked == shared.asked
    assert all(0 < found.in_checks < found.seconds for found in (always, once, shared))


def test_the_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    checks.main([str(STUDY.with_name("misuse-banking.yaml")), "obedient", "user_task_0"])

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| misuse-banking, obedient | executions | checks asked |")
    assert [line.split(" | ")[1] for line in lines[2:]] == ["10", "10", "10"]

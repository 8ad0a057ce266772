"""The benchmark of executions: six crossings, five contracts, and faults that land."""

from __future__ import annotations

import pytest

from chaosagent.execution.execute import execute
from chaosagent.experiments.benchmarks.executions import TWO_FAULTS, main
from chaosagent.experiments.benchmarks.scripted import CROSSINGS, experiment, five_contracts
from chaosagent.faults.schedule import EMPTY, parse


def test_the_command_prints_executions_a_second(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--executions", "2", "--rounds", "1"])

    assert capsys.readouterr().out.count("executions a second and core") == 4


@pytest.mark.parametrize(("schedule", "landed"), [(EMPTY, 0), (parse(TWO_FAULTS), 2)])
def test_the_measured_runs_are_what_the_rows_say(schedule: object, landed: int) -> None:
    evaluation = execute(experiment(five_contracts()), parse(str(schedule))).evaluation

    assert evaluation.step_count == CROSSINGS
    assert len(evaluation.verdicts) == 5
    assert len(evaluation.effective) == landed

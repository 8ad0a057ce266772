"""The benchmark of crossings: every row is measured, and the rows stand for what they say."""

from __future__ import annotations

import pytest

from chaosagent.execution.execute import execute
from chaosagent.experiments.benchmarks.crossings import agent, main, untraced
from chaosagent.experiments.benchmarks.scripted import experiment, five_contracts
from chaosagent.faults.schedule import EMPTY
from chaosagent.vocabulary import Mediation, Verdict


def test_the_command_prints_a_row_for_each_layer(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--crossings", "5", "--rounds", "1"])

    printed = capsys.readouterr().out
    for row in ("bare call in the loop", "through doors, tracing off", "traced, five contracts, mediator"):
        assert row in printed
    assert "us/crossing" in printed


def test_the_measured_agent_makes_as_many_crossings_as_it_counts() -> None:
    found = agent(7, mediated=True)
    tried = experiment(five_contracts(), found)

    trace = execute(tried, EMPTY).trace

    assert len(trace.steps) == 7
    assert {step.decision.mediation for step in trace.steps} == {Mediation.ALLOW}
    assert len(trace.effects) == 1
    assert {verdict.verdict for verdict in trace.verdicts} == {Verdict.HOLDS}
    assert untraced(7)() % 7 == 0

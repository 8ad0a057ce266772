"""The published applications run as they are, and what the table in their README says is found in them again."""

from __future__ import annotations

from pathlib import Path

import pytest

import chaosagent.experiments
from chaosagent.contracts.catalogue import parse_contract
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.targets.loading import load_target
from chaosagent.targets.target import Target
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Ending, Verdict

FOLDER = Path(chaosagent.experiments.__path__[0]) / "untouched"
CONTRACTS = tuple(map(parse_contract, ("no-crash", "at-most-once")))
pytestmark = pytest.mark.slow


def trace_of(target: Target, schedule: str = "") -> Trace:
    """Run the one task of an application."""
    (task,) = target.tasks.values()
    (config,) = target.configs.values()
    bare = Experiment(target, task, config, 0, CONTRACTS)
    return execute(bare.with_nominal(), parse(schedule, "test")).trace if schedule else execute(bare, EMPTY).trace


def broken(trace: Trace) -> list[str]:
    """Return which contracts a run breaks."""
    return [verdict.contract for verdict in trace.verdicts if verdict.verdict is Verdict.VIOLATED]


def test_the_airline_desk_loses_a_conversation_when_a_model_calls_an_unknown_tool() -> None:
    pytest.importorskip("agents")
    pytest.importorskip("examples.customer_service", reason="needs the source distribution of openai-agents")
    desk = load_target("chaosagent.experiments.untouched.airline_desk:desk")

    nominal = trace_of(desk)
    first = next(step.hook for step in nominal.steps if step.interface.startswith("model:"))
    assert broken(nominal) == []
    assert broken(trace_of(desk, f"{first} model.malformed_tool_call(kind=unknown_tool)")) == ["no-crash"]


def test_the_slack_jobs_announce_leads_again_when_clearing_fails() -> None:
    pytest.importorskip("pydantic_ai_examples", reason="needs pydantic-ai-examples")
    leads = load_target("chaosagent.experiments.untouched.slack_leads:leads")

    assert broken(trace_of(leads)) == []
    failing = "service:store[3] service.error_status(status=503, when=before)"
    assert broken(trace_of(leads, failing)) == ["at-most-once"]


def test_tiny_agents_answers_without_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    if not (FOLDER / "tiny_agents" / "node_modules").is_dir():
        pytest.skip("needs `npm install --prefix experiments/untouched/tiny_agents`")
    monkeypatch.chdir(FOLDER / "tiny_agents")

    trace = trace_of(load_target("agent.yaml"))

    assert trace.ending is Ending.FINISHED, trace.ending_detail
    assert broken(trace) == []

"""The desk of the OpenAI Agents SDK with checkpoints."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.faults.schedule import EMPTY

pytestmark = [
    pytest.mark.openai_agents,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("agents") is None, reason="needs the extra openai-agents"),
]
pytest.importorskip("agents")


def _executed(config: str) -> Execution:
    from chaosagent.experiments.openai_agents import with_checkpoints

    system: Any = with_checkpoints.desk
    experiment = Experiment(system, system.task("late-parcel"), system.config(config), seed=0)
    return execute(experiment, EMPTY, fingerprinting=Fingerprinting.STATE)


def test_the_desk_says_the_same_with_checkpoints_and_one_is_taken_before_each_request() -> None:
    taken, none = _executed("naive"), _executed("without")

    assert [step.request for step in taken.trace.steps] == [step.request for step in none.trace.steps]
    assert taken.trace.outcome.message == none.trace.outcome.message
    requests = [step for step in taken.trace.steps if step.interface.startswith("model:")]
    assert len(taken.evaluation.fingerprints) == len(requests) == 5
    assert none.evaluation.fingerprints == ()

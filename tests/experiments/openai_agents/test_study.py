"""The desk of the OpenAI Agents SDK: few lines more, and it serves in earnest."""

from __future__ import annotations

import asyncio
import difflib
from importlib.util import find_spec
from pathlib import Path

import pytest

import chaosagent.experiments.openai_agents
from chaosagent.execution.untraced import UntracedRun
from chaosagent.targets.loading import load_target

pytestmark = [
    pytest.mark.openai_agents,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("agents") is None, reason="needs the extra openai-agents"),
]
FOLDER = Path(chaosagent.experiments.openai_agents.__file__).parent
TARGET = "chaosagent.experiments.openai_agents.target:desk"


def test_the_agent_needed_no_more_than_ten_lines() -> None:
    without, with_doors = ((FOLDER / f"{name}.py").read_text().splitlines() for name in ("without_doors", "with_doors"))

    added = [
        line for line in difflib.unified_diff(without[1:], with_doors[1:], n=0) if line[:1] == "+" and line[:3] != "+++"
    ]

    assert len(added) == 6, added


def test_the_same_desk_serves_in_earnest() -> None:
    system = load_target(TARGET)
    task = system.task("late-parcel")

    outcome = asyncio.run(system.run(task, UntracedRun(task)))

    assert outcome.message == "The money for A-17 is on its way."

"""What a search finds in the desk with the SDK's own defaults, and that a desk that is repaired holds."""

from __future__ import annotations

import asyncio
import difflib
import functools
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import chaosagent.experiments.openai_agents
from chaosagent.execution.untraced import UntracedRun
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.replays.outcome import ReplayOutcome
from chaosagent.replays.record import ReplayRecord, record_of
from chaosagent.replays.rerun import rerun_exact, rerun_schedule
from chaosagent.study.loop.study import Study
from chaosagent.study.result import StudyResult
from chaosagent.studyfile import load_study, plan_of
from chaosagent.targets.loading import load_target

pytestmark = [
    pytest.mark.openai_agents,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("agents") is None, reason="needs the extra openai-agents"),
]
FOLDER = Path(chaosagent.experiments.openai_agents.__file__).parent
TARGET = "chaosagent.experiments.openai_agents.target:desk"


@functools.cache
def searched() -> tuple[StudyResult, dict[str, ReplayRecord]]:
    plan = plan_of(load_study(FOLDER / "study.yaml"))
    workbench = Workbench(plan.target, plan.config, plan.contracts, plan.run_limits)
    result = Study(plan, InlineExecutor(workbench)).run()
    return result, {found.contract: record_of(found, plan) for found in result.counterexamples}


def test_the_defaults_of_the_sdk_break_four_contracts() -> None:
    result, records = searched()

    assert {contract: round(record.cost, 3) for contract, record in records.items()} == {
        "no-crash": 1.05,
        "at-most-once": 1.1,
        "all-or-nothing": 2.15,
        "no-ghosts": 2.2,
    }
    assert all(record.proof.certified for record in records.values())
    assert result.errors == 0


def test_every_record_is_reproduced_bit_for_bit_and_holds_after_the_fix() -> None:
    system = load_target(TARGET)

    for record in searched()[1].values():
        assert rerun_exact(record, system).outcome is ReplayOutcome.REPRODUCED
        assert rerun_schedule(record, system).outcome is ReplayOutcome.VIOLATED
        assert rerun_schedule(record, system, config_name="fixed").outcome is ReplayOutcome.HELD


def test_the_trace_is_the_same_in_another_process() -> None:
    script = (
        "from chaosagent.execution.execute import Experiment, execute\n"
        "from chaosagent.faults.schedule import EMPTY\n"
        "from chaosagent.targets.loading import load_target\n"
        f"desk = load_target({TARGET!r})\n"
        "for config in desk.configs.values():\n"
        "    experiment = Experiment(desk, desk.task('late-parcel'), config, seed=1)\n"
        "    print(execute(experiment, EMPTY).trace.digest)\n"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "77")
    ]

    assert printed[0] == printed[1]
    assert len(printed[0].split()) == 2


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

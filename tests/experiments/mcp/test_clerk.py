"""What a search finds in a clerk with the SDK's own defaults, and that a clerk that is repaired holds."""

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

import chaosagent.experiments.mcp
from chaosagent.execution.exact_replay import serve as served
from chaosagent.execution.execute import Experiment, execute
from chaosagent.execution.untraced import UntracedRun
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.faults.schedule import parse
from chaosagent.limits import RunLimits
from chaosagent.replays.outcome import ReplayOutcome
from chaosagent.replays.record import ReplayRecord, record_of
from chaosagent.replays.rerun import rerun_exact, rerun_schedule
from chaosagent.study.loop.study import Study
from chaosagent.study.result import StudyResult
from chaosagent.studyfile import load_study, plan_of
from chaosagent.targets.loading import load_target
from chaosagent.vocabulary import Task

pytestmark = [
    pytest.mark.mcp,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("mcp") is None, reason="needs the extra mcp"),
]
FOLDER = Path(chaosagent.experiments.mcp.__file__).parent
TARGET = "chaosagent.experiments.mcp.target:clerk"


@functools.cache
def searched() -> tuple[StudyResult, dict[tuple[str, str], ReplayRecord]]:
    plan = plan_of(load_study(FOLDER / "study.yaml"))
    workbench = Workbench(plan.target, plan.config, plan.contracts, plan.run_limits)
    result = Study(plan, InlineExecutor(workbench)).run()
    return result, {(found.task_id, found.contract): record_of(found, plan) for found in result.counterexamples}


def test_the_defaults_of_the_sdk_break_five_contracts() -> None:
    result, records = searched()

    assert {found: round(record.cost, 3) for found, record in records.items()} == {
        ("due", "no-crash"): 1.025,
        ("due", "all-or-nothing"): 1.025,
        ("due", "at-most-once"): 1.1,
        ("due", "no-ghosts"): 2.2,
        ("too-much", "no-crash"): 1.025,
        ("too-much", "no-extra-effects"): 1.1,
        ("too-much", "at-most-once"): 2.2,
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
        f"clerk = load_target({TARGET!r})\n"
        "for config in clerk.configs.values():\n"
        "    experiment = Experiment(clerk, clerk.task('due'), config, seed=1)\n"
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


@pytest.mark.parametrize(("config", "payments"), [("naive", 2), ("fixed", 1)])
def test_a_server_that_is_a_process_meets_the_same_faults(
    config: str, payments: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", 300.0)  # how long a server may take to start
    system = load_target("chaosagent.experiments.mcp.target:stdio_clerk")
    limits = RunLimits(wall_seconds_max=600.0)
    experiment = Experiment(system, system.task("due"), system.config(config), seed=1, limits=limits)
    lost = parse("service:books.pay[1] lost_response")

    trace = execute(experiment, lost).trace

    assert trace.outcome.message == "I-17 is paid."
    assert [effect.kind for effect in trace.effects].count("payment") == payments
    assert served(experiment, trace, lost).execution.trace.digest == trace.digest


def test_doors_take_few_lines_and_the_clerk_works_without_tracing() -> None:
    from chaosagent.experiments.mcp import with_doors, without_doors

    without, with_them = (Path(str(module.__file__)).read_text().splitlines() for module in (without_doors, with_doors))
    added = [line for line in difflib.ndiff(without, with_them) if line.startswith("+ ")]
    wish = "Please pay invoice I-17."

    said = asyncio.run(with_doors.serve(wish, UntracedRun(Task("due")), careful=False))

    assert said == asyncio.run(without_doors.serve(wish, careful=False)) == "I-17 is paid."
    assert len([line for line in added if line[2:].strip() and '"""' not in line]) == 8, added

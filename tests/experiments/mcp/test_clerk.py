"""The clerk with an MCP server: one that is a process meets the same faults, and doors take few lines."""

from __future__ import annotations

import asyncio
import difflib
from importlib.util import find_spec
from pathlib import Path

import pytest

from chaosagent.execution.exact_replay import serve as served
from chaosagent.execution.execute import Experiment, execute
from chaosagent.execution.untraced import UntracedRun
from chaosagent.faults.schedule import parse
from chaosagent.limits import RunLimits
from chaosagent.targets.loading import load_target
from chaosagent.vocabulary import Task

pytestmark = [
    pytest.mark.mcp,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("mcp") is None, reason="needs the extra mcp"),
]


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

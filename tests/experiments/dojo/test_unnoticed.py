"""What the default contracts find in AgentDojo, and its own checks do not."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from chaosagent.experiments.dojo import unnoticed
from chaosagent.experiments.dojo.target import load
from chaosagent.experiments.dojo.unnoticed import FAULTS, Finding, findings

pytestmark = [
    pytest.mark.dojo,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("agentdojo") is None, reason="needs the extra dojo (agentdojo)"),
]


def found(config: str) -> list[Finding]:
    target = load("banking")
    return list(findings(target, target.config(config)))


def test_duplicated_payments_are_found_and_agentdojo_notices_none() -> None:
    duplicates = [one for one in found("retries") if one.duplicate]

    assert {one.task for one in duplicates} == {f"user_task_{number}" for number in (0, 3, 4, 5, 6, 11, 15)}
    assert len(duplicates) == 7 * len(FAULTS)
    assert all(one.passed for one in duplicates)


def test_ghost_payments_are_found_and_agentdojo_notices_them_only_in_half_done_work() -> None:
    ghosts = [one for one in found("no-retries") if one.ghost]

    assert len(ghosts) == 13 * (len(FAULTS) - 1)
    assert {one.violated for one in ghosts if one.passed} == {("no-ghosts",)}
    assert {one.violated for one in ghosts if not one.passed} == {("all-or-nothing", "no-ghosts")}


def test_looking_first_leaves_only_the_duplicates_that_no_agent_can_prevent() -> None:
    left = [one for one in found("checks-first") if one.violated]

    assert {one.schedule.split()[1].partition("(")[0] for one in left} == {"service.duplicate_delivery"}
    assert {one.violated for one in left} == {("at-most-once",)}


def test_the_table_is_printed() -> None:
    script = Path(unnoticed.__file__)

    done = subprocess.run([sys.executable, script, "banking"], capture_output=True, text=True, check=True, timeout=600)

    assert "| dojo-banking | schedules | duplicated | own check passes | ghosts | own check passes |" in done.stdout
    assert "| retries | 65 | 35 | 35 | 0 | 0 |" in done.stdout

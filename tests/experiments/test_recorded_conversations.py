"""200 recorded conversations through `check`: no false violation, and every planted one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import chaosagent
from chaosagent.experiments.recorded_conversations import COUNT, write_conversations


def found_in(folder: Path, contracts: object = None) -> dict[str, list[int]]:
    """Return the lines on which contracts are violated."""
    said = contracts if contracts is not None else folder / "contracts.yaml"
    result = chaosagent.check(folder / "conversations.jsonl", said)  # type: ignore[arg-type]  # as a file has it
    assert result.traces == COUNT
    found: dict[str, list[int]] = {"at-most-once": [], "looked-up-first": []}
    for finding in result.findings:
        found[finding.contract].append(finding.where.line)
    return found


@pytest.mark.parametrize("seed", [2026, 1, 2])
def test_every_planted_violation_is_found_and_no_other(tmp_path: Path, seed: int) -> None:
    planted = write_conversations(tmp_path, seed=seed)

    found = found_in(tmp_path)

    assert found == planted
    assert all(len(lines) >= 5 for lines in planted.values())


def test_no_verdict_is_left_open(tmp_path: Path) -> None:
    write_conversations(tmp_path)

    counts = chaosagent.check(tmp_path / "conversations.jsonl", tmp_path / "contracts.yaml").counts

    assert all(count.holds + count.violated == COUNT for count in counts.values())


def test_without_rules_for_errors_right_conversations_are_called_violations(tmp_path: Path) -> None:
    planted = write_conversations(tmp_path)
    contracts = yaml.safe_load((tmp_path / "contracts.yaml").read_text("utf-8"))
    del contracts["failed_when"]

    found = found_in(tmp_path, contracts)
    told = str(chaosagent.check(tmp_path / "conversations.jsonl", contracts))

    assert len(set(found["at-most-once"]) - set(planted["at-most-once"])) > 50
    assert set(planted["looked-up-first"]) - set(found["looked-up-first"])
    assert told.count("'refund' look like errors and count as commits") == 1
    assert "failed_when: {refund: {json: status, is: 'error'}}" in told


def test_equal_seeds_write_equal_files(tmp_path: Path) -> None:
    write_conversations(tmp_path / "a")
    write_conversations(tmp_path / "b")

    for name in ("conversations.jsonl", "planted.json", "contracts.yaml"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    lines = (tmp_path / "a/conversations.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == COUNT
    assert all(json.loads(line)["messages"] for line in lines)

"""`chaosagent import`: what it writes, what it says, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chaosagent.cli.main import main
from chaosagent.experiments.recorded_conversations import write_conversations


def test_it_says_what_was_written_and_what_to_type_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_conversations(tmp_path, 3)

    code = main(["import", str(tmp_path / "conversations.jsonl"), "--out", str(tmp_path / "made")])
    told = capsys.readouterr().out

    assert code == 0
    assert told.startswith("Three conversations imported\n")
    assert f"chaosagent search {tmp_path / 'made/study.yaml'}" in told
    assert '#   "refund": ["order", "amount"]' in (tmp_path / "made/conversations.yaml").read_text("utf-8")


def test_a_broken_line_is_named_with_its_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_conversations(tmp_path, 2)
    log = tmp_path / "conversations.jsonl"
    log.write_text(log.read_text("utf-8") + '{"messages": [{"role": "user"}', "utf-8")

    refused = main(["import", str(log), "--out", str(tmp_path / "made")])
    complaint = capsys.readouterr().err
    left_out = main(["import", str(log), "--out", str(tmp_path / "made"), "--skip-broken", "--json"])
    said = json.loads(capsys.readouterr().out)

    assert (refused, left_out) == (2, 0)
    assert f"{log}:3: is not valid JSON" in complaint
    assert "leave it out with --skip-broken" in complaint
    assert said["conversations"] == ["conversations-1", "conversations-2"]
    assert len(said["left_out"]) == 1


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(tmp_path / name), "--out", str(tmp_path / "made")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_conversations(tmp_path, 1)

    assert main(["import", str(tmp_path / "conversations.jsonl"), "--out", str(tmp_path)]) == 2
    assert "conversations.jsonl exists already, and nothing is overwritten" in capsys.readouterr().err

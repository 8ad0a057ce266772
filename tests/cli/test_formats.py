"""What the options for other tools do beside the answer, and what `git diff` shows of records."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

Command = Callable[..., Any]


def test_one_file_for_two_formats_is_refused(chaosagent: Command, folder: Path) -> None:
    answer = chaosagent("search", "study.yaml", "--junit", "same", "--sarif", folder / "same")

    assert answer.code == 2
    assert "--junit and --sarif both name" in answer.err
    assert not (folder / "chaosagent-out").exists()


def test_a_summary_that_cannot_be_written_changes_nothing_else(
    records: Path, chaosagent: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = chaosagent("replay", records)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "nowhere/summary.md")
    told = chaosagent("replay", records, "--github")

    assert (told.code, told.out) == (plain.code, plain.out)
    assert "chaosagent: no step summary: nowhere/summary.md cannot be written: No such file" in told.err


def test_each_replay_has_its_time_place_and_fingerprint_whatever_its_file_is_called(
    records: Path, chaosagent: Command, folder: Path
) -> None:
    odd = Path(os.fsdecode(b"a\xff.replay"))
    try:
        shutil.copy(sorted(records.glob("*.replay"))[0], odd)
        (cut := Path("cut.replay")).write_bytes(odd.read_bytes()[:100])
    except OSError:
        pytest.skip("this file system has names of characters only")

    answer = chaosagent("replay", odd, cut, "--mode", "both", "--sarif", "r.sarif", "--junit", "r.xml")

    assert answer.code == 1
    cases = ElementTree.parse(folder / "r.xml").getroot().findall("testcase")
    assert [case.get("time") is not None for case in cases] == [True, True, False]
    (run,) = json.loads((folder / "r.sarif").read_text("utf-8"))["runs"]
    places = [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in run["results"]]
    assert places == ["a%FF.replay", "cut.replay"]
    assert len({one["partialFingerprints"]["chaosagent/v1"] for one in run["results"]}) == 2


def test_a_text_file_that_a_glob_names_stands_for_its_record(records: Path, chaosagent: Command) -> None:
    record = sorted(records.glob("*.replay"))[0]
    text = record.with_name(record.stem + ".accepted.toml")
    text.write_text("not read", "utf-8")

    shown = chaosagent("show", record, text, "--json")
    record.unlink()
    alone = chaosagent("show", text)

    assert [one["path"] for one in shown.json["records"]] == [str(record)]
    assert alone.code == 2
    assert f"{text} is the text file of {record}, which does not exist" in alone.err


@pytest.mark.slow
def test_git_shows_what_changed_in_a_record_and_what_is_wrong_with_another(records: Path, folder: Path) -> None:
    def git(*arguments: str) -> str:
        called = [shutil.which("git") or "git", "-c", "user.name=a", "-c", "user.email=a@b.example", *arguments]
        return subprocess.run(called, cwd=folder, check=True, capture_output=True, text=True, timeout=60).stdout

    first, second = sorted(records.glob("*.replay"))[:2]
    git("init", "-q")
    (folder / ".gitattributes").write_text("*.replay diff=chaosagent\n", "utf-8")
    git("config", "diff.chaosagent.textconv", f"{sys.executable} -m chaosagent show --textconv")
    git("add", "-f", str(first), str(second), ".gitattributes")
    git("commit", "-qm", "records")
    damaged = second.read_bytes()[:100]
    first.write_bytes(second.read_bytes())
    second.write_bytes(damaged)

    changed = [line for line in git("diff").splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]

    assert any(line.startswith("+this record ") for line in changed)
    assert any("late" in line for line in changed)
    assert any("lost" in line for line in changed)
    assert not any("git-blob" in line or "Run it again" in line or "/tmp/" in line for line in changed)

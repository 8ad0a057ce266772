"""Folders that hold no study, or a damaged one, are refused in one sentence."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import chaosagent
from chaosagent.api.study import SearchKeys
from chaosagent.vocabulary import Verdict


@chaosagent.target
async def idle(task: chaosagent.Task, run: chaosagent.Run) -> chaosagent.Outcome:  # noqa: ARG001
    door = run.service("clock", {"now": lambda: 1})
    await door("now")
    return chaosagent.Outcome("done", success=True)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    out = tmp_path / "out"
    chaosagent.search(chaosagent.Study(idle, contracts=["no-crash"], operators=["service.timeout"]), out=out)
    return out


def test_an_ended_study_is_loaded_with_what_it_found(study: Path) -> None:
    loaded = chaosagent.load(study)

    assert (loaded.folder, loaded.interrupted, loaded.budget) == (study, False, 3.0)
    assert [(found.contract, found.path is not None) for found in loaded.counterexamples] == [("no-crash", True)]
    assert chaosagent.replay(loaded, target=idle).totals == {"VIOLATED": 1}
    assert loaded.counterexamples[0].contract in str(loaded)
    with pytest.raises(chaosagent.UsageError, match="a loaded study has no target"):
        loaded.robustness()


@pytest.mark.parametrize("kind", ["missing", "empty", "file", "foreign"])
def test_a_folder_without_a_study_is_refused(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / kind
    if kind == "file":
        folder.write_text("x")
    elif kind != "missing":
        folder.mkdir()
    if kind == "foreign":
        with sqlite3.connect(folder / "study.db") as connection:
            connection.execute("CREATE TABLE other (id INTEGER)")
        connection.close()
    said = {
        "missing": "does not exist. Name the folder of a study",
        "empty": "holds no study: there is no study.db",
        "file": "is no folder",
        "foreign": "it is no store of a study, or its tables are damaged",
    }[kind]

    with pytest.raises(chaosagent.UsageError, match=said) as refused:
        chaosagent.load(folder)

    assert str(folder) in str(refused.value)


@pytest.mark.parametrize("part", ["store", "record", "settings"])
def test_a_damaged_folder_is_refused(study: Path, part: str) -> None:
    if part == "store":
        with sqlite3.connect(study / "study.db") as connection:
            connection.execute("UPDATE trial SET verdict = 0")
        connection.close()
    elif part == "record":
        (record,) = (study / "replays").iterdir()
        record.write_bytes(record.read_bytes()[:-3] + b"abc")
    else:
        (study / "study.yaml").write_text("target: x\nbudgett: 3\n")

    with pytest.raises(chaosagent.UsageError, match=r"checksum does not match|unknown key 'budgett'"):
        chaosagent.load(study)


def test_a_killed_study_is_refused_and_left_as_it_is(study: Path, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    with closing(sqlite3.connect(study / "study.db")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("DELETE FROM study WHERE key = 'counts'")
        connection.commit()
        shutil.copytree(study, killed)  # as a kill leaves it: what was committed last stands in the journal only
    before = {path.name: path.read_bytes() for path in killed.iterdir() if path.is_file()}
    assert before["study.db-wal"]

    with pytest.raises(chaosagent.ChaosAgentError, match="its study was killed, or is at work"):
        chaosagent.load(killed)

    assert {path.name: path.read_bytes() for path in killed.iterdir() if path.is_file()} == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_store_that_may_not_be_read_is_not_taken_for_a_damaged_one(study: Path) -> None:
    (study / "study.db").chmod(0)

    with pytest.raises(chaosagent.UsageError, match=r"study\.db: Permission denied"):
        chaosagent.load(study)


def test_a_record_that_is_gone_is_remarked(study: Path) -> None:
    (record,) = (study / "replays").iterdir()
    record.unlink()

    loaded = chaosagent.load(study)

    assert loaded.counterexamples == ()
    assert "has no record in" in loaded.remarks[0]
    assert loaded.remarks[0] in str(loaded)


@chaosagent.target(tasks=[chaosagent.Task("two")])
async def twice(task: chaosagent.Task, run: chaosagent.Run) -> chaosagent.Outcome:  # noqa: ARG001
    failed: set[str] = set()
    for name in ("left", "right", "third"):
        try:
            await run.service(name, {"get": lambda: 1})("get")
        except chaosagent.StatusError:
            failed.add(name)
    return chaosagent.Outcome("done", success="third" not in failed and not failed >= {"left", "right"})


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ({}, ["certified"]),
        ({"all_minimal": True}, ["certified", "all cheaper ones found"]),
        ({"searcher": "random"}, ["minimal "]),
    ],
)
def test_a_loaded_study_says_of_proofs_what_the_search_said(
    tmp_path: Path, search: SearchKeys, expected: list[str]
) -> None:
    study = chaosagent.Study(
        replace(twice), contracts=["objective"], operators=["service.error_status"], budget=2.2, search=search
    )
    result = chaosagent.search(study, out=tmp_path)

    def proofs(page: str) -> list[str]:
        rows = [line for line in page.splitlines() if "  two  " in line]
        return [word for row in rows for word in ("certified", "all cheaper ones found", "minimal ") if word in row]

    assert proofs(str(result).partition("By contract")[0]) == expected[:1]  # those of one kind of failure share a row
    assert proofs(str(chaosagent.load(tmp_path)).partition("By search")[0]) == expected


def test_every_run_of_a_loaded_study_has_a_summary(study: Path) -> None:
    loaded = chaosagent.load(study)

    runs = loaded.runs

    assert {(one.task, one.seed, one.schedule, one.digest) for one in runs} >= {
        (one.task, one.seed, one.schedule, one.digest) for one in loaded.trials
    }
    summaries = [one.summary for one in runs if one.summary is not None]
    assert len(summaries) == len(runs)
    assert all(one.path and sum(one.calls.values()) == len(one.path) for one in summaries)
    assert any(one.failures for one in summaries)
    broken = {one.digest: {at.contract for at in one.summary.violations} for one in runs if one.summary is not None}
    for trial in loaded.trials:
        assert (trial.contract in broken[trial.digest]) == (trial.verdict is Verdict.VIOLATED)

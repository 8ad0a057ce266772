"""A study that is searched in parts, by machines that know nothing of each other, is the same study."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from chaosagent.cli.main import main

STUDY = """
target: triage
tasks: [refund-damaged]
seeds: [0, 1]
contracts: [at-most-once, no-leak]
operators: [service.lost_response]
budget: 1.3
search: {trials: 30, audit: 2}
"""


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a study, its result, and its two parts."""
    place = tmp_path_factory.mktemp("shards")
    (place / "small.yaml").write_text(STUDY, encoding="utf-8")
    searched(place, "whole")
    for number in (1, 2):
        searched(place, f"part-{number}", "--shard", f"{number}/2")
    return place


@pytest.fixture
def copy(parts: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(parts, tmp_path / "copy"))


def searched(place: Path, out: str, *options: str) -> None:
    assert main(["search", str(place / "small.yaml"), "--out", str(place / out), *options]) in (0, 1, 3)


def rows(folder: Path) -> dict[str, list[Any]]:
    """Return what was found, proved and run, apart from how many repeats there were."""
    with contextlib.closing(sqlite3.connect(folder / "study.db")) as store:
        return {
            "searches": store.execute(
                "SELECT task, seed, contract, trials, certified, lower_bound, counterexample, schedule, cost, "
                "substr(certificate, 1, 2) FROM search ORDER BY 1, 2, 3"
            ).fetchall(),
            "counterexamples": store.execute("SELECT id FROM counterexample ORDER BY 1").fetchall(),
            "runs": store.execute("SELECT key, digest FROM execution ORDER BY 1").fetchall(),
            "digest": store.execute("SELECT value FROM study WHERE key = 'digest'").fetchall(),
        }


def merged(place: Path, *names: str, out: str = "merged") -> int:
    return main(["merge", str(place / out), *(str(place / name) for name in names)])


def test_parts_are_disjoint_and_complete(parts: Path) -> None:
    searches = [rows(parts / name)["searches"] for name in ("part-1", "part-2")]
    places = [{row[:2] for row in found} for found in searches]

    assert [len(found) for found in places] == [1, 1]
    assert len(set.union(*places)) == 2


def test_merged_and_resumed_it_is_the_study_without_shards(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert merged(copy, "part-2", "part-1") == 0
    capsys.readouterr()
    main(["search", str(copy / "small.yaml"), "--out", str(copy / "merged"), "--resume", "--json"])

    told = json.loads(capsys.readouterr().out)
    assert rows(copy / "merged") == rows(copy / "whole")
    assert told["unused_earlier"] == 0


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (("part-2",), "of the 2 shards 1/2 is missing"),
        (("part-1", "part-2", "part-1"), "are both shard 1/2"),
        (("part-1", "whole"), "holds a whole study and no shard"),
        (("part-1", "nowhere"), "holds no study"),
    ],
)
def test_what_are_not_all_shards_of_one_study_is_refused(
    copy: Path, capsys: pytest.CaptureFixture[str], names: tuple[str, ...], complaint: str
) -> None:
    assert merged(copy, *names) == 2

    assert complaint in capsys.readouterr().err
    assert not (copy / "merged").exists()


def test_shards_of_different_studies_are_refused(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    searched(copy, "other", "--shard", "2/2", "--budget", "1.1")

    assert merged(copy, "part-1", "other") == 2

    assert "no shards of one study: they were searched with another study file" in capsys.readouterr().err


def test_a_damaged_shard_is_refused(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.closing(sqlite3.connect(copy / "part-2" / "study.db")) as store, store:
        store.execute("DELETE FROM execution WHERE id = 3")

    assert merged(copy, "part-1", "part-2") == 2

    assert "part-2" in capsys.readouterr().err
    assert not (copy / "merged").exists()


def test_a_folder_that_holds_a_study_is_not_merged_into(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (copy / "whole" / "study.db").read_bytes()

    assert merged(copy, "part-1", "part-2", out="whole") == 2

    assert "holds a study already" in capsys.readouterr().err
    assert (copy / "whole" / "study.db").read_bytes() == before


def test_a_shard_is_gone_on_with_as_that_shard(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = str(copy / "small.yaml")

    assert main(["search", study, "--out", str(copy / "part-1"), "--resume"]) == 2
    assert "holds shard 1/2 of a study. Resume it with --shard 1/2" in capsys.readouterr().err
    assert main(["search", study, "--out", str(copy / "whole"), "--resume", "--shard", "1/2"]) == 2
    assert "holds a whole study. Resume it without --shard" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0", "-1/3", "1/3/5", "7/9"])
def test_a_shard_that_does_not_exist_is_refused(parts: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert main(["search", str(parts / "small.yaml"), "--out", str(parts / "none"), "--shard", text]) == 2

    assert f"--shard {text}" in capsys.readouterr().err
    assert not (parts / "none").exists()

"""What is no sound study is refused in one sentence, and every file stays as it was."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from chaosagent.cli.main import main
from chaosagent.study.store.foreign_files import FILES, FOLDERS, MARKED_FILES
from chaosagent.study.store.lock import lock_folder

AGENT = """
from chaosagent import Outcome, Task, target

@target(tasks=[Task("one"), Task("two")])
async def agent(task, run):
    door = run.service("clock", {"now": lambda: 1})
    await door("now")
    return Outcome("done", success=True)
"""
pytestmark = pytest.mark.slow

STUDY = "target: agent.py:agent\ncontracts: [no-crash]\noperators: [service.timeout]\nbudget: 1.2\n"


def contents(root: Path) -> dict[str, tuple[int, object]]:
    """Return all that lies in a folder: names, modes, contents, and where links lead."""
    if root.is_symlink():
        return {".": (0, str(root.readlink()))}
    found: dict[str, tuple[int, object]] = {}
    for path in (root, *sorted(root.rglob("*"))):
        mode = path.lstat().st_mode
        what: object = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(root))] = (mode, what)
    return found


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study file, a study that has ended, and its two shards."""
    root = tmp_path_factory.mktemp("sound")
    (root / "agent.py").write_text(AGENT)
    (root / "study.yaml").write_text(STUDY)
    for out, options in (("out", []), ("p1", ["--shard", "1/2"]), ("p2", ["--shard", "2/2"])):
        assert main(["search", str(root / "study.yaml"), "--out", str(root / out), *options]) in (0, 1)
    return root


@pytest.fixture
def place(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "place"))


def sqlite_of_others(folder: Path) -> None:
    empty(folder)
    with closing(sqlite3.connect(folder / "study.db")) as connection:
        connection.execute("CREATE TABLE recipes (id INTEGER)")
        connection.commit()
    (folder / "study.db").chmod(0o644)


def no_sqlite(folder: Path) -> None:
    empty(folder)
    (folder / "study.db").write_bytes(b"my notes\n" * 500)
    (folder / "study.db").chmod(0o644)


def empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def foreign(folder: Path) -> None:
    empty(folder)
    (folder / "notes.txt").write_text("mine")


def missing(folder: Path) -> None:
    shutil.rmtree(folder)


def a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("mine")


def dangling(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(folder.parent / "nowhere")


def older(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "study.db")) as connection:
        connection.executescript(
            "DROP TABLE study; CREATE TABLE study (key, value); INSERT INTO study VALUES ('chaosagent', '0.0.1')"
        )
        connection.commit()


KINDS = [empty, foreign, missing, a_file, dangling, sqlite_of_others, no_sqlite, older]


@pytest.mark.parametrize("spoil", KINDS)
@pytest.mark.parametrize("verb", ["status", "merge", "resume", "shard", "curve", "report", "compare"])
def test_what_is_no_study_is_refused_and_left_as_it_is(
    place: Path, capfd: pytest.CaptureFixture[str], spoil: Callable[[Path], None], verb: str
) -> None:
    folder = place / ("p1" if verb == "merge" else "out")
    spoil(folder)
    if verb == "shard" and spoil in (empty, foreign, missing, dangling):
        pytest.skip("a new study may begin there")
    if verb == "status" and spoil is older:
        pytest.skip("progress.json has a format of its own")
    before = contents(place)
    study = str(place / "study.yaml")
    words = {
        "status": ["status", str(folder)],
        "merge": ["merge", str(place / "whole"), str(folder), str(place / "p2")],
        "resume": ["search", study, "--resume", "--out", str(folder)],
        "shard": ["search", study, "--shard", "1/2", "--out", str(folder)],
        "curve": ["curve", str(folder)],
        "report": ["report", str(folder)],
        "compare": ["compare", str(place / "p1"), str(folder)],
    }[verb]

    code = main(words)

    said = capfd.readouterr().err
    assert code in (2, 4), said
    assert folder.name in said
    assert "This is an error of chaosagent" not in said
    assert contents(place) == before


def a_link(path: Path) -> None:
    path.symlink_to(path.parent.parent / "elsewhere")


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.mkdir()
    (path / "mine.txt").write_text("mine")


@pytest.mark.parametrize(
    ("puts", "name"),
    [
        *itertools.product((a_link, a_pipe, a_folder), (*FILES, *MARKED_FILES)),
        *itertools.product((a_link, a_pipe), FOLDERS),
    ],
)
def test_nothing_is_opened_or_replaced_that_is_no_file_of_a_study(
    place: Path, capfd: pytest.CaptureFixture[str], puts: Callable[[Path], None], name: str
) -> None:
    (place / "elsewhere").write_text("mine")
    new = place / "new"
    new.mkdir()
    puts(new / name)
    out = place / "out"
    (out / name).rename(place / name) if (out / name).exists() else None
    puts(out / name)
    before, study = contents(place), str(place / "study.yaml")

    for words in (
        ["search", study, "--out", str(new)],
        ["search", study, "--out", str(out)],
        ["search", study, "--resume", "--out", str(out)],
        ["merge", str(new), str(place / "p1"), str(place / "p2")],
    ):
        assert main(words) == 2, words
        said = capfd.readouterr().err
        assert f"{name} is a {puts.__name__[2:]}, and a " in said
        assert "belongs there. Move it, or choose another --out." in said
        assert contents(place) == before
    assert main(["status", str(new)]) in (0, 2, 4)


@pytest.mark.parametrize("name", ["report.html", "records.jsonl"])
def test_a_file_of_others_is_not_replaced(place: Path, capfd: pytest.CaptureFixture[str], name: str) -> None:
    (place / "new").mkdir()
    (place / "new" / name).write_text("<title>what we measured</title>")
    before = contents(place)

    assert main(["search", str(place / "study.yaml"), "--out", str(place / "new")]) == 2
    assert f"{name} is no file of a study, and would be replaced" in capfd.readouterr().err
    assert contents(place) == before


@pytest.mark.parametrize("gone", ["study.db", "study.lock", ".", "moved"])
def test_a_store_that_is_deleted_while_a_study_is_at_work_ends_it(tmp_path: Path, gone: str) -> None:
    (tmp_path / "night.yaml").write_text('target: triage\nconfig: naive\nbudget: 4.5\noperators: ["*"]\n')
    words = [sys.executable, "-m", "chaosagent", "search", "night.yaml", "--out", "out"]
    out = tmp_path / "out"
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as search:
        while not (out / "progress.json").exists():
            assert search.poll() is None, search.communicate()
            threading.Event().wait(0.1)
        if gone == "moved":
            out.rename(tmp_path / "moved")
        elif gone == ".":
            shutil.rmtree(out)
        else:
            (out / gone).unlink()
        _, said = search.communicate(timeout=120)

    assert search.returncode == 4, said
    assert f"out/{gone if '.' in gone[1:] else 'study.db'} was deleted, moved or replaced while the study was" in said
    assert "This is an error of chaosagent" not in said
    assert not list(tmp_path.rglob(".writing-*"))


def test_merge_leaves_a_target_that_holds_a_study_or_a_study_file(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    parts = [str(place / "p1"), str(place / "p2")]
    (place / "own").mkdir()
    (place / "own" / "study.yaml").write_text("# my own notes\n")
    (place / "link").mkdir()
    (place / "link" / "study.db").symlink_to(place / "nowhere.db")
    before = contents(place)

    for out in ("out", "own", "link", "p1", "study.yaml"):
        assert main(["merge", str(place / out), *parts]) == 2, out
        assert str(place / out) in capfd.readouterr().err
        assert contents(place) == before, out


@pytest.mark.parametrize("parts", [["p1"], ["p1", "p1"], ["p1", "p2", "p2"], ["p1", "out"]])
def test_merge_of_what_are_not_all_shards_makes_no_folder(place: Path, parts: list[str]) -> None:
    before = contents(place)

    assert main(["merge", str(place / "whole"), *(str(place / one) for one in parts)]) == 2
    assert contents(place) == before


def test_a_locked_folder_is_left_as_it_is(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    study, out = str(place / "study.yaml"), place / "out"
    with lock_folder(out):
        before = contents(place)
        for words in (
            ["search", study, "--resume", "--out", str(out)],
            ["search", study, "--shard", "1/2", "--out", str(out)],
            ["merge", str(out), str(place / "p1"), str(place / "p2")],
        ):
            assert main(words) in (2, 4)
            assert str(out) in capfd.readouterr().err
        assert main(["status", str(out), "--json"]) == 0
        assert json.loads(capfd.readouterr().out)["trials"] >= 0
        assert contents(place) == before


def test_a_search_does_not_replace_the_study_file_that_it_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "study.yaml").write_text(f"# what we run at night\n{STUDY}")
    before = contents(tmp_path)

    code = main(["search", str(tmp_path / "study.yaml"), "--budget", "1.1", "--out", str(tmp_path)])

    assert code == 2
    assert "study.yaml is there, and a stored study keeps its study file under that name" in capsys.readouterr().err
    assert contents(tmp_path) == before

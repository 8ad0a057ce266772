"""A watched run tells which files the user's code keeps something in beyond the run, and where."""

from __future__ import annotations

import logging
import os
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaosagent.execution.answers_on_disk import AnswersOnDisk
from chaosagent.execution.workers.workbench import Job, Workbench
from chaosagent.faults.schedule import EMPTY
from chaosagent.faults.written_file import WrittenFile
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task


def written_by(code: Callable[[Path], object], folder: Path, *, watched: bool = True) -> list[WrittenFile]:
    @target(name="writer", tasks=[Task("write")])
    async def agent(task: Task, run: Run) -> Outcome:
        del task
        shelf = run.service("shelf", {"put": lambda: code(folder) and None})
        await shelf("put")
        return Outcome("done", success=True)

    bench = Workbench(agent, agent.config("default"), ())
    return list(bench.execute(Job("write", 0, EMPTY, watched=watched)).evaluation.written)


def append(folder: Path) -> None:
    with (folder / "a").open("a", encoding="utf-8") as file:
        file.write("x")


def low_level(folder: Path) -> None:
    os.close(os.open(folder / "a", os.O_RDWR | os.O_CREAT))


def database(folder: Path) -> None:
    sqlite3.connect(folder / "a").close()


def database_by_uri(folder: Path) -> None:
    sqlite3.connect(f"file:{folder}/a?mode=rwc", uri=True).close()


def touched(folder: Path) -> None:
    (folder / "a").touch()


def folders(folder: Path) -> None:
    os.makedirs(folder / "a", exist_ok=True)


@pytest.mark.parametrize(
    "code",
    [
        append,
        low_level,
        database,
        database_by_uri,
        touched,
        folders,
        lambda folder: (folder / "a").write_text("x", "utf-8"),
    ],
)
def test_a_file_that_is_written_is_noted_with_its_place(
    code: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (elsewhere,) = written_by(code, tmp_path)
    monkeypatch.chdir(tmp_path)
    (here,) = written_by(code, tmp_path)

    assert (elsewhere.file, here.file) == ((tmp_path / "a").as_posix(), "a")
    assert here.place.startswith("test_file_watch.py:")
    assert here.place.endswith(f" in {code.__name__}")


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: (folder / "a").touch(),
        lambda folder: (folder / "a").write_text("x", "utf-8"),
        lambda folder: (folder / "a").mkdir(),
        lambda folder: os.makedirs(folder / "a"),
        lambda folder: os.symlink("b", folder / "a"),
        lambda folder: os.link(__file__, folder / "a"),
        lambda folder: sqlite3.connect(folder / "a").close(),
    ],
)
def test_what_only_the_first_run_of_a_process_makes_is_noted(make: Callable[[Path], object], tmp_path: Path) -> None:
    def once(folder: Path) -> None:
        if not os.path.lexists(folder / "a"):
            make(folder)

    (made,) = written_by(once, tmp_path)  # the run without injections, by which the watched one is judged, comes first

    assert made.file == (tmp_path / "a").as_posix()


def read(folder: Path) -> str:
    return Path(__file__).read_text("utf-8") + str(sorted(folder.iterdir()))


def in_memory(_: Path) -> None:
    for name, uri in ((":memory:", False), ("", False), ("file:shared?mode=memory&cache=shared", True)):
        sqlite3.connect(name, uri=uri).close()


def read_database(folder: Path) -> None:
    sqlite3.connect(f"file:{folder}/../kept.db?mode=ro", uri=True).close()


def in_own_folder(_: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        nested = Path(name, "a", "b")
        nested.mkdir(parents=True)
        (nested / "c").write_text("x", "utf-8")
        sqlite3.connect(nested / "d").close()


def temporary_files(_: Path) -> None:
    with tempfile.NamedTemporaryFile() as named, tempfile.TemporaryFile() as unnamed, open(named.name, "ab") as again:
        named.write(b"x")
        unnamed.write(b"x")
        again.write(b"x")


def logged(folder: Path) -> None:
    handler = logging.FileHandler(folder / "log", delay=True)
    handler.emit(logging.LogRecord("a", 20, "", 1, "x", (), None))
    handler.close()


def answers_of_ours(folder: Path) -> None:
    AnswersOnDisk(folder / "answers.db").keep(b"a", b"1")


def answers_of_ours_traced(folder: Path) -> None:
    connect = sqlite3.connect

    def traced(*arguments: Any, **terms: Any) -> Any:  # as tracing of databases does
        return connect(*arguments, **terms)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", traced)
        answers_of_ours(folder)


def thrown_away(_: Path) -> None:
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        nowhere.write("x")


@pytest.mark.parametrize(
    "code",
    [
        read,
        in_memory,
        read_database,
        in_own_folder,
        temporary_files,
        logged,
        answers_of_ours,
        answers_of_ours_traced,
        thrown_away,
    ],
)
def test_what_is_not_kept_by_the_target_is_not_noted(code: Callable[[Path], object], tmp_path: Path) -> None:
    sqlite3.connect(tmp_path.parent / "kept.db").close()

    assert written_by(code, tmp_path) == []


def test_a_run_that_is_not_watched_notes_nothing(tmp_path: Path) -> None:
    written_by(append, tmp_path)

    assert written_by(append, tmp_path, watched=False) == []

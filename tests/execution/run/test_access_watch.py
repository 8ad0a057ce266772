"""What a target opens outside of its doors is noted with its place; what is behind doors or Python's own is not."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.outside_access import AccessKind, OutsideAccess
from chaosagent.faults.schedule import EMPTY
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, SystemConfig, Task

Deed = Callable[[], object]
HERE = Path(__file__).name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with a file in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders.json").write_text("[]")
    return tmp_path


def accesses(deed: Deed, *, behind_door: bool = False, secrets: list[str] | None = None) -> list[OutsideAccess]:
    """Return what is noted of a run that does something, itself or behind a door."""

    @target(name="reads", tasks=[Task("t")], secrets=secrets or [])
    async def reads(_task: Task, run: Run) -> Outcome:
        def find() -> int:
            deed()
            return 1

        orders = run.service("orders", {"find": find})
        await orders("find")
        if not behind_door:
            deed()
        return Outcome("done", success=True)

    bare = Experiment(reads, reads.task("t"), SystemConfig("default"), 0)
    return list(execute(bare, EMPTY).evaluation.accesses)


def read() -> None:
    Path("orders.json").read_text()


def write() -> None:
    Path("log.txt").write_text("paid")


def remove() -> None:
    Path("orders.json").touch()
    Path("orders.json").unlink()


def database() -> None:
    sqlite3.connect("shop.db").close()


def program() -> None:
    subprocess.run([sys.executable, "-c", "", "--password=SECRET-1"], check=True)


def shell() -> None:
    os.system("true --password=SECRET-1")


def connection() -> None:
    with socket.socket() as server, socket.socket() as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        client.connect(server.getsockname())


@pytest.mark.parametrize(
    ("deed", "kind", "what"),
    [
        (read, AccessKind.READS, "orders.json"),
        (write, AccessKind.WRITES, "log.txt"),
        (remove, AccessKind.WRITES, "orders.json"),
        (database, AccessKind.WRITES, "shop.db"),
        (program, AccessKind.STARTS, Path(sys.executable).name),
        (shell, AccessKind.STARTS, "true"),
        (connection, AccessKind.CONNECTS, "127.0.0.1:"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_the_target_opens_itself_is_noted_and_what_a_door_hides_is_not(
    folder: Path, deed: Deed, kind: AccessKind, what: str
) -> None:
    assert folder.exists()

    noted = accesses(deed)

    assert {one.kind for one in noted} == {kind}
    assert all(one.what.startswith(what) for one in noted)
    assert all(one.place.startswith(f"{HERE}:") and one.place.endswith(f" in {deed.__name__}") for one in noted)
    assert "SECRET-1" not in str(noted)
    (folder / "orders.json").touch()
    assert accesses(deed, behind_door=True) == []


def test_a_host_is_named_once_with_its_name_and_not_again_with_its_address(folder: Path) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]

        noted = accesses(lambda: socket.create_connection(("localhost", port), timeout=5).close())

    assert folder.exists()
    assert [(one.kind, one.what) for one in noted] == [(AccessKind.CONNECTS, f"localhost:{port}")]


def test_work_that_the_target_hands_to_threads_and_tasks_is_its_own(folder: Path) -> None:
    @target(name="threads", tasks=[Task("t")])
    async def threads(_task: Task, _run: Run) -> Outcome:
        async def later() -> None:
            read()

        await asyncio.create_task(later())
        await asyncio.to_thread(write)
        return Outcome("done", success=True)

    assert folder.exists()
    bare = Experiment(threads, threads.task("t"), SystemConfig("default"), 0)
    noted = execute(bare, EMPTY).evaluation.accesses

    assert [(one.kind, one.what) for one in noted] == [
        (AccessKind.READS, "orders.json"),
        (AccessKind.WRITES, "log.txt"),
    ]


def in_a_temporary_folder() -> None:
    with tempfile.TemporaryDirectory() as made:
        (Path(made) / "notes").mkdir()
        (Path(made) / "notes" / "a.txt").write_text("x")
        (Path(made) / "notes" / "a.txt").read_text()


def of_python() -> None:
    Path(os.__file__).read_bytes()
    Path(pytest.__file__).read_bytes()
    with Path(os.devnull).open("w") as nothing:
        nothing.write("x")
    import this  # noqa: F401  # not loaded yet


@pytest.mark.parametrize("deed", [in_a_temporary_folder, of_python])
def test_a_folder_of_the_run_and_the_files_of_the_installation_are_not_told(folder: Path, deed: Deed) -> None:
    assert folder.exists()
    assert accesses(deed) == []


def test_secrets_are_not_shown(folder: Path) -> None:
    (folder / "SECRET-1.json").write_text("{}")

    noted = accesses(lambda: Path("SECRET-1.json").read_text(), secrets=["SECRET-1"])

    assert noted
    assert "SECRET-1" not in str(noted)


def test_many_files_of_a_run_are_a_bounded_list(folder: Path) -> None:
    assert folder.exists()
    assert len(accesses(lambda: [Path(f"{number}.txt").write_text("") for number in range(100)])) == 16

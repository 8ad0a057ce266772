"""Ctrl-C and SIGTERM end a study in good order, and it goes on to the same result."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaosagent.clock import monotonic
from tests.command_line import PROGRAM

pytestmark = pytest.mark.slow
AGENT = """
import threading
from pathlib import Path
from chaosagent import Outcome, Task, target

BEGUN, HELD = Path(__file__).with_name("begun"), Path(__file__).with_name("held")

@target(tasks=[Task("a")])
async def agent(task, run):
    service = run.service("s", {"get": lambda: {"value": 1}})
    for _ in range(4):
        try:
            await service("get")
        except Exception:
            pass
    threading.Event().wait(0.01)
    with BEGUN.open("a") as begun:
        begun.write("x")
    while HELD.exists() and BEGUN.stat().st_size > 200:
        threading.Event().wait(0.01)
    return Outcome("done", success=True)
"""
STUDY = """
target: agent.py:agent
contracts: [termination, no-crash]
budget: 3.2
operators: [service.timeout, service.error_status]
search: {trials: 250}
run: {wall_seconds: 600}
"""
COMMAND = [sys.executable, "-c", PROGRAM, "search"]
SECONDS_MAX = 240.0
Begin = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return written_to(tmp_path)


def written_to(folder: Path) -> Path:
    (folder / "agent.py").write_text(AGENT)
    (folder / "study.yaml").write_text(STUDY)
    return folder / "study.yaml"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the digest of a study that nobody has interrupted."""
    return digest_of(written_to(tmp_path_factory.mktemp("undisturbed")), "--out", "out")


@pytest.fixture
def begin(study: Path) -> Iterator[Begin]:
    """Begin a study, and return when some of its runs are on disk; it does not come to its end, however slow we are."""
    out, held = study.parent / "out", study.parent / "held"
    with contextlib.ExitStack() as begun:

        def started(*arguments: str) -> subprocess.Popen[str]:
            held.touch()
            child = subprocess.Popen(
                [*COMMAND, str(study), *arguments],
                cwd=study.parent,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            begun.enter_context(child)
            begun.callback(child.kill)
            deadline = monotonic() + SECONDS_MAX
            # Before there is a journal, one who reads could keep the study from making it.
            while not (out / "study.db-wal").exists() or runs_in(out) < 20:
                assert child.poll() is None, child.communicate()
                assert monotonic() < deadline
                threading.Event().wait(0.02)
            return child

        yield started


def runs_in(out: Path) -> int:
    try:
        with contextlib.closing(sqlite3.connect(f"file:{out / 'study.db'}?mode=ro", uri=True)) as database:
            return int(database.execute("SELECT count(*) FROM execution").fetchone()[0])
    except sqlite3.OperationalError:
        return 0  # it is being made


def digest_of(study: Path, *arguments: str) -> str:
    (study.parent / "held").unlink(missing_ok=True)
    command = [*COMMAND, str(study), "--json", *arguments]
    answer = subprocess.run(command, cwd=study.parent, capture_output=True, text=True, check=False)
    return str(json.loads(answer.stdout)["digest"])


@pytest.mark.parametrize(
    ("executor", "end"),
    [
        ("inline", signal.SIGTERM),
        ("process", signal.SIGINT),
        pytest.param("ray", signal.SIGTERM, marks=pytest.mark.ray),
    ],
)
def test_a_study_that_is_asked_to_end_says_how_to_go_on_and_ends_with_the_same_result(
    executor: str, end: signal.Signals, study: Path, begin: Begin, undisturbed: str
) -> None:
    where = ("--out", "out", "--executor", executor, "--workers", "2")
    child = begin(*where)
    child.send_signal(end)
    stdout, stderr = child.communicate(timeout=SECONDS_MAX)

    assert child.returncode == 130
    assert "--resume" in stdout
    assert "Traceback" not in stderr
    assert digest_of(study, "--out", "out", "--resume") == undisturbed  # wherever it continues


def test_a_second_interrupt_ends_at_once_and_nothing_is_lost(study: Path, begin: Begin, undisturbed: str) -> None:
    child = begin("--out", "out", "--executor", "process", "--workers", "2")
    before = runs_in(study.parent / "out")
    for _ in range(2):
        child.send_signal(signal.SIGINT)
        threading.Event().wait(0.03)
    _, stderr = child.communicate(timeout=SECONDS_MAX)

    assert child.returncode == 130
    # Where the interrupt lands in a callback of the interpreter, such as a WeakSet's, Python can only print it.
    assert "Traceback" not in stderr.partition("Exception ignored in")[0]
    assert runs_in(study.parent / "out") >= before
    assert digest_of(study, "--out", "out", "--resume") == undisturbed


def test_a_study_in_use_names_its_holder(study: Path, begin: Begin) -> None:
    child = begin("--out", "out")
    second = subprocess.run(
        [*COMMAND, str(study), "--out", "out", "--resume"],
        cwd=study.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    child.kill()
    child.communicate()

    assert second.returncode == 4
    assert f"out is in use by process {child.pid} on " in second.stderr
    assert " since " in second.stderr


WORKERS = """
import os, pickle
from pathlib import Path
from chaosagent.execution.workers.worker_process import WorkerProcess

for _ in range(2):
    worker = WorkerProcess(pickle.dumps(os.getpid), 4_000)
    facts = dict(line.split(":\\t") for line in Path(f"/proc/{worker.pid}/status").read_text().splitlines())
    print(int(facts["SigBlk"], 16) | int(facts["SigIgn"], 16))
    worker.end()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_workers_do_not_hear_of_an_interrupt_from_their_first_moment_on() -> None:
    answer = subprocess.run([sys.executable, "-c", WORKERS], capture_output=True, text=True, check=True)

    unheard = [int(line) >> (signal.SIGINT - 1) & 1 for line in answer.stdout.splitlines()]
    assert unheard == [1, 1]

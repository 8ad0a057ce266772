"""Ctrl-C and SIGTERM end a study in good order, and it goes on to the same result."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from chaosagent.clock import monotonic

pytestmark = pytest.mark.slow
AGENT = """
import threading
from chaosagent import Outcome, Task, target

@target(tasks=[Task("a")])
async def agent(task, run):
    service = run.service("s", {"get": lambda: {"value": 1}})
    for _ in range(4):
        try:
            await service("get")
        except Exception:
            pass
    threading.Event().wait(0.01)
    return Outcome("done", success=True)
"""
STUDY = """
target: agent.py:agent
contracts: [termination, no-crash]
budget: 3.2
operators: [service.timeout, service.error_status]
search: {trials: 250}
"""
COMMAND = [sys.executable, "-c", "from chaosagent.cli.main import main; raise SystemExit(main())", "search"]
SECONDS_MAX = 60.0


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path / "study.yaml"


def begin(study: Path, *arguments: str) -> subprocess.Popen[str]:
    """Begin a study, and return when some of its runs are on disk."""
    child = subprocess.Popen(
        [*COMMAND, str(study), *arguments], cwd=study.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = monotonic() + SECONDS_MAX
    while runs_in(study.parent / "out") < 20 and child.poll() is None and monotonic() < deadline:
        threading.Event().wait(0.02)
    return child


def runs_in(out: Path) -> int:
    try:
        with contextlib.closing(sqlite3.connect(f"file:{out / 'study.db'}?mode=ro", uri=True)) as database:
            return int(database.execute("SELECT count(*) FROM execution").fetchone()[0])
    except sqlite3.OperationalError:
        return 0  # it is being made


def digest_of(study: Path, *arguments: str) -> str:
    command = [*COMMAND, str(study), "--json", *arguments]
    answer = subprocess.run(command, cwd=study.parent, capture_output=True, text=True, check=False)
    return str(json.loads(answer.stdout)["digest"])


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("executor", ["inline", "process", pytest.param("ray", marks=pytest.mark.ray)])
def test_a_study_that_is_asked_to_end_says_how_to_go_on_and_ends_with_the_same_result(
    executor: str, end: signal.Signals, study: Path
) -> None:
    where = ("--out", "out", "--executor", executor)
    child = begin(study, *where)
    child.send_signal(end)
    stdout, stderr = child.communicate(timeout=SECONDS_MAX)

    assert child.returncode == 130
    assert "--resume" in stdout
    assert "Traceback" not in stderr
    assert digest_of(study, *where, "--resume") == digest_of(study, "--out", "undisturbed")


def test_a_second_interrupt_ends_at_once_and_nothing_is_lost(study: Path) -> None:
    child = begin(study, "--out", "out", "--executor", "process")
    before = runs_in(study.parent / "out")
    for _ in range(2):
        child.send_signal(signal.SIGINT)
        threading.Event().wait(0.03)
    _, stderr = child.communicate(timeout=SECONDS_MAX)

    assert child.returncode == 130
    assert "Traceback" not in stderr
    assert runs_in(study.parent / "out") >= before
    assert digest_of(study, "--out", "out", "--resume") == digest_of(study, "--out", "undisturbed")


def test_a_study_in_use_names_its_holder(study: Path) -> None:
    child = begin(study, "--out", "out")
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

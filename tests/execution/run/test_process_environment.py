"""A run leaves the working folder, the umask and the process as they were."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaosagent.errors import TargetError
from chaosagent.execution.execute import Execution

Play = Callable[..., Execution]


def test_folder_and_umask_are_put_back(play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mask = os.umask(0o022)

    async def agent(_: Any) -> str:
        os.chdir("/")
        os.umask(0)
        return "done"

    play(agent)

    assert os.umask(mask) == 0o022
    assert Path.cwd() == tmp_path


def test_a_run_may_delete_the_folder_that_it_runs_in(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inside").mkdir()
    os.chdir(tmp_path / "inside")

    async def agent(_: Any) -> str:
        shutil.rmtree(tmp_path / "inside")
        return "done"

    assert play(agent).trace.outcome.message == "done"


def test_leaving_the_process_is_an_error_of_the_run(play: Play) -> None:
    async def agent(_: Any) -> str:
        os._exit(0)

    leave = os._exit
    with pytest.raises(TargetError, match=r"the target has called os._exit\(0\), which ends its process"):
        play(agent)
    assert os._exit is leave


def test_a_process_that_a_run_has_forked_may_end(play: Play) -> None:
    async def agent(_: Any) -> str:
        child = os.fork()
        if child == 0:
            os._exit(3)
        return str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    assert play(agent).trace.outcome.message == "3"


FORKS = """
import os
from chaosagent import Outcome, target
from chaosagent.execution.workers.workbench import Job, Workbench
from chaosagent.faults.schedule import EMPTY

@target
def agent(task, run):
    os.fork()
    return Outcome("done", success=True)

workbench = Workbench(agent, agent.config("default"), ())
for number in range(3):
    workbench.execute(Job(next(iter(agent.tasks)), number, EMPTY))
    print("run", number, flush=True)
"""


def test_what_a_run_has_forked_ends_with_the_run(tmp_path: Path) -> None:
    (tmp_path / "forks.py").write_text(FORKS)

    done = subprocess.run([sys.executable, "forks.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)

    assert done.stdout.splitlines() == ["run 0", "run 1", "run 2"], done.stderr


LEAVES = """
import os
from chaosagent import Outcome, target

@target
async def agent(task, run):
    service = run.service("shop", {"pay": lambda: 1})
    try:
        await service("pay")
    except ConnectionError:
        os._exit(0)
    return Outcome("paid", success=True)
"""


@pytest.mark.slow
def test_a_search_says_that_the_target_has_left_its_process(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(LEAVES)
    (tmp_path / "study.yaml").write_text("target: agent.py:agent\n")
    command = [sys.executable, "-m", "chaosagent", "search", "study.yaml", "--budget", "1.1"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)

    assert done.returncode == 1, done.stdout + done.stderr  # other faults crash it
    assert "the target has called os._exit(0)" in done.stdout + done.stderr

"""A temporary folder is gone at the end, and however the process dies that works in it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from chaosagent.clock import monotonic, pause
from chaosagent.temporary_folder import temporary_folder

SECONDS_MAX = 60.0
WORKS = """
import os, sys, time
from pathlib import Path
from chaosagent.temporary_folder import temporary_folder

with temporary_folder(of_servers=len(sys.argv) > 1) as folder:
    (folder / "file").write_text("secret")
    print(folder, flush=True)
    time.sleep(600)
"""

COMES_BACK = """
import time
from chaosagent.temporary_folder import temporary_folder

with temporary_folder(of_servers=True) as folder:
    print(folder, flush=True)
time.sleep(7)
folder.mkdir()
(folder / "log").write_text("the last words of a client")
"""


def comes_to_go(path: Path) -> bool:
    until = monotonic() + SECONDS_MAX
    while path.exists() and monotonic() < until:
        pause(0.01)
    return not path.exists()


def test_it_is_private_and_gone_at_the_end() -> None:
    with temporary_folder() as folder:
        (folder / "file").touch()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    assert not folder.exists()


def test_two_at_a_time_are_apart() -> None:
    with temporary_folder() as one:
        with temporary_folder() as other:
            assert one != other
        assert one.exists()
        assert not other.exists()


def working(*arguments: str) -> tuple[subprocess.Popen[str], Path]:
    """Begin a process that works in a folder, and return both."""
    program = subprocess.Popen(
        [sys.executable, "-c", WORKS, *arguments], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert program.stdout is not None
    with program.stdout:
        folder = Path(program.stdout.readline().strip())
    assert (folder / "file").exists()
    return program, folder


@pytest.mark.slow
def test_it_is_gone_when_the_process_is_killed() -> None:
    program, folder = working()

    program.kill()
    program.wait()

    assert comes_to_go(folder)


@pytest.mark.slow
@pytest.mark.parametrize("whole_group", [False, True])
def test_it_is_gone_when_the_process_is_killed_and_so_is_who_works_in_it(whole_group: bool) -> None:
    program, folder = working("with its servers")
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(["/bin/sleep", "600"], stdout=log, stderr=log)

    (os.killpg if whole_group else os.kill)(program.pid, signal.SIGKILL)
    program.wait()

    assert comes_to_go(folder)
    if sys.platform == "linux":
        assert server.wait(SECONDS_MAX) == -signal.SIGKILL
    server.kill()
    server.wait()


@pytest.mark.slow
def test_it_does_not_stay_when_the_process_makes_it_again_on_its_way_out() -> None:
    ended = subprocess.run([sys.executable, "-c", COMES_BACK], stdout=subprocess.PIPE, text=True, check=True)

    assert comes_to_go(Path(ended.stdout.strip()))

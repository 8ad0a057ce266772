"""A call in a process of its own leaves nothing behind, and whatever becomes of it is told."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from chaosagent.errors import TargetError
from chaosagent.execution.answers_on_disk import AnswersOnDisk
from chaosagent.execution.workers.own_process import in_own_process, refuse_threads, threads_of_others

KEPT: list[int] = []


def raise_this(error: BaseException) -> NoReturn:
    raise error


def test_what_it_returns_comes_back_and_what_it_changes_does_not() -> None:
    def call() -> tuple[int, int]:
        KEPT.append(1)
        sys.stdout.write("nobody sees this")
        return os.getpid(), len(KEPT)

    (first, kept), (second, again) = in_own_process(call), in_own_process(call)

    assert (kept, again, KEPT) == (1, 1, [])
    assert len({first, second, os.getpid()}) == 3


@pytest.mark.parametrize("error", [ValueError("of the target"), SystemExit(3), KeyboardInterrupt()])
def test_what_it_raises_is_raised_here(error: BaseException) -> None:
    with pytest.raises(type(error)) as raised:
        in_own_process(lambda: raise_this(error))

    assert raised.value.args == error.args


def test_a_process_that_ends_before_its_call_is_an_error_of_the_target() -> None:
    with pytest.raises(TargetError, match="has ended before the run had, with exit code 7"):
        in_own_process(lambda: os._exit(7))
    with pytest.raises(TargetError, match="killed by signal 9"):
        in_own_process(lambda: os.kill(os.getpid(), signal.SIGKILL))


def test_what_cannot_be_pickled_is_an_error_of_the_target() -> None:
    class OddError(Exception):
        def __init__(self, one: int, two: int) -> None:
            super().__init__(f"{one} and {two}")

    with pytest.raises(TargetError, match="OddError: 1 and 2"):
        in_own_process(lambda: raise_this(OddError(1, 2)))
    with pytest.raises(TargetError, match="pickle"):
        in_own_process(lambda: (value for value in sys.path))


def test_no_process_is_left_behind() -> None:
    child = in_own_process(os.getpid)

    with pytest.raises(ChildProcessError):
        os.waitpid(child, os.WNOHANG)


def test_a_thread_that_loading_has_started_is_refused_by_name() -> None:
    before, done = threads_of_others(), threading.Event()
    refuse_threads(before, "agent")
    thread = threading.Thread(target=done.wait, name="poller")
    thread.start()
    try:
        with pytest.raises(TargetError, match=r"target 'agent' starts a thread while it is loaded \(poller\)"):
            refuse_threads(before, "agent")
    finally:
        done.set()
        thread.join()


def test_frozen_answers_of_a_file_are_shared_with_it(tmp_path: Path) -> None:
    answers = AnswersOnDisk(tmp_path / "answers.db")
    answers.keep(b"a", b"1")

    in_own_process(lambda: answers.keep(b"b", b"2"))

    assert in_own_process(lambda: (answers.get(b"a"), answers.get(b"b"))) == (b"1", b"2")
    assert (answers.get(b"a"), answers.get(b"b")) == (b"1", b"2")


def _sleeping(marker: str) -> list[str]:
    """Return the processes that were started with a marker in their command line."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if marker.encode() in place.read_bytes():
                found.append(place.parent.name)
    return found


def _children() -> set[int]:
    """Return the processes that this one has started, also those that nobody has waited for yet."""
    found = set()
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(place.read_bytes().rpartition(b")")[2].split()[1]) == os.getpid():
                found.add(int(place.parent.name))
    return found


def _start_things(marker: str) -> None:
    """Do what targets do that leave something behind."""
    threading.Thread(target=threading.Event().wait).start()
    KEPT_FILES.append(open(os.devnull, encoding="utf-8"))  # noqa: SIM115
    for is_leader in (False, True):
        command = [sys.executable, "-c", "import time; time.sleep(60)", marker]
        subprocess.Popen(command, start_new_session=is_leader)


KEPT_FILES: list[object] = []
only_on_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@only_on_linux
def test_nothing_is_left_of_threads_files_and_processes_that_runs_start(tmp_path: Path) -> None:
    descriptors, children = len(os.listdir("/proc/self/fd")), _children()

    for _ in range(5):
        in_own_process(lambda: _start_things(str(tmp_path)))

    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert _sleeping(str(tmp_path)) == []
    assert _children() == children


@only_on_linux
def test_a_process_that_ends_beside_one_that_it_has_forked_is_no_hang(tmp_path: Path) -> None:
    begun, outlived = tmp_path / "begun", tmp_path / "outlived"

    def call() -> None:
        if os.fork() == 0:
            begun.touch()
            threading.Event().wait(20)
            outlived.touch()
            os._exit(0)
        while not begun.exists():
            threading.Event().wait(0.01)
        os._exit(3)

    with pytest.raises(TargetError, match="with exit code 3"):
        in_own_process(call)
    assert begun.exists()
    assert not outlived.exists()


@only_on_linux
def test_a_process_that_uses_more_memory_than_it_may_is_an_error_of_the_target() -> None:
    def use(megabytes: int, seconds: float) -> int:
        held = bytearray(megabytes * 1_000_000)
        threading.Event().wait(seconds)
        return len(held)

    assert in_own_process(lambda: use(1, 0), megabytes_max=4_000) == 1_000_000
    for seconds in (0, 60):  # seen at the end, and while it runs
        with pytest.raises(TargetError, match=r"used more than 300 MB of memory \(run.memory_megabytes\)"):
            in_own_process(partial(use, 400, seconds), megabytes_max=300)

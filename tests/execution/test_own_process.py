"""A call in a process of its own leaves nothing behind, and whatever becomes of it is told."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import NoReturn

import pytest

from chaosagent.errors import TargetError
from chaosagent.execution.answers_on_disk import AnswersOnDisk
from chaosagent.execution.own_process import in_own_process, refuse_threads, threads_of_others

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

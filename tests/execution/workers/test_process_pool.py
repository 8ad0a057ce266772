"""Which worker process is given what, and what becomes of it when workers, runs or the study go another way."""

from __future__ import annotations

import functools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeAlias

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.errors import StudyError
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.process_pool import STALL_SECONDS, STARTS_MAX, ProcessExecutor
from chaosagent.execution.workers.workbench import Job, Workbench, load_workbench
from chaosagent.faults.evaluation import Status
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.limits import RunLimits
from tests.execution.conftest import SECONDS_MAX, Clock, times_noted, told, wait_until

pytestmark = pytest.mark.slow
PATIENT = """
import threading
from pathlib import Path
from chaosagent import Outcome, Task, target

HERE = Path(__file__).parent

def holds():
    (HERE / "held").touch()
    while not (HERE / "let_go").exists():
        threading.Event().wait(0.01)

def spins():
    with (HERE / "spinning").open("a") as spinning:
        spinning.write("x")
    while True:
        pass

ACTS = dict(fine=lambda: None, holds=holds, spins=spins)

@target(tasks=[Task(name) for name in ACTS])
async def patient(task, run):
    service = run.service("s", {"get": lambda: {"value": 1}})
    try:
        await service("get")
    except TimeoutError:
        ACTS[task.id]()
    return Outcome("done", success=True)
"""
SPECS = tuple(contract.id for contract in default_contracts())
TIMEOUT = parse("service:s[1] timeout(when=before)")
SHORT = [Job("fine", 0, parse(f"service:s[1] delay(seconds={seconds})")) for seconds in range(5, 25)]
Setup: TypeAlias = Callable[[], Workbench]


def written(folder: Path, name: str, program: str) -> Setup:
    """Write a target of that name down; return what makes a workbench of it."""
    (folder / f"{name}.py").write_text(program)
    return functools.partial(load_workbench, f"{name}.py:{name}", "default", SPECS, folder=folder)


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return written(tmp_path, "patient", PATIENT)


def expect_short_runs(executor: ProcessExecutor) -> None:
    """Have workers given many runs ahead, however long the last ones took."""
    executor._seconds_per_job = 0.001


def test_runs_behind_one_that_takes_too_long_are_run_by_another_worker(
    setup: Setup, clock: Clock, tmp_path: Path
) -> None:
    here, clock.hours = setup(), functools.partial(times_noted, tmp_path / "spinning")
    with closing(ProcessExecutor(setup, workers=1)) as executor:
        expect_short_runs(executor)
        endless, *others = told(executor, [Job("spins", 0, TIMEOUT), *SHORT[:4]])

    assert "longer than 60 s of real time" in endless.detail
    assert others == [here.evaluate(job) for job in SHORT[:4]]
    assert executor.replaced == 2


def test_a_run_that_ended_while_the_study_was_kept_from_listening_has_not_taken_too_long(
    setup: Setup, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(ProcessExecutor(setup, workers=1)) as executor:
        executor.await_ready()
        (worker,), selector = executor._workers, executor._selector
        select = selector.select

        def nothing_yet(timeout: float | None = None) -> object:
            del timeout
            monkeypatch.setattr(selector, "select", select)
            assert worker.pipe.poll(SECONDS_MAX)  # it answers while the study stands still, for an hour
            clock.hours = lambda: 1
            return []

        monkeypatch.setattr(selector, "select", nothing_yet)
        evaluations = told(executor, SHORT[:1])

    assert evaluations == [setup().evaluate(SHORT[0])]
    assert executor.replaced == 0


STUMBLING = """
import multiprocessing, os
from pathlib import Path
from chaosagent import Outcome, target

STARTS, IN_WORKER = Path(__file__).parent / "starts", multiprocessing.parent_process() is not None
if IN_WORKER:
    with STARTS.open("a") as starts:
        starts.write("x")
    if STARTS.stat().st_size == 2:
        os._exit(4)

@target
async def stumbling(task, run):
    if IN_WORKER and STARTS.stat().st_size == 1:
        os._exit(5)
    return Outcome("done", success=True)
"""


def test_a_worker_that_ends_before_it_is_ready_hands_on_the_run_that_it_was_to_try_again(tmp_path: Path) -> None:
    setup = written(tmp_path, "stumbling", STUMBLING)
    jobs = [Job("default", seed, EMPTY) for seed in range(3)]
    with closing(ProcessExecutor(setup, workers=1)) as executor:
        there = told(executor, jobs)

    assert there == told(InlineExecutor(setup()), jobs)
    assert executor.replaced == 2
    assert (tmp_path / "starts").read_text() == "xxx"


def test_runs_that_wait_behind_a_long_one_are_given_to_others(setup: Setup, tmp_path: Path) -> None:
    with closing(ProcessExecutor(setup, workers=2)) as executor:
        expect_short_runs(executor)
        jobs = [Job("holds", 0, TIMEOUT), *SHORT]
        for ticket, job in enumerate(jobs):
            executor.submit(ticket, job)
        others = [executor.next_finished() for _ in SHORT]
        (tmp_path / "let_go").touch()
        last = executor.next_finished()

    assert sorted(ticket for ticket, _ in others) == list(range(1, len(jobs)))
    assert STALL_SECONDS < 1.0  # after so long
    assert (last.ticket, last.evaluation.status) == (0, Status.OK)
    assert executor.replaced == 0


def test_what_no_worker_has_begun_can_be_dropped(setup: Setup, tmp_path: Path) -> None:
    with closing(ProcessExecutor(setup, workers=1)) as executor:
        executor.await_ready()
        executor.submit(0, Job("holds", 0, TIMEOUT))
        for ticket, job in enumerate(SHORT * 5, start=1):
            executor.submit(ticket, job)
        begun = wait_until((tmp_path / "held").exists)
        executor.drop_waiting()
        executor.submit(1_000, Job("fine", 0, EMPTY))
        (tmp_path / "let_go").touch()
        came: list[int] = []
        while 1_000 not in came:
            came.append(executor.next_finished().ticket)

    assert begun
    assert came == [0, 1_000]


def test_a_run_that_was_dropped_too_late_is_not_held_against_the_next(
    setup: Setup, clock: Clock, tmp_path: Path
) -> None:
    with closing(ProcessExecutor(setup, workers=1)) as executor:
        executor.await_ready()
        expect_short_runs(executor)
        for ticket, job in enumerate([*SHORT[:2], Job("spins", 0, TIMEOUT)]):
            executor.submit(ticket, job)
        came = [executor.next_finished().ticket]
        begun = wait_until((tmp_path / "spinning").exists)  # and nobody has heard the answer before that
        executor.drop_waiting()
        executor.submit(1_000, SHORT[2])
        came.append(executor.next_finished().ticket)
        clock.hours = lambda: 1
        last = executor.next_finished()

    assert begun
    assert came == [0, 1]
    assert (last.ticket, last.evaluation) == (1_000, setup().evaluate(SHORT[2]))
    assert executor.replaced == 1


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Have an interrupt raised: shells have background jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


def while_it_waits(executor: ProcessExecutor, patch: pytest.MonkeyPatch) -> None:
    """Have somebody else interrupt the study as soon as it waits for a run, which does not end."""
    listen, listening = executor._listen, threading.Event()

    def interrupt() -> None:
        if listening.wait(SECONDS_MAX):
            os.kill(os.getpid(), signal.SIGINT)

    def listen_on() -> None:
        listening.set()
        listen()

    patch.setattr(executor, "_listen", listen_on)
    executor.submit(0, Job("holds", 0, TIMEOUT))
    threading.Thread(target=interrupt, daemon=True).start()


def in_the_middle_of_a_message(executor: ProcessExecutor, patch: pytest.MonkeyPatch) -> None:
    """Have the study interrupted when it has read how long an answer is, and nothing else of it."""
    read: Callable[[Connection, int], object] = vars(Connection)["_recv"]

    def read_and_interrupt(pipe: Connection, size: int) -> object:
        length = read(pipe, size)
        signal.raise_signal(signal.SIGINT)
        return length

    executor.submit(0, SHORT[0])
    patch.setattr(Connection, "_recv", read_and_interrupt)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("interrupt", [while_it_waits, in_the_middle_of_a_message])
def test_workers_go_when_the_study_is_interrupted(
    interrupt: Callable[[ProcessExecutor, pytest.MonkeyPatch], None], setup: Setup
) -> None:
    with closing(ProcessExecutor(setup, workers=2)) as executor:
        told(executor, SHORT)
        before = {worker.pid for worker in executor._workers}
        with pytest.MonkeyPatch.context() as patch:
            interrupt(executor, patch)
            with pytest.raises(KeyboardInterrupt):
                executor.next_finished()
        executor.drop_waiting()
        afterwards = told(executor, SHORT)
        gone = wait_until(lambda: not before & {process.pid for process in multiprocessing.active_children()})

    assert afterwards == told(InlineExecutor(setup()), SHORT)
    assert gone


ENDS_WHEN_IDLE = """
import multiprocessing, os, threading
from pathlib import Path
from chaosagent import Outcome, target
from chaosagent.execution.workers import worker

HOLDER, serve = Path(__file__).parent / "holder", worker._serve

def end_when_idle(pipe, *rest):
    while not pipe.poll(0.02):
        if HOLDER.exists():
            os._exit(9)
    serve(pipe, *rest)

if multiprocessing.parent_process() is not None:
    worker._serve = end_when_idle  # which is called when the executor has been told that the target is loaded

@target
async def holding(task, run):
    HOLDER.touch()
    threading.Event().wait()
"""


def test_workers_that_end_while_they_have_nothing_to_do_are_not_replaced_for_ever(tmp_path: Path) -> None:
    setup = written(tmp_path, "holding", ENDS_WHEN_IDLE)
    with (
        closing(ProcessExecutor(setup, workers=2, limits=RunLimits(wall_seconds_max=600.0))) as executor,
        pytest.raises(StudyError, match=r"worker processes end while they have nothing to do: .* exit code 9"),
    ):
        told(executor, [Job("default", 0, EMPTY)])

    assert executor.replaced == STARTS_MAX

"""Whatever a target does to its worker, its run ends as an error with what is known, and no other run is lost."""

from __future__ import annotations

import functools
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import Protocol, TypeAlias

import pytest

from chaosagent.clock import monotonic
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.errors import StudyError
from chaosagent.execution.workers.executor import Executor, InlineExecutor
from chaosagent.execution.workers.process_pool import DEATHS_MAX, ProcessExecutor
from chaosagent.execution.workers.ray_pool import RayExecutor
from chaosagent.execution.workers.second_process import open_second_process
from chaosagent.execution.workers.workbench import Job, Workbench, load_workbench
from chaosagent.faults.evaluation import Status
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.limits import RunLimits
from chaosagent.vocabulary import Ending
from tests.execution.conftest import SECONDS_MAX, Clock, times_noted, told, wait_until

pytestmark = [
    pytest.mark.slow,
    # Ray leaves sockets and files to the interpreter's end.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
LIMITS = RunLimits(memory_megabytes_max=400)
FAULTY = """
import asyncio, ctypes, os, re, signal, subprocess, sys, threading
from pathlib import Path
from chaosagent import Outcome, Task, target

HERE = Path(__file__).parent

def eats():
    kept = [b"x" * 10_000_000 for _ in range(200)]

def gulps():
    b"x" * 2_000_000_000

def spikes():
    try:
        b"x" * 500_000_000
    except MemoryError:
        pass

def spins():
    while True:
        pass

def starts_others():
    shell = subprocess.Popen(["sh", "-c", "sleep 1000 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
    grandchild = int(shell.stdout.readline())
    detached = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    (HERE / "written").write_text(f"{os.getpid()} {shell.pid} {grandchild} {detached.pid}")
    os.replace(HERE / "written", HERE / "started")

def begets():
    starts_others()
    with (HERE / "begotten").open("a") as begotten:
        begotten.write("x")
    spins()

def begets_and_eats():
    starts_others()
    eats()
    threading.Event().wait()

def backtracks():
    starts_others()
    re.match("(a+)+$", "a" * 60 + "b")

def tells_hash_seed():
    with (HERE / "hash_seeds").open("a") as seeds:
        seeds.write(os.environ.get("PYTHONHASHSEED", "none") + " ")
    os._exit(5)

def prints():
    for line in range(100):
        os.write(1, b"x" * 1_000_000)
        print("y" * 1_000_000, file=sys.stderr)

async def polls():
    while True:
        await asyncio.sleep(0)

async def leaves_tasks():
    for _ in range(10):
        asyncio.get_running_loop().create_task(asyncio.sleep(1000))

def leaves_threads():
    for _ in range(10):
        threading.Thread(target=threading.Event().wait, daemon=True).start()

def counts_and_dies():
    with (HERE / "deaths").open("a") as deaths:
        deaths.write("x")
    os._exit(5)

def waits_to_be_killed_once():
    with (HERE / "begun").open("a") as begun:
        begun.write("x")
    if (HERE / "begun").stat().st_size == 1:
        threading.Event().wait()

LEFT = []
def leaks():
    LEFT.append(b"x" * 90_000_000)

ACTS = dict(
    eats=eats, gulps=gulps, spikes=spikes, spins=spins, begets=begets, begets_and_eats=begets_and_eats, prints=prints,
    exits=lambda: os._exit(3), dies=lambda: os.kill(os.getpid(), signal.SIGKILL), crashes=lambda: ctypes.string_at(0),
    leaves_tasks=leaves_tasks, leaves_threads=leaves_threads, counts_and_dies=counts_and_dies,
    leaks=leaks, fine=lambda: None, starts_others=starts_others, backtracks=backtracks, polls=polls,
    tells_hash_seed=tells_hash_seed, waits_to_be_killed_once=waits_to_be_killed_once, always_spins=spins,
)

@target(tasks=[Task(name) for name in ACTS])
async def faulty(task, run):
    service = run.service("s", {"get": lambda: {"value": 1}})
    if task.id == "always_spins":
        spins()
    try:
        await service("get")
    except TimeoutError:
        done = ACTS[task.id]()
        if done is not None:
            await done
    return Outcome("done", success=True)
"""
SPECS = tuple(contract.id for contract in default_contracts())
TIMEOUT = parse("service:s[1] timeout(when=before)")
HARMLESS = [Job("fine", 0, parse(f"service:s[1] delay(seconds={seconds})")) for seconds in range(5, 25)]
Setup: TypeAlias = Callable[[], Workbench]


class Opened(Protocol):
    """Opens an executor with two workers."""

    def __call__(self, limits: RunLimits = LIMITS) -> AbstractContextManager[Executor]: ...


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    (tmp_path / "faulty.py").write_text(FAULTY)
    return functools.partial(load_workbench, "faulty.py:faulty", "default", SPECS, folder=tmp_path)


@pytest.fixture(params=["process", pytest.param("ray", marks=pytest.mark.ray)])
def opened(request: pytest.FixtureRequest, setup: Setup) -> Opened:
    """Opens the executor with two workers and a tight limit of memory."""
    if request.param == "ray":
        request.getfixturevalue("ray")
        return lambda limits=LIMITS: closing(RayExecutor(setup, workers=2, limits=limits))
    return lambda limits=LIMITS: closing(ProcessExecutor(setup, workers=2, limits=limits))


ERRORS = {
    "eats": r"the worker process used \d+ MB of memory, more than 400 \(run\.memory_megabytes\), and was killed",
    "gulps": r"the worker process used \d+ MB of memory, more than 400 \(run\.memory_megabytes\), and was killed",
    "spikes": r"the worker process used \d+ MB of memory, more than 400 \(run\.memory_megabytes\), and was killed",
    "exits": r"the worker process ended with exit code 3, and so ended each of the 3 workers that were given the run",
    "dies": r"the worker process was killed by signal 9 \(SIGKILL\), and so ended each of the 3 workers",
    "crashes": r"the worker process was killed by signal 11 \(SIGSEGV\), and so ended each of the 3 workers",
}


def test_what_ends_a_worker_is_an_error_with_what_is_known_and_nothing_else_is_lost(
    opened: Opened, setup: Setup
) -> None:
    here = setup()
    faults = [Job(name, 0, TIMEOUT) for name in ERRORS]
    jobs = [job for place, fault in enumerate(faults) for job in (*HARMLESS[2 * place : 2 * place + 2], fault)]

    with opened() as executor:
        evaluations = dict(zip(jobs, told(executor, [*jobs, *HARMLESS[14:]]), strict=False))

    for job, evaluation in evaluations.items():
        if job.schedule == TIMEOUT:
            assert evaluation.status is Status.ERROR
            assert re.match(ERRORS[job.task_id], evaluation.error), (job.task_id, evaluation.error)
            assert evaluation.verdicts == ()
        else:
            assert evaluation == here.evaluate(job)


def test_a_run_that_takes_too_long_twice_under_a_fault_hangs(opened: Opened) -> None:
    with opened(RunLimits(wall_seconds_max=1.0)) as executor:
        hung, fine = told(executor, [Job("spins", 0, TIMEOUT), Job("fine", 0, TIMEOUT)])

    assert (hung.status, hung.ending, hung.effective) == (Status.OK, Ending.HUNG, TIMEOUT)
    assert hung.detail == (
        "the run took longer than 1 s of real time (run.wall_seconds) in each of two fresh workers, which were killed"
    )
    assert hung.verdicts == ()
    assert fine.ending is Ending.FINISHED


def test_a_run_that_takes_too_long_once_is_what_it_is_the_second_time(opened: Opened, tmp_path: Path) -> None:
    with opened(RunLimits(wall_seconds_max=1.0)) as executor:
        (evaluation,) = told(executor, [Job("waits_to_be_killed_once", 0, TIMEOUT)])

    assert (tmp_path / "begun").read_text() == "xx"
    assert evaluation.ending is Ending.FINISHED


def test_a_run_without_faults_that_takes_too_long_is_an_error(opened: Opened) -> None:
    with opened(RunLimits(wall_seconds_max=1.0)) as executor:
        (evaluation,) = told(executor, [Job("always_spins", 0, EMPTY)])

    assert evaluation.status is Status.ERROR
    assert "longer than 1 s of real time (run.wall_seconds) in each of two fresh workers" in evaluation.error
    assert evaluation.error.endswith("The target hangs without any fault: fix it, or raise run.wall_seconds")


def test_what_only_makes_a_mess_ends_as_it_does_here(
    opened: Opened, setup: Setup, capfd: pytest.CaptureFixture[str]
) -> None:
    messes = ("prints", "leaves_tasks", "leaves_threads", "polls")
    jobs = [job for name in messes for job in (Job(name, 0, TIMEOUT), *HARMLESS[:6])]
    with capfd.disabled(), opened() as executor:
        there = told(executor, jobs)
    here = told(InlineExecutor(setup()), jobs)

    assert there == here
    assert {evaluation.status for evaluation in there} == {Status.OK}
    livelocks = {
        job.task_id for job, evaluation in zip(jobs, there, strict=True) if evaluation.ending is Ending.LIVELOCK
    }
    assert livelocks == {"polls"}


def test_a_run_that_kills_each_worker_is_not_tried_for_ever(opened: Opened, tmp_path: Path) -> None:
    with opened() as executor:
        told(executor, [Job("counts_and_dies", 0, TIMEOUT), *HARMLESS])

    assert len((tmp_path / "deaths").read_text()) == DEATHS_MAX


def test_memory_that_earlier_runs_have_left_is_not_held_against_a_run(opened: Opened) -> None:
    leaky = [Job("leaks", seed, TIMEOUT) for seed in range(12)]

    with opened() as executor:
        evaluations = told(executor, leaky)

    assert {evaluation.status for evaluation in evaluations} == {Status.OK}


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what a process has started")


@LINUX
@pytest.mark.parametrize(
    ("name", "error"), [("begets", "longer than 60 s"), ("begets_and_eats", "MB of memory"), ("starts_others", "")]
)
def test_a_killed_worker_takes_with_it_what_it_has_started(
    name: str, error: str, setup: Setup, clock: Clock, tmp_path: Path
) -> None:
    if name == "begets":
        clock.hours = functools.partial(times_noted, tmp_path / "begotten")
    with closing(ProcessExecutor(setup, workers=1, limits=LIMITS)) as executor:
        (evaluation,) = told(executor, [Job(name, 0, TIMEOUT)])

    assert error in (evaluation.error or evaluation.detail)
    assert (name == "begets_and_eats") == (evaluation.status is Status.ERROR)
    assert (name == "begets") == (evaluation.ending is Ending.HUNG)
    assert still_alive(tmp_path) == []


def still_alive(folder: Path, *, may_stay: int | None = None) -> list[int]:
    """Return the place of each process that a worker has named and that is not gone after a while, but of one."""
    pids = [int(pid) for pid in (folder / "started").read_text().split()]
    places = [place for place in range(len(pids)) if place != may_stay]
    wait_until(lambda: not any(alive(pids[place]) for place in places))
    return [place for place in places if alive(pids[place])]


STUDYING = """
import functools, sys
from pathlib import Path
from chaosagent.execution.workers.process_pool import ProcessExecutor
from chaosagent.execution.workers.workbench import Job, load_workbench
from chaosagent.faults.schedule import parse

setup = functools.partial(load_workbench, "faulty.py:faulty", "default", ("no-crash",), folder=Path(sys.argv[1]))
executor = ProcessExecutor(setup, workers=1)
executor.submit(0, Job("backtracks", 0, parse("service:s[1] timeout(when=before)")))
executor.next_finished()
"""


@LINUX
@pytest.mark.usefixtures("setup")
def test_a_worker_that_lets_no_thread_run_ends_with_the_study(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", STUDYING, str(tmp_path)]) as studying:
        begun = wait_until((tmp_path / "started").exists)
        threading.Event().wait(0.3)  # by now the endless expression should have begun
        studying.kill()
    assert begun
    left = still_alive(tmp_path, may_stay=3)  # what is in a session of its own cannot be found any more
    for pid in map(int, (tmp_path / "started").read_text().split()):
        with suppress(ProcessLookupError):
            if alive(pid):
                os.kill(pid, signal.SIGKILL)

    assert left == []


def test_a_second_process_that_dies_is_replaced_by_one_with_the_same_other_hash_seed(
    setup: Setup, tmp_path: Path
) -> None:
    with closing(open_second_process(setup)) as elsewhere:
        told(elsewhere, [Job("tells_hash_seed", 0, TIMEOUT)])

    other = "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"
    assert (tmp_path / "hash_seeds").read_text().split() == [other] * DEATHS_MAX


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):  # the latter when it goes while it is read
        return False


def test_a_run_whose_worker_is_killed_from_outside_is_run_again(setup: Setup, tmp_path: Path) -> None:
    jobs = [Job("waits_to_be_killed_once", 0, TIMEOUT), *HARMLESS]
    (tmp_path / "begun").touch()

    def kill_all() -> None:
        wait_until(lambda: (tmp_path / "begun").read_text() == "x")
        for process in multiprocessing.active_children():
            process.kill()

    with closing(ProcessExecutor(setup, workers=2)) as executor:
        killer = threading.Thread(target=kill_all)
        killer.start()
        there = told(executor, jobs)
        killer.join()
        deadline = monotonic() + SECONDS_MAX
        while executor.replaced < 2 and monotonic() < deadline:  # of one that had nothing to do it may hear later
            told(executor, HARMLESS[:1])

    assert executor.replaced == 2
    assert (tmp_path / "begun").read_text() == "xx"
    assert there == told(InlineExecutor(setup()), jobs)


LEAVING = """
import sys
from chaosagent import Outcome, target

@target(objective=lambda task, outcome: sys.exit(0))
async def leaving(task, run):
    return Outcome("done")
"""


def test_an_objective_that_ends_the_program_is_told_as_it_is_without_workers(tmp_path: Path) -> None:
    (tmp_path / "leaving.py").write_text(LEAVING)
    setup = functools.partial(load_workbench, "leaving.py:leaving", "default", SPECS, folder=tmp_path)
    with closing(ProcessExecutor(setup, workers=1)) as executor:
        (evaluation,) = told(executor, [Job("default", 0, EMPTY)])

    assert evaluation.status is Status.ERROR
    assert evaluation.error == (
        "the objective of target 'leaving', task 'default', raised SystemExit: 0 (at leaving.py:5 in <lambda>)"
    )
    assert executor.replaced == 0


LARGE = """
import multiprocessing, threading
from chaosagent import target

if multiprocessing.parent_process() is not None:
    threading.Event().wait()  # until it is found out

@target
async def large(task, run):
    pass
"""


def test_a_target_that_is_over_the_limit_before_it_runs_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "large.py").write_text(LARGE)
    setup = functools.partial(load_workbench, "large.py:large", "default", SPECS, folder=tmp_path)
    with (
        closing(ProcessExecutor(setup, workers=1, limits=RunLimits(memory_megabytes_max=5))) as executor,
        pytest.raises(StudyError, match=r"worker processes end before they are ready: the worker process used \d+ MB"),
    ):
        told(executor, [Job("default", 0, EMPTY)])

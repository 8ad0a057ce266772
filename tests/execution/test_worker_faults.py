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
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import TypeAlias

import pytest

from chaosagent.clock import monotonic
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.errors import StudyError
from chaosagent.execution.elsewhere import open_elsewhere
from chaosagent.execution.executor import Executor
from chaosagent.execution.inline import InlineExecutor
from chaosagent.execution.process_pool import DEATHS_MAX, STALL_SECONDS, STARTS_MAX, ProcessExecutor
from chaosagent.execution.ray_pool import RayExecutor
from chaosagent.execution.workbench import Job, Workbench, load_workbench
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.limits import RunLimits
from chaosagent.vocabulary import Ending

pytestmark = [
    pytest.mark.slow,
    # Ray leaves sockets and files to the interpreter's end.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
LIMITS = RunLimits(wall_seconds_max=10.0, memory_megabytes_max=400)
FAULTY = """
import asyncio, ctypes, os, re, signal, subprocess, sys, threading
from pathlib import Path
from chaosagent import Outcome, Task, target

HERE = Path(__file__).parent

def eats():
    kept = []
    while True:
        kept.append(b"x" * 10_000_000)

def gulps():
    return b"x" * 10_000_000_000

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
    (HERE / "started").write_text(f"{os.getpid()} {shell.pid} {grandchild} {detached.pid}")

def begets():
    starts_others()
    spins()

def begets_and_eats():
    starts_others()
    eats()

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

def waits():
    with (HERE / "begun").open("a") as begun:
        begun.write("x")
    threading.Event().wait(1.0)

LEFT = []
def leaks():
    LEFT.append(b"x" * 90_000_000)

ACTS = dict(
    eats=eats, gulps=gulps, spikes=spikes, spins=spins, begets=begets, begets_and_eats=begets_and_eats, prints=prints,
    exits=lambda: os._exit(3), dies=lambda: os.kill(os.getpid(), signal.SIGKILL), crashes=lambda: ctypes.string_at(0),
    leaves_tasks=leaves_tasks, leaves_threads=leaves_threads, counts_and_dies=counts_and_dies, waits=waits,
    leaks=leaks, fine=lambda: None, starts_others=starts_others, backtracks=backtracks, polls=polls,
    tells_hash_seed=tells_hash_seed,
)

@target(tasks=[Task(name) for name in ACTS])
async def faulty(task, run):
    service = run.service("s", {"get": lambda: {"value": 1}})
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
Opened: TypeAlias = Callable[[], AbstractContextManager[Executor]]


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    (tmp_path / "faulty.py").write_text(FAULTY)
    return functools.partial(load_workbench, "faulty.py:faulty", "default", SPECS, folder=tmp_path)


@pytest.fixture(scope="module")
def ray() -> Iterator[None]:
    found = pytest.importorskip("ray", reason="the extra ray is not installed")
    found.init(num_cpus=2, include_dashboard=False, object_store_memory=80_000_000, log_to_driver=False)
    yield
    found.shutdown()


@pytest.fixture(params=["process", pytest.param("ray", marks=pytest.mark.ray)])
def opened(request: pytest.FixtureRequest, setup: Setup) -> Opened:
    """Opens the executor with two workers and tight limits."""
    if request.param == "ray":
        request.getfixturevalue("ray")
        return lambda: closing(RayExecutor(setup, workers=2, limits=LIMITS))
    return lambda: closing(ProcessExecutor(setup, workers=2, limits=LIMITS))


def told(executor: Executor, jobs: list[Job]) -> list[Evaluation]:
    """What some jobs told, in their order; each has come back exactly once."""
    for ticket, job in enumerate(jobs):
        executor.submit(ticket, job)
    finished = [executor.next_finished() for _ in jobs]
    assert sorted(ticket for ticket, _ in finished) == list(range(len(jobs)))
    return [evaluation for _, evaluation in sorted(finished, key=lambda one: one.ticket)]


ERRORS = {
    "eats": r"the worker process used \d+ MB of memory, more than 400 \(run\.memory_megabytes\), and was killed",
    "gulps": r"the worker process used \d+ MB of memory, more than 400 \(run\.memory_megabytes\), and was killed",
    "spikes": r"the worker process used \d+ MB of memory, more than 400 \(run\.memory_megabytes\), and was killed",
    "spins": r"the run took longer than 10 s of real time \(run\.wall_seconds\); its worker was killed",
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


@pytest.mark.parametrize("name", ["prints", "leaves_tasks", "leaves_threads", "polls"])
def test_what_only_makes_a_mess_ends_as_it_does_here(
    name: str, opened: Opened, setup: Setup, capfd: pytest.CaptureFixture[str]
) -> None:
    jobs = [Job(name, 0, TIMEOUT), *HARMLESS[:6]]
    with capfd.disabled(), opened() as executor:
        there = told(executor, jobs)
    here = told(InlineExecutor(setup()), jobs)

    assert there == here
    assert {evaluation.status for evaluation in there} == {Status.OK}
    assert (there[0].ending is Ending.LIVELOCK) == (name == "polls")


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
    ("name", "error"), [("begets", "longer than 1 s"), ("begets_and_eats", "MB of memory"), ("starts_others", "")]
)
def test_a_killed_worker_takes_with_it_what_it_has_started(name: str, error: str, setup: Setup, tmp_path: Path) -> None:
    limits = RunLimits(wall_seconds_max=1.0, memory_megabytes_max=400)
    with closing(ProcessExecutor(setup, workers=1, limits=limits)) as executor:
        (evaluation,) = told(executor, [Job(name, 0, TIMEOUT)])

    assert error in evaluation.error
    assert bool(error) == (evaluation.status is Status.ERROR)
    assert still_alive(tmp_path) == []


def still_alive(folder: Path, *, may_stay: int | None = None) -> list[int]:
    """Return the place of each process that a worker has named and that is not gone after a while, but of one."""
    pids = [int(pid) for pid in (folder / "started").read_text().split()]
    places = [place for place in range(len(pids)) if place != may_stay]
    deadline = monotonic() + 30.0
    while (left := [place for place in places if alive(pids[place])]) and monotonic() < deadline:
        threading.Event().wait(0.05)
    return left


STUDYING = """
import functools, sys
from pathlib import Path
from chaosagent.execution.process_pool import ProcessExecutor
from chaosagent.execution.workbench import Job, load_workbench
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
        deadline = monotonic() + 60.0
        while not (tmp_path / "started").exists() and monotonic() < deadline:
            threading.Event().wait(0.05)
        threading.Event().wait(0.3)  # the endless expression has begun
        studying.kill()
    left = still_alive(tmp_path, may_stay=3)  # what is in a session of its own cannot be found any more
    for pid in (tmp_path / "started").read_text().split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)

    assert left == []


def test_a_second_process_that_dies_is_replaced_by_one_with_the_same_other_hash_seed(
    setup: Setup, tmp_path: Path
) -> None:
    with closing(open_elsewhere(setup)) as elsewhere:
        told(elsewhere, [Job("tells_hash_seed", 0, TIMEOUT)])

    other = "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"
    assert (tmp_path / "hash_seeds").read_text().split() == [other] * DEATHS_MAX


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_run_whose_worker_is_killed_from_outside_is_run_again(setup: Setup, tmp_path: Path) -> None:
    jobs = [Job("waits", 0, TIMEOUT), *HARMLESS]

    def kill_one() -> None:
        deadline = monotonic() + 60.0
        while not (tmp_path / "begun").exists() and monotonic() < deadline:
            threading.Event().wait(0.01)
        for process in multiprocessing.active_children():
            os.kill(process.pid or 0, signal.SIGKILL)

    with closing(ProcessExecutor(setup, workers=2)) as executor:
        killer = threading.Thread(target=kill_one)
        killer.start()
        there = told(executor, jobs)
        killer.join()

    assert executor.replaced == 2
    assert len((tmp_path / "begun").read_text()) == 2
    assert there == told(InlineExecutor(setup()), jobs)


def test_runs_that_wait_behind_a_long_one_are_given_to_others(setup: Setup) -> None:
    with closing(ProcessExecutor(setup, workers=2, limits=RunLimits(wall_seconds_max=8.0))) as executor:
        told(executor, HARMLESS * 5)  # short ones: now much is given ahead
        jobs = [Job("spins", 0, TIMEOUT), *HARMLESS]
        for ticket, job in enumerate(jobs):
            executor.submit(ticket, job)
        others = [executor.next_finished() for _ in HARMLESS]
        last = executor.next_finished()

    assert sorted(ticket for ticket, _ in others) == list(range(1, len(jobs)))
    assert STALL_SECONDS < 1.0  # after so long
    assert (last.ticket, last.evaluation.status) == (0, Status.ERROR)


def test_what_no_worker_has_begun_can_be_dropped(setup: Setup) -> None:
    with closing(ProcessExecutor(setup, workers=1)) as executor:
        told(executor, HARMLESS)
        executor.submit(0, Job("waits", 0, TIMEOUT))
        for ticket, job in enumerate(HARMLESS * 5, start=1):
            executor.submit(ticket, job)
        executor.drop_waiting()
        executor.submit(1_000, Job("fine", 0, EMPTY))
        came: list[int] = []
        while 1_000 not in came:
            came.append(executor.next_finished().ticket)

    assert came in ([0, 1_000], [1_000])


def test_a_run_that_was_dropped_too_late_is_not_held_against_the_next(setup: Setup) -> None:
    with closing(ProcessExecutor(setup, workers=1, limits=RunLimits(wall_seconds_max=2.0))) as executor:
        told(executor, HARMLESS)  # short ones: now much is given ahead
        for ticket, job in enumerate([HARMLESS[0], Job("waits", 0, TIMEOUT), Job("spins", 0, TIMEOUT)]):
            executor.submit(ticket, job)
        came = {executor.next_finished().ticket}
        threading.Event().wait(1.3)  # the worker is at the last one, and nobody has heard its answer before that
        executor.drop_waiting()
        executor.submit(1_000, HARMLESS[1])
        last = executor.next_finished()
        while last.ticket != 1_000:
            came.add(last.ticket)
            last = executor.next_finished()

    assert came <= {0, 1}
    assert last.evaluation == setup().evaluate(HARMLESS[1])
    assert executor.replaced == 1


def test_workers_go_when_the_study_is_interrupted_in_the_middle_of_a_message(setup: Setup) -> None:
    with closing(ProcessExecutor(setup, workers=2)) as executor:
        told(executor, HARMLESS)
        before = {process.pid for process in multiprocessing.active_children()}
        executor.submit(0, Job("waits", 0, TIMEOUT))
        interrupt = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        interrupt.start()
        with pytest.raises(KeyboardInterrupt):
            executor.next_finished()
        executor.drop_waiting()
        afterwards = told(executor, HARMLESS)
        after = {process.pid for process in multiprocessing.active_children()}

    assert afterwards == told(InlineExecutor(setup()), HARMLESS)
    assert not before & after


ENDS_WHEN_IDLE = """
import multiprocessing, os, threading
from pathlib import Path
from chaosagent import Outcome, target

HOLDER = Path(__file__).parent / "holder"

def end_when_idle():
    while not HOLDER.exists():
        threading.Event().wait(0.02)
    threading.Event().wait(0.3)
    if HOLDER.read_text() != str(os.getpid()):
        os._exit(9)

if multiprocessing.parent_process() is not None:
    threading.Thread(target=end_when_idle, daemon=True).start()

@target
async def holding(task, run):
    HOLDER.write_text(str(os.getpid()))
    threading.Event().wait(20.0)
    return Outcome("done", success=True)
"""


def test_workers_that_end_while_they_have_nothing_to_do_are_not_replaced_for_ever(tmp_path: Path) -> None:
    (tmp_path / "holding.py").write_text(ENDS_WHEN_IDLE)
    setup = functools.partial(load_workbench, "holding.py:holding", "default", SPECS, folder=tmp_path)
    with (
        closing(ProcessExecutor(setup, workers=2)) as executor,
        pytest.raises(StudyError, match=r"worker processes end while they have nothing to do: .* exit code 9"),
    ):
        told(executor, [Job("default", 0, EMPTY)])

    assert executor.replaced == STARTS_MAX


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
    assert evaluation.error == "the target has ended the program with sys.exit(0). Let it return."
    assert executor.replaced == 0


def test_a_target_that_is_over_the_limit_before_it_runs_is_told_at_once(setup: Setup) -> None:
    with (
        closing(ProcessExecutor(setup, workers=1, limits=RunLimits(memory_megabytes_max=5))) as executor,
        pytest.raises(StudyError, match=r"worker processes end before they are ready: the worker process used \d+ MB"),
    ):
        told(executor, HARMLESS)

"""A watched run tells which calls of the user's code ask for the real time or other chance, and where."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import random
import secrets
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from time import monotonic as imported_monotonic
from time import time as imported_time
from typing import Any

import pytest

import chaosagent
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.execution.hidden_state.chance_watch import watch_chance
from chaosagent.execution.workers.workbench import Job, Workbench
from chaosagent.faults.chance_read import Chance, ChanceRead
from chaosagent.faults.schedule import EMPTY
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task

KEPT = random.Random(3)


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collect no garbage: callbacks of others, such as Hypothesis's, read the clock within the code that is watched."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def reads_of(code: Callable[[Run], object], *, watched: bool = True) -> list[ChanceRead]:
    @target(name="reader", tasks=[Task("read")])
    async def agent(task: Task, run: Run) -> Outcome:
        del task
        clock = run.service("clock", {"ask": lambda: 1})
        await clock("ask")
        await run.clock.sleep(1)
        code(run)
        return Outcome("done", success=True)

    bench = Workbench(agent, agent.config("default"), tuple(default_contracts()))
    with no_garbage_collection():
        return list(bench.execute(Job("read", 0, EMPTY, watched=watched)).evaluation.reads)


def formatted_now() -> str:
    return time.strftime("%Y")


def stamp() -> float:
    return imported_time()


def in_a_thread() -> None:
    thread = threading.Thread(target=stamp)
    thread.start()
    thread.join()


@pytest.mark.parametrize(
    ("code", "call", "place"),
    [
        (time.time, "time.time()", "<lambda>"),
        (time.time_ns, "time.time_ns()", "<lambda>"),
        (time.monotonic, "time.monotonic()", "<lambda>"),
        (time.monotonic_ns, "time.monotonic_ns()", "<lambda>"),
        (time.perf_counter, "time.perf_counter()", "<lambda>"),
        (time.perf_counter_ns, "time.perf_counter_ns()", "<lambda>"),
        (time.process_time, "time.process_time()", "<lambda>"),
        (time.process_time_ns, "time.process_time_ns()", "<lambda>"),
        (time.thread_time, "time.thread_time()", "<lambda>"),
        (time.thread_time_ns, "time.thread_time_ns()", "<lambda>"),
        (time.gmtime, "time.gmtime()", "<lambda>"),
        (time.ctime, "time.ctime()", "<lambda>"),
        (datetime.utcnow, "datetime.utcnow()", "<lambda>"),
        (stamp, "time.time()", "stamp"),
        (in_a_thread, "time.time()", "stamp"),
        (formatted_now, "time.strftime()", "formatted_now"),
    ],
)
def test_a_read_of_a_clock_is_noted_with_its_place(code: Callable[[], object], call: str, place: str) -> None:
    (read,) = reads_of(lambda run: code())

    assert (read.chance, read.call, read.package) == (Chance.REAL_TIME, call, "")
    assert read.place.startswith("test_chance_watch.py:")
    assert read.place.endswith(f" in {place}")


@pytest.mark.parametrize(
    ("code", "chance", "call"),
    [
        (lambda run: datetime.now(), Chance.REAL_TIME, "datetime.now()"),
        (lambda run: datetime.now(UTC), Chance.REAL_TIME, "datetime.now()"),
        (lambda run: date.today(), Chance.REAL_TIME, "date.today()"),
        (lambda run: time.localtime(), Chance.REAL_TIME, "time.localtime()"),
        (lambda run: uuid.uuid4(), Chance.RANDOM, "uuid.uuid4()"),
        (lambda run: uuid.uuid1(), Chance.REAL_TIME, "uuid.uuid1()"),
        (lambda run: os.urandom(4), Chance.RANDOM, "os.urandom()"),
        (lambda run: os.times(), Chance.REAL_TIME, "os.times()"),
        (lambda run: random.SystemRandom().random(), Chance.RANDOM, "random.random()"),
        (lambda run: random.SystemRandom().randrange(9), Chance.RANDOM, "random.randrange()"),
        (lambda run: random.SystemRandom().choice("ab"), Chance.RANDOM, "random.choice()"),
        (lambda run: secrets.randbelow(4), Chance.RANDOM, "secrets.randbelow()"),
        (lambda run: secrets.choice("ab"), Chance.RANDOM, "random.choice()"),
        (lambda run: secrets.token_hex(4), Chance.RANDOM, "secrets.token_hex()"),
        (lambda run: random.random(), Chance.RANDOM, "random.random()"),
        (lambda run: random.choice("ab"), Chance.RANDOM, "random.choice()"),
        (
            lambda run: random.Random().random(),
            Chance.RANDOM,
            "random() of a generator that was not seeded in this run",
        ),
        (lambda run: KEPT.random(), Chance.RANDOM, "random() of a generator that was not seeded in this run"),
        (lambda run: id(run), Chance.ADDRESS, "id()"),
    ],
)
def test_other_chance_is_noted_by_its_name(code: Callable[[Run], object], chance: Chance, call: str) -> None:
    (read,) = reads_of(code)

    assert (read.chance, read.call) == (chance, call)


def _seeded(run: Run) -> None:
    del run
    before = random.getstate()
    random.seed(4)
    random.random()
    random.setstate(before)


@pytest.mark.parametrize(
    "code",
    [
        lambda run: run.clock.now(),
        lambda run: run.rng("a").random(),
        lambda run: random.Random(5).choice("ab"),
        _seeded,
        lambda run: time.localtime(5),
        lambda run: time.strftime("%Y", time.gmtime(5)),
        lambda run: datetime.fromtimestamp(5, UTC),
        lambda run: logging.getLogger("a").warning("x"),
    ],
)
def test_what_repeats_is_not_noted(code: Callable[[Run], object]) -> None:
    assert reads_of(code) == []


def _pinned(run: Run) -> None:
    with chaosagent.deterministic(run):
        time.time()
        stamp()
        time.monotonic()
        time.perf_counter_ns()
        datetime.now(UTC)
        random.random()
        uuid.uuid4()
        uuid.uuid1()
        os.urandom(3)
        secrets.token_hex(3)
        tempfile.mkdtemp()


def test_what_is_pinned_is_not_noted() -> None:
    assert reads_of(_pinned) == []


def test_a_clock_that_was_taken_before_it_was_pinned_is_noted() -> None:
    def code(run: Run) -> None:
        with chaosagent.deterministic(run):
            imported_monotonic()

    assert [read.call for read in reads_of(code)] == ["time.monotonic()"]


def test_a_run_that_is_not_watched_notes_nothing() -> None:
    assert reads_of(lambda run: time.time(), watched=False) == []


def installed(folder: object, module: str) -> Callable[[], float]:
    """Return a function that reads the clock in an installed package."""
    file = f"{folder}/site-packages/stamps/clock.py"
    namespace: dict[str, Any] = {"__name__": module}
    exec(compile("import time\ndef stamp():\n    return time.time()\n", file, "exec"), namespace)
    stamped: Callable[[], float] = namespace["stamp"]
    return stamped


def test_what_an_installed_package_reads_is_told_apart(tmp_path: Path) -> None:
    code = installed(tmp_path, "stamps.clock")
    (read,) = reads_of(lambda run: code())

    assert (read.package, read.place) == ("stamps", "clock.py:3 in stamp")


def test_what_the_package_of_the_target_reads_is_its_own(tmp_path: Path) -> None:
    code = installed(tmp_path, f"{__name__.partition('.')[0]}.clock")
    (read,) = reads_of(lambda run: code())

    assert (read.package, read.place) == ("", "clock.py:3 in stamp")


def test_a_profiler_of_somebody_else_is_left_alone() -> None:
    def theirs(*_: object) -> None: ...

    sys.setprofile(theirs)
    try:
        with watch_chance() as reads:
            time.time()
        assert sys.getprofile() is theirs
    finally:
        sys.setprofile(None)
    assert reads == []

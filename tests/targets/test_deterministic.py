"""What a target takes straight from Python is pinned to its run, and left alone outside of it."""

# ruff: noqa: TID251  # what is banned elsewhere is what is tested
from __future__ import annotations

import asyncio
import datetime
import os
import random
import secrets
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from chaosagent import UntracedRun, deterministic
from chaosagent.canonical import Plain
from chaosagent.errors import UsageError
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.faults.schedule import EMPTY
from chaosagent.targets.deterministic import pinned_temporary_files
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, SystemConfig, Task


def _drawn() -> dict[str, Plain]:
    return {
        "random": random.random(),
        "urandom": os.urandom(8).hex(),
        "token": secrets.token_hex(8),
        "uuid4": str(uuid.uuid4()),
        "uuid1": str(uuid.uuid1()),
        "time": time.time(),
        "now": datetime.datetime.now(datetime.UTC).isoformat(),
        "monotonic": time.monotonic(),
        "shuffled": random.sample(range(10), 10),
        "own generator": random.Random().random(),
        "unseeded": _unseeded(),
        "local": datetime.datetime.now().isoformat(),  # noqa: DTZ005  # what is careless is tested
        "told": f"{time.ctime()} {time.asctime()} {time.ctime(0)}",
        "processor": [time.process_time(), time.thread_time_ns(), time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)],
        "by number": [time.clock_gettime(time.CLOCK_REALTIME), time.clock_gettime_ns(time.CLOCK_MONOTONIC)],
        "temporary": [_made_file(), tempfile.mkdtemp(), tempfile.gettempdir()],  # and left behind
    }


def _made_file() -> str:
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        return file.name


def _unseeded() -> float:
    random.seed()
    return random.random()


@target
async def careless(_: Task, run: Run) -> Outcome:
    """Take everything straight from Python, and wait."""
    with deterministic(run):
        state: list[Plain] = [_drawn()]
        await asyncio.sleep(90)
        state.append(_drawn())
        assert await run.service("bank", {"pay": lambda key: key})("pay", key=str(uuid.uuid4()))
    return Outcome("done", success=True, state=state)


def _executed(system: Target, seed: int = 1) -> Execution:
    return execute(Experiment(system, system.task("default"), SystemConfig(), seed), EMPTY)


def _state(seed: int = 1) -> Any:
    return _executed(careless, seed).trace.outcome.state


def test_equal_runs_draw_the_same() -> None:
    assert _state() == _state()
    assert _executed(careless).trace.digest == _executed(careless).trace.digest


def test_other_seeds_draw_something_else() -> None:
    first, second = _state(1)[0], _state(2)[0]

    kinds = ("random", "urandom", "token", "uuid4", "shuffled", "own generator", "unseeded")
    assert all(first[kind] != second[kind] for kind in kinds)
    for one, other in zip(first["temporary"], second["temporary"], strict=True):
        assert one != other


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Have temporary files in a folder of the test's own: other processes have runs of the same seed, too."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return str(tmp_path)


def test_temporary_files_are_gone_afterwards_and_their_folder_is_the_usual_one_again(own_folder: str) -> None:
    usual = tempfile.gettempdir()

    name, folder, system = _state()[0]["temporary"]

    assert usual == own_folder
    assert Path(name).parent == Path(folder).parent == Path(system) != Path(usual)
    assert not Path(folder).exists()
    assert not Path(system).exists()
    assert tempfile.gettempdir() == usual
    assert Path(tempfile.mktemp()).name != Path(name).name


@pytest.mark.slow
def test_a_run_that_wants_temporary_files_waits_for_another_one_of_its_seed(own_folder: str) -> None:
    environment = {**os.environ, "TMPDIR": own_folder}
    with pinned_temporary_files(1):
        held = tempfile.mkdtemp()
        waiting = subprocess.Popen(
            [sys.executable, "-c", TEMPORARY], env=environment, stdout=subprocess.PIPE, text=True
        )
        assert waiting.stdout is not None
        assert waiting.stdout.readline().strip() == "asks"
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(0.2)
    told, _ = waiting.communicate(timeout=60)

    assert told.strip() == held
    assert waiting.returncode == 0


def test_temporary_files_are_pinned_once_where_blocks_stand_within_each_other() -> None:
    with pinned_temporary_files(1), pinned_temporary_files(2):
        inner = tempfile.mkdtemp()

    with pinned_temporary_files(1):
        assert tempfile.mkdtemp() == inner


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f"chaosagent-{os.getuid()}").symlink_to(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    with pinned_temporary_files(1), pytest.raises(UsageError, match="belongs to somebody else"):
        tempfile.mkdtemp()


def test_what_is_seeded_by_the_target_is_as_everywhere() -> None:
    def drawn() -> list[Plain]:
        random.seed("s", version=2)
        return [random.random(), random.Random(7).random(), random.Random("x").random()]

    @target
    async def agent(_: Task, run: Run) -> Outcome:
        with deterministic(run):
            return Outcome("done", success=True, state=drawn())

    assert _executed(agent).trace.outcome.state == drawn()


def test_the_time_goes_on_with_the_clock_of_the_run() -> None:
    before, after = _state()

    assert before["now"] == "2026-01-01T00:00:00+00:00"
    assert after["now"] == "2026-01-01T00:01:30+00:00"
    assert after["time"] - before["time"] == after["monotonic"] - before["monotonic"] == 90.0
    assert after["told"] == "Thu Jan  1 00:01:30 2026 Thu Jan  1 00:01:30 2026 Thu Jan  1 00:00:00 1970"
    assert after["processor"] == [0.0, 0, 0.0]
    assert after["by number"] == [after["time"], 90_000_000_000 + round(before["monotonic"] * 1e9)]


def test_a_clock_that_there_is_not_is_refused_as_ever() -> None:
    @target
    async def agent(_: Task, run: Run) -> Outcome:
        with deterministic(run), pytest.raises(OSError, match="Invalid argument"):
            time.clock_gettime(1_000)
        return Outcome("done", success=True)

    assert _executed(agent).trace.outcome.success


def test_outside_everything_is_as_it_was() -> None:
    known = (os.urandom, time.time, time.monotonic, random.random, random.seed, random.Random.seed, uuid.getnode)
    zone = (os.environ.get("TZ"), time.tzname)
    random.seed(7)
    expected = random.random()
    random.seed(7)

    _executed(careless)

    assert known == (
        os.urandom,
        time.time,
        time.monotonic,
        random.random,
        random.seed,
        random.Random.seed,
        uuid.getnode,
    )
    assert zone == (os.environ.get("TZ"), time.tzname)
    assert random.random() == expected
    assert abs(time.time() - datetime.datetime.now(datetime.UTC).timestamp()) < 60
    assert os.urandom(8) != os.urandom(8)


def test_a_run_that_crashes_leaves_nothing_behind() -> None:
    @target
    async def crashing(_: Task, run: Run) -> Outcome:
        with deterministic(run):
            raise RuntimeError("oh")

    before = (os.urandom, time.monotonic)
    _executed(crashing)

    assert before == (os.urandom, time.monotonic)
    assert time.time() > 1_767_225_600 + 86_400


def test_a_run_outside_a_study_is_left_alone() -> None:
    with deterministic(UntracedRun(Task("default"))):
        assert os.urandom(8) != os.urandom(8)
        assert abs(time.time() - datetime.datetime.now(datetime.UTC).timestamp()) < 60


def test_in_real_time_only_what_is_drawn_is_pinned() -> None:
    @target(clock="wall")
    async def agent(_: Task, run: Run) -> Outcome:
        with deterministic(run):
            begun = time.monotonic()
            await asyncio.sleep(0.01)
            return Outcome(str(uuid.uuid4()), success=time.monotonic() > begun)

    first, second = _executed(agent).trace.outcome, _executed(agent).trace.outcome

    assert first.success
    assert first.message == second.message


TEMPORARY = (
    "import tempfile; from chaosagent.targets.deterministic import pinned_temporary_files as pinned\n"
    "with pinned(1): print('asks', flush=True); print(tempfile.mkdtemp())"
)
HERE = (
    "import importlib.util, sys; spec = importlib.util.spec_from_file_location('here', sys.argv[1])\n"
    "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)\n"
    "print(module._executed(module.careless).trace.digest)"
)


@pytest.mark.parametrize(("hash_seed", "zone"), [("0", "UTC0"), ("7", "CET-1"), ("7", "EST5EDT")])
def test_another_process_draws_the_same_wherever_it_is(hash_seed: str, zone: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": zone}
    printed = subprocess.run(
        [sys.executable, "-c", HERE, __file__], env=environment, capture_output=True, text=True, check=True
    )

    assert printed.stdout.strip() == str(_executed(careless).trace.digest)

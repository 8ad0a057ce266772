"""A study that was ended in whatever way goes on to the same result."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from chaosagent.clock import monotonic
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.errors import StoredDataError, StudyError, UsageError
from chaosagent.execution.workers.executor import Finished, InlineExecutor
from chaosagent.execution.workers.process_pool import ProcessExecutor
from chaosagent.execution.workers.workbench import Job, Workbench, load_workbench
from chaosagent.faults.evaluation import Evaluation, Fingerprinting
from chaosagent.faults.evaluation_codec import decode_evaluation, encode_evaluation
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.limits import StudyLimits
from chaosagent.searchers import entries
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyResult
from chaosagent.study.sink import Sink
from chaosagent.study.store import facts
from chaosagent.study.store.committer import COMMIT_SECONDS
from chaosagent.study.store.files import FILE_NAME
from chaosagent.study.store.study_store import StudyStore
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial
from chaosagent.targets.loading import load_target
from chaosagent.vocabulary import Ending
from tests.thorough import IS_THOROUGH, part_of

SPECS = tuple(contract.id for contract in default_contracts())
bench = functools.partial(load_workbench, "refund", "naive", SPECS)


def plan() -> Plan:
    found = load_target("refund")
    return Plan(
        target=found,
        target_reference="refund",
        config=found.config("naive"),
        tasks=tuple(found.tasks.values()),
        seeds=(0, 1, 2),
        contracts=default_contracts(),
        space=Space(
            (Choices("service.lost_response", {}), Choices("service.timeout", {}), Choices("service.delay", {}))
        ),
        budget=3.3,
    )


def essence(result: StudyResult) -> list[object]:
    return [
        result.digest,
        result.trials,
        result.executions,
        [(str(search.certificate), search.counterexample and search.counterexample.id) for search in result.searches],
    ]


@pytest.mark.parametrize(
    "schedule",
    ["", "service:payments[1]@support timeout(when=after)", "service:tokens[1] lost_response; service:orders[1] delay"],
)
def test_an_evaluation_is_read_back_as_it_was(schedule: str) -> None:
    evaluation = bench().evaluate(Job("late-parcel", 0, parse(schedule), Fingerprinting.STATE_AND_HISTORY))

    assert decode_evaluation(encode_evaluation(evaluation)) == evaluation


def test_how_and_where_a_run_crashed_is_read_back() -> None:
    evaluation = Evaluation(EMPTY, ending=Ending.CRASHED, detail="KeyError: 'id'", crashed_at="agent.py:3 in pay")

    read = decode_evaluation(encode_evaluation(evaluation))

    assert (read.detail, read.crashed_at) == ("KeyError: 'id'", "agent.py:3 in pay")


def test_a_store_of_another_format_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(facts, "version_of_store", lambda: "0.0.9, store format 8")
        StudyStore.create(tmp_path, plan(), "").close()

    with pytest.raises(
        StoredDataError,
        match=r"holds a study of chaosagent 0\.0\.9, store format 8; this is .*, store format 7.* to search anew",
    ):
        StudyStore.resume(tmp_path, plan())


def test_a_store_without_checksums_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        connection.execute("CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        connection.execute("INSERT INTO study VALUES ('chaosagent', '0.1.0, store format 2')")
        connection.commit()

    with pytest.raises(
        StoredDataError, match=r"chaosagent 0\.1\.0, store format 2; this is .*, store format 7.* to search anew"
    ):
        StudyStore.resume(tmp_path, plan())


def test_a_second_process_is_refused_with_the_holder(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path, plan(), "")

    with pytest.raises(StudyError, match=rf"is in use by process {os.getpid()} on .* Wait for it"):
        StudyStore.resume(tmp_path, plan())

    store.close()
    StudyStore.resume(tmp_path, plan()).close()


def test_there_must_be_something_to_go_on_with(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no study to go on with\. Leave --resume out"):
        StudyStore.resume(tmp_path, plan())


SLOW = """
import threading
from dataclasses import replace
from chaosagent.targets.loading import load_target

fast = load_target("refund")

async def run(task, run):
    threading.Event().wait(0.01)
    return await fast.run(task, run)

slow = replace(fast, run=run)
"""
CHILD = """
import runpy
from pathlib import Path
if __name__ == "__main__":
    tests = runpy.run_path({file!r})
    tests["run_in_processes"](Path({folder!r}), lambda _: [tests["Held"]({executions})])
"""
KILLS = part_of(20)
SECONDS_MAX = 60.0
TRIALS = """
SELECT task, seed, contract, number, purpose, schedule, landed, status, digest, ending, steps, verdict, margin
FROM trial JOIN run USING (task, seed) WHERE run.id = trial.execution
ORDER BY task, seed, contract, number
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slow.py").write_text(SLOW)
    return tmp_path / "out"


def run_in_processes(folder: Path, sinks: Callable[[ProcessExecutor], Sequence[Sink]] = lambda _: ()) -> StudyResult:
    """Begin a study of a slow target in a folder, or go on with it, with two worker processes."""
    setup = functools.partial(load_workbench, "slow.py:slow", "naive", SPECS, folder=folder.parent)
    doing = replace(plan(), target=load_target("slow.py:slow", folder=folder.parent))
    begun = (folder / FILE_NAME).exists()
    store = StudyStore.resume(folder, doing) if begun else StudyStore.create(folder, doing, "")
    with contextlib.closing(ProcessExecutor(setup, workers=2)) as pool:
        result = Study(doing, pool, sinks=[store, *sinks(pool)], earlier=store.earlier()).run()
    store.close(result.digest)
    return result


class Held(Sink):
    """Holds a study up once so many runs have come back, so that it is still at work when it is killed."""

    def __init__(self, executions: int) -> None:
        self._left = executions

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        del at, evaluation
        self._left -= 1
        if not self._left:
            threading.Event().wait(10 * SECONDS_MAX)


def begun_elsewhere(folder: Path, held_at: int) -> subprocess.Popen[bytes]:
    """Begin a study in another process, or go on with it, up to so many runs."""
    return subprocess.Popen([sys.executable, "-c", CHILD.format(file=__file__, folder=str(folder), executions=held_at)])


def executions_in(folder: Path) -> int:
    """How many runs are on disk, as another process sees it."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{folder / FILE_NAME}?mode=ro", uri=True)) as database:
            (count,) = database.execute("SELECT count(*) FROM execution").fetchone()
            return int(count)
    except sqlite3.OperationalError:
        return 0  # it is being made


def workers_of(pid: int) -> list[int]:
    """The worker processes of a study; what Python itself has started beside them is no worker."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if "spawn_main" in fact_of(int(child), "cmdline")]


def fact_of(pid: int, name: str) -> str:
    """What the system says of a process; nothing when it has gone, or goes while it is read."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended does not, though nobody has waited for it."""
    return fact_of(pid, "stat").rpartition(")")[2].split()[:1] not in ([], ["Z"], ["X"])


def kill_after(folder: Path, executions: int, seconds: float, *, held_at: int, workers_too: bool) -> bool:
    """Go on with a study in another process, and kill that when so many runs are on disk and some time has passed.

    Returns whether it was still at work.
    """
    child = begun_elsewhere(folder, held_at)
    while executions_in(folder) < executions and child.poll() is None:
        threading.Event().wait(0.02)
    threading.Event().wait(seconds)
    workers = workers_of(child.pid) if workers_too and child.poll() is None else []
    for pid in (child.pid, *workers):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return child.wait() == -signal.SIGKILL


@functools.cache
def uninterrupted(at: Path) -> tuple[list[object], list[object]]:
    """What the study finds when nobody disturbs it, with fast runs in this process."""
    doing = plan()
    store = StudyStore.create(at, doing, "")
    result = Study(doing, InlineExecutor(bench()), sinks=[store]).run()
    store.close(result.digest)
    return essence(result), stored(at)


def stored(folder: Path) -> list[object]:
    """What stands in a folder; sound, and each trial once."""
    with contextlib.closing(sqlite3.connect(folder / FILE_NAME)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        runs = "SELECT task, seed, schedule, status, digest FROM run ORDER BY task, seed, schedule"
        searches = [row[:-1] for row in database.execute("SELECT * FROM search")]  # their checksums are of one file
        return [database.execute(TRIALS).fetchall(), searches, database.execute(runs).fetchall()]


@pytest.mark.slow
def test_a_study_killed_at_many_moments_ends_with_the_same_result(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    expected, expected_rows = uninterrupted(tmp_path_factory.mktemp("uninterrupted"))
    rng = random.Random(20)
    count = int(str(expected[2]))
    for kill, executions in enumerate(sorted(rng.sample(range(count - 20), KILLS))):
        before = executions_in(folder)
        seconds = rng.uniform(0.0, 0.5)
        assert kill_after(folder, executions, seconds, held_at=count - 10, workers_too=kill % 2 == 1)
        assert executions_in(folder) >= max(before, executions)

    resumed = run_in_processes(folder)

    assert essence(resumed) == expected
    assert stored(folder) == expected_rows


class Killer(Sink):
    """Kills a worker, any of them, some time after so many runs have come back.

    One that has not told anything yet is spared: it may have been given a run that was killed before, and the run that
    is killed three times counts as the killer of its workers.
    """

    def __init__(self, pool: ProcessExecutor, moments: list[int], rng: random.Random) -> None:
        self._pool, self._moments, self._rng, self._count = pool, sorted(moments), rng, 0
        self._timers: list[threading.Timer] = []
        self.killed: list[int] = []

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        del at, evaluation
        self._count += 1
        if self._moments and self._count >= self._moments[0]:
            del self._moments[0]
            self._let_kill()
            self._timers.append(threading.Timer(self._rng.uniform(0.0, 0.05), self._kill, [self._rng.random()]))
            self._timers[-1].start()

    def search_over(self, result: SearchResult) -> None:
        del result
        self._let_kill()  # before the workers end by themselves

    def _let_kill(self) -> None:
        for timer in self._timers:
            timer.join()

    def _kill(self, which: float) -> None:
        pids = [worker.pid for worker in list(self._pool._workers) if worker.answered]
        if pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pids[int(which * len(pids))], signal.SIGKILL)
                self.killed.append(pids[int(which * len(pids))])


@pytest.mark.slow
def test_a_study_whose_workers_are_killed_at_many_moments_ends_with_the_same_result(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    expected, expected_rows = uninterrupted(tmp_path_factory.mktemp("uninterrupted"))
    rng = random.Random(21)
    moments = rng.sample(range(int(str(expected[2]))), KILLS)
    killers: list[Killer] = []

    def killer_of(pool: ProcessExecutor) -> list[Killer]:
        killers.append(Killer(pool, moments, rng))
        return killers

    result = run_in_processes(folder, killer_of)

    assert killers[0].killed
    assert essence(result) == expected
    assert stored(folder) == expected_rows


class Impatient(Sink):
    """Interrupts a study in the middle."""

    def __init__(self, trials: int) -> None:
        self._left = trials

    def trial(self, at: TaskSeed, contract: str, trial: Trial) -> None:
        del at, contract, trial
        self._left -= 1
        if not self._left:
            raise KeyboardInterrupt


def test_an_interrupted_study_tells_how_many_runs_of_an_earlier_session_it_did_not_come_to(tmp_path: Path) -> None:
    doing = replace(plan(), seeds=(0,), budget=1.1)
    store = StudyStore.create(tmp_path, doing, "")
    whole = Study(doing, InlineExecutor(bench()), sinks=[store]).run()
    store.close(whole.digest)
    store = StudyStore.resume(tmp_path, doing)

    earlier = replace(store.earlier(), finished={})  # as if none of the results could be used
    part = Study(doing, InlineExecutor(bench()), sinks=[store, Impatient(3)], earlier=earlier).run()
    store.close()

    assert whole.unused_earlier == 0
    assert part.interrupted
    assert part.unused_earlier > 0
    assert part.executions + part.unused_earlier == whole.executions


@pytest.mark.slow
@pytest.mark.parametrize("searcher", sorted(entries()))
def test_with_every_searcher_an_interrupted_study_ends_as_one_that_nobody_has_interrupted(
    searcher: str, tmp_path: Path
) -> None:
    doing = replace(
        plan(), seeds=(0,), budget=2.2, searcher=searcher, limits=StudyLimits(trials_max=150 if IS_THOROUGH else 25)
    )
    store = StudyStore.create(tmp_path / "whole", doing, "")
    whole = Study(doing, InlineExecutor(bench()), sinks=[store]).run()
    store.close(whole.digest)

    store = StudyStore.create(tmp_path / "parts", doing, "")
    result = Study(doing, InlineExecutor(bench()), sinks=[store, Impatient(5)]).run()
    store.close()
    for patience in (1, 10, 1_000_000):
        assert result.interrupted
        store = StudyStore.resume(tmp_path / "parts", doing)
        sinks = [store, Impatient(patience)]
        result = Study(doing, InlineExecutor(bench()), sinks=sinks, earlier=store.earlier()).run()
        store.close(*([] if result.interrupted else [result.digest]))

    assert essence(result) == essence(whole)
    assert stored(tmp_path / "parts") == stored(tmp_path / "whole")


@pytest.mark.slow
def test_what_an_interrupt_leaves_no_time_to_show_is_shown_after_the_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    doing = replace(plan(), seeds=(0, 1), budget=2.2)
    whole, interrupt_at = Study(doing, InlineExecutor(bench())).run(), 200

    def part(store: StudyStore, *, show_seconds: float) -> StudyResult:
        with monkeypatch.context() as patch:
            patch.setattr("chaosagent.study.loop.deadline.SHOW_SECONDS", show_seconds)
            earlier, sinks = store.earlier(), [store, Impatient(interrupt_at)]
            result = Study(doing, InlineExecutor(bench()), sinks=sinks, earlier=earlier).run()
        store.close()
        return result

    def shown() -> int:
        with contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as database:
            return int(database.execute("SELECT count(*) FROM counterexample").fetchone()[0])

    first = part(StudyStore.create(tmp_path, doing, ""), show_seconds=60.0)
    of_first = shown()
    second = part(StudyStore.resume(tmp_path, doing), show_seconds=-1.0)

    unshown = sum(search.unshown for search in second.searches)
    assert unshown > 1
    assert of_first == len(first.counterexamples) == len(second.counterexamples) + unshown
    assert shown() == of_first  # the second session came no further

    store = StudyStore.resume(tmp_path, doing)
    resumed = Study(doing, InlineExecutor(bench()), sinks=[store], earlier=store.earlier()).run()
    store.close(resumed.digest)
    assert essence(resumed) == essence(whole)
    assert not any(search.unshown for search in resumed.searches)


class OneLong(InlineExecutor):
    """Keeps one run back until nothing else can be done, and then until it is let go."""

    capacity = 100

    def __init__(self, workbench: Workbench) -> None:
        super().__init__(workbench)
        self.finished: set[Schedule] = set()
        self.stuck, self.let_go = threading.Event(), threading.Event()
        self._long: list[tuple[int, Job]] = []

    def submit(self, ticket: int, job: Job) -> None:
        if job.schedule != EMPTY and not self._long:
            self._long.append((ticket, job))
        else:
            super().submit(ticket, job)

    def next_finished(self) -> Finished:
        if not self._waiting:
            self.stuck.set()
            self.let_go.wait(2 * SECONDS_MAX)
            super().submit(*self._long[0])
        done = super().next_finished()
        self.finished.add(done.evaluation.schedule)  # repeats, which check that runs repeat, are not stored
        return done


@pytest.mark.slow
def test_a_run_is_soon_on_disk_although_an_earlier_one_takes_long(tmp_path: Path) -> None:
    doing = replace(plan(), seeds=(0,), budget=1.1, lookahead=16)
    store, executor = StudyStore.create(tmp_path / "out", doing, ""), OneLong(bench())
    seen: list[tuple[int, int]] = []

    def look() -> None:
        executor.stuck.wait(SECONDS_MAX)
        deadline, ended = monotonic() + SECONDS_MAX, len(executor.finished)
        while (stored := executions_in(tmp_path / "out")) < ended and monotonic() < deadline:
            threading.Event().wait(0.01)
        seen.append((stored, ended))
        executor.let_go.set()

    outside = threading.Thread(target=look)
    outside.start()
    result = Study(doing, executor, sinks=[store]).run()
    outside.join()
    store.close(result.digest)

    [(stored, ended)] = seen
    assert executor.stuck.is_set()
    assert COMMIT_SECONDS < 1.0
    assert stored >= ended > 1


@pytest.mark.slow
def test_workers_do_not_outlive_a_study_that_was_killed(folder: Path) -> None:
    child = begun_elsewhere(folder, held_at=5)
    try:
        while executions_in(folder) < 5 and child.poll() is None:
            threading.Event().wait(0.02)
        workers = workers_of(child.pid)
    finally:
        child.kill()
        child.wait()

    deadline = monotonic() + SECONDS_MAX
    while any(alive(pid) for pid in workers) and monotonic() < deadline:
        threading.Event().wait(0.02)

    assert len(workers) == 2
    assert not [pid for pid in workers if alive(pid)]

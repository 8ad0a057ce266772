"""A resumed study takes the results of finished tasks from its store: the same as if nobody had interrupted it."""

from __future__ import annotations

import functools
import itertools
import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import chaosagent
from chaosagent.api.session import Listeners, run_study
from chaosagent.api.study import study_file
from chaosagent.api.target_output import target_output_to_stderr
from chaosagent.report.findings import findings_page
from chaosagent.report.findings_json import findings_json
from chaosagent.study.loop import reporter
from chaosagent.study.loop import study as loop
from chaosagent.study.loop.search import Search
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyProgress, TaskResult
from chaosagent.study.sink import Sink
from chaosagent.study.store.files import FILE_NAME
from chaosagent.study.store.progress_file import read_progress
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial
from tests.thorough import only_thorough

TASKS = ("pays", "crashes", "reads", "asks")


@chaosagent.target(tasks=[chaosagent.Task(name, input={"order": name}) for name in TASKS])
async def desk(task: chaosagent.Task, run: chaosagent.Run) -> chaosagent.Outcome:
    """Pay, crash without a fault, read only, or end beyond a limit behind a fault, as the task says."""
    run.note("drawn", number=run.rng("number").random())  # so that seeds differ, and nothing is remarked of them
    shop = run.service("shop", {"look": lambda order: {"order": order, "by": ["a", {"b": 1}]}}, read_only=True)
    bank = run.service("bank", {"pay": lambda order: order}, effects={"pay": chaosagent.effect("order", kind="paid")})
    try:
        await shop("look", order=task.id)
    except TimeoutError:
        if task.id == "asks":
            run.inconclusive("nobody answers")
    except ConnectionError:
        await run.clock.sleep(700_000 if task.id == "asks" else 1)
    for _ in range(2 if task.id == "pays" else 0):
        try:
            await bank("pay", order=task.id)
            break
        except (TimeoutError, ConnectionError, chaosagent.StatusError):
            await run.clock.sleep(1)
    if task.id == "crashes":
        raise ValueError("not today")
    return chaosagent.Outcome("Done.", success=True, state={"by": [task.id, {"one": 1}]})


KINDS: dict[str, dict[str, Any]] = {
    "one": {},
    "all": {"search": {"all_minimal": True}},
    "cut": {"search": {"trials": 9}},
    "random": {"search": {"searcher": "random", "trials": 15}},
    "frozen": {"stochastic": True, "search": {"trials": 30}, "budget": 1.2},
}


def made(kind: str, **more: object) -> chaosagent.Study:
    terms: dict[str, Any] = {
        "budget": 2.2,
        "seeds": (0, 2**65),
        "contracts": ["at-most-once", "no-crash", "termination"],
        "operators": ["service.lost_response", "service.timeout", "service.delay"],
        **KINDS[kind],
        **more,
    }
    return chaosagent.Study(desk, **terms)


class Interrupt(Sink):
    """Interrupts a study at one of its events."""

    def __init__(self, event: int) -> None:
        self.left, self.over = event, set[str]()

    def _count(self) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt

    def trial(self, at: TaskSeed, contract: str, trial: Trial) -> None:
        del at, contract, trial
        self._count()

    def search_over(self, result: SearchResult) -> None:
        del result
        self._count()

    def task_over(self, result: TaskResult) -> None:
        self.over.add(result.task_id)
        self._count()


def session(study: chaosagent.Study, out: Path, *sinks: Sink, resume: bool = False) -> tuple[object, list[str]]:
    """Run a study and return all that it says, prints and writes, but for times and the name of its folder."""
    remarks: list[str] = []
    with target_output_to_stderr(descriptors=False) as printed:
        findings = run_study(study_file(study), out, Listeners(printed, remarks.append, sinks=sinks), resume=resume)
    told = findings_json(findings)
    told["seconds"], told["removed"] = 0.0, []  # what an interrupted study could not minimise is removed
    page = findings_page(findings, every=True).text()
    page = re.sub(r"[\d.]+ s \([\d,-]+ trials/s\)|\n.* of an earlier run removed: .*\n", "", page)
    records = {path.name: path.read_bytes().hex() for path in sorted((out / "replays").glob("*"))}
    return json.loads(json.dumps([told, page, records]).replace(str(out), "OUT")), remarks


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The tasks for which a search, and so a searcher, was made."""
    tasks: set[str] = set()

    def noted(plan: Plan, at: TaskSeed, *others: Any, **options: Any) -> Search:
        tasks.add(at.task_id)
        return Search(plan, at, *others, **options)

    monkeypatch.setattr(loop, "Search", noted)
    return tasks


@functools.cache
def whole(kind: str, folder: Path) -> tuple[object, int]:
    """What the study says that nobody interrupts, and how many events it has."""
    counter = Interrupt(0)
    told, _ = session(made(kind), folder / kind, counter)
    return told, -counter.left


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("whole")


@pytest.mark.parametrize("points", [3, pytest.param(8, marks=[pytest.mark.slow, only_thorough])])
@pytest.mark.parametrize("kind", KINDS)
def test_a_study_interrupted_anywhere_ends_as_one_that_was_not(
    kind: str, points: int, folder: Path, tmp_path: Path, searched: set[str]
) -> None:
    expected, events = whole(kind, folder)
    skipped = 0
    for event in range(1, events + 1, max(1, events // points)):
        out, stop = tmp_path / f"out{event}", Interrupt(event)
        session(made(kind), out, stop)
        searched.clear()

        told, remarks = session(made(kind), out, resume=True)

        assert told == expected, event
        assert not remarks
        assert searched.isdisjoint(stop.over), event
        skipped += len(set(TASKS) - searched)
    assert skipped


@pytest.mark.parametrize("kind", KINDS)
def test_a_finished_study_says_the_same_again_and_searches_nothing(
    kind: str, folder: Path, tmp_path: Path, searched: set[str]
) -> None:
    expected, _ = whole(kind, folder)
    out = tmp_path / "out"
    shutil.copytree(folder / kind, out)
    for record in (out / "replays").glob("*"):
        record.unlink()  # they are written from the store, too
    searched.clear()

    told, remarks = session(made(kind), out, resume=True)

    assert (told, remarks, searched) == (expected, [], set())
    assert read_progress(out).searches_over == len(TASKS) * 2 * 3
    assert chaosagent.load(out).digest == json.loads(json.dumps(expected))[0]["digest"]


@pytest.mark.parametrize(
    ("statement", "remark"),
    [
        ("UPDATE finished SET data = zeroblob(9) WHERE task = 'pays'", "task 'pays': its checksum does not match"),
        ("UPDATE finished SET task = 'payz' WHERE task = 'pays'", "task 'payz': its checksum does not match"),
        ("DELETE FROM finished WHERE task = 'pays'", "table finished: it has 3 rows, and had 4"),
        ("UPDATE trial SET verdict = 0", "table trial"),
    ],
)
def test_a_damaged_result_is_found_and_searched_again(
    statement: str, remark: str, folder: Path, tmp_path: Path, searched: set[str]
) -> None:
    expected, _ = whole("one", folder)
    out = tmp_path / "out"
    shutil.copytree(folder / "one", out)
    change(out, statement)
    searched.clear()

    told, remarks = session(made("one"), out, resume=True)

    assert told == expected
    assert searched == set(TASKS)
    [said] = remarks
    assert remark in said
    assert "runs are sound and kept, others are run again" in said
    searched.clear()
    assert session(made("one"), out, resume=True) == (expected, [])
    assert not searched


def change(out: Path, *statements: str) -> None:
    with closing(sqlite3.connect(out / FILE_NAME)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    "patched",
    [
        ("chaosagent.study.loop.finished_tasks.version", lambda: "0.0.9"),
        ("chaosagent.study.loop.finished_tasks.FORMAT", 2),
        ("chaosagent.report.notes.Notes.noted", Sink.noted),  # nothing is noted that this session wants to know
    ],
)
def test_a_result_of_another_version_is_searched_again(
    patched: tuple[str, object], folder: Path, tmp_path: Path, searched: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, _ = whole("one", folder)
    with monkeypatch.context() as patch:
        patch.setattr(*patched)
        session(made("one"), tmp_path)
    searched.clear()

    told, remarks = session(made("one"), tmp_path, resume=True)

    assert (told, remarks, searched) == (expected, [], set(TASKS))


@pytest.mark.parametrize("change_of", [{"search": {"trials": 40}}, {"run": {"steps": 1999}}, {"budget": 2.3}])
def test_the_results_of_another_plan_are_not_taken_over(
    change_of: dict[str, object], tmp_path: Path, searched: set[str]
) -> None:
    session(made("cut"), tmp_path / "out")
    if "run" in change_of:
        with pytest.raises(chaosagent.UsageError, match="another study"):
            session(made("cut", **change_of), tmp_path / "out", resume=True)
        return
    searched.clear()
    expected, _ = session(made("cut", **change_of), tmp_path / "new")

    told, _ = session(made("cut", **change_of), tmp_path / "out", resume=True)

    assert told == expected
    assert searched == set(TASKS)


def test_what_a_limit_of_time_has_ended_is_searched_on(folder: Path, tmp_path: Path, searched: set[str]) -> None:
    expected, _ = whole("one", folder)
    session(made("one", search={"seconds": 1e-9}), tmp_path)
    searched.clear()

    told, _ = session(made("one"), tmp_path, resume=True)

    assert told == expected
    assert searched == set(TASKS)


def test_missing_trials_are_noticed_though_the_study_was_killed(
    folder: Path, tmp_path: Path, searched: set[str]
) -> None:
    expected, _ = whole("one", folder)
    out = tmp_path / "out"
    shutil.copytree(folder / "one", out)
    keys = "SELECT task.task FROM (SELECT id AS task FROM name WHERE text = 'reads') AS task"
    change(out, f"DELETE FROM trial WHERE number = 1 AND task IN ({keys})", "DELETE FROM study WHERE key = 'counts'")
    forget_keys(out)
    searched.clear()

    told, remarks = session(made("one"), out, resume=True)

    assert (told, remarks, searched) == (expected, [], {"reads"})


def forget_keys(out: Path) -> None:
    """Let the list of facts in a store fit what is left of them."""
    from chaosagent.sqlite_file import Checksums

    with closing(sqlite3.connect(out / FILE_NAME)) as connection, connection:
        facts = dict(connection.execute("SELECT key, value FROM study WHERE key != 'keys'"))
        text = json.dumps(sorted(facts))
        checksum = Checksums(facts["id"]).of("study", ("keys", text))
        connection.execute("UPDATE study SET value = ?, checksum = ? WHERE key = 'keys'", (text, checksum))


ANSWERS = itertools.count()


@chaosagent.target(tasks=[chaosagent.Task("guess"), chaosagent.Task("guess again")])
async def guesser(task: chaosagent.Task, run: chaosagent.Run) -> chaosagent.Outcome:
    """Ask a model that never answers twice alike, and pay."""
    model = run.model("m", {"chat": lambda prompt: {"content": f"{prompt} {next(ANSWERS)}", "tool_calls": []}})
    bank = run.service("bank", {"pay": lambda order: order}, effects={"pay": chaosagent.effect("order", kind="paid")})
    await model("chat", prompt="how much?")
    await bank("pay", order=task.id)
    return chaosagent.Outcome("Done.", success=True)


def test_why_a_target_counts_as_stochastic_is_not_forgotten(tmp_path: Path, searched: set[str]) -> None:
    study = chaosagent.Study(guesser, budget=1.2, contracts=["no-crash"], operators=["service.delay"])
    told, _ = session(study, tmp_path)
    searched.clear()

    assert session(study, tmp_path, resume=True) == (told, [])
    assert not searched
    assert "task 'guess', seed 0: " in json.dumps(told)


class Watched(Sink):
    """Keeps the counts that a study reports."""

    def __init__(self) -> None:
        self.counts: list[tuple[int, int, int]] = []

    def progress(self, progress: StudyProgress) -> None:
        self.counts.append((progress.trials, progress.executions, progress.searches_over))


class AtFirstTask(Sink):
    """Interrupts a study when the first task is over."""

    def task_over(self, result: TaskResult) -> None:
        raise KeyboardInterrupt(result.task_id)


def test_a_resumed_study_never_reports_less_than_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporter, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(reporter, "SHARE_MAX", float("inf"))
    session(made("one"), tmp_path, AtFirstTask())
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        trials, runs, tasks = (
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("trial", "execution", "finished")
        )
    watched = Watched()

    session(made("one"), tmp_path, watched, resume=True)

    assert tasks == 1
    assert len(watched.counts) > 10
    assert watched.counts == sorted(watched.counts)
    assert watched.counts[0] >= (trials, runs, tasks * 6)


def test_an_interrupt_while_stored_runs_are_read_loses_nothing(folder: Path, tmp_path: Path) -> None:
    expected, events = whole("one", folder)
    session(made("one"), tmp_path, Interrupt(events - 8))

    class AtOnce(Sink):
        def progress(self, progress: StudyProgress) -> None:
            if progress.doing.startswith("reading"):
                raise KeyboardInterrupt

    def kept() -> list[object]:
        with closing(sqlite3.connect(tmp_path / FILE_NAME)) as store:
            rows = store.execute("SELECT task, seed, contract, trials, lower_bound, cost FROM search").fetchall()
            return [*sorted(rows), *store.execute("SELECT id FROM counterexample ORDER BY id")]

    before = kept()
    told, _ = session(made("one"), tmp_path, AtOnce(), resume=True)

    assert before
    assert kept() == before
    assert isinstance(told, list)
    assert told[0]["interrupted"]
    assert any(one["trials"] for one in told[0]["searches"])
    assert session(made("one"), tmp_path, resume=True)[0] == expected


@pytest.mark.slow
@pytest.mark.usefixtures("cold_repeats")
def test_repeats_in_other_processes_are_taken_over_and_counted(
    tmp_path: Path, searched: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, _ = session(made("one"), tmp_path)
    searched.clear()

    told, _ = session(made("one"), tmp_path, resume=True)

    assert told == expected
    assert "runs repeated in processes of their own" in json.dumps(told)
    assert not searched
    monkeypatch.setattr("chaosagent.api.session._processes_for", lambda *_: None)
    session(made("one"), tmp_path, resume=True)
    assert searched == set(TASKS)  # without such repeats less is known

"""`chaosagent status` says how far a study is, and leaves it alone."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from chaosagent.cli.main import main
from chaosagent.clock import pause
from chaosagent.report.status_page import BAR, bar
from chaosagent.study.store.lock import LOCK_NAME, lock_folder
from chaosagent.study.store.progress_file import NAME, ProgressFile, Snapshot, State, read_progress

STUDY = """
target: triage
tasks: [refund-damaged, missing-parcel]
contracts: [at-most-once, no-leak]
operators: [service.timeout, service.lost_response]
budget: 2.3
search: {trials: 40}
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a study that has ended."""
    folder = tmp_path_factory.mktemp("status")
    (folder / "small.yaml").write_text(STUDY, encoding="utf-8")
    assert main(["search", str(folder / "small.yaml"), "--out", str(folder / "out")]) in (0, 1, 3)
    return folder / "out"


@pytest.fixture
def folder(ended: Path, tmp_path: Path) -> Path:
    """Return a copy of it."""
    copy = tmp_path / "out"
    shutil.copytree(ended, copy)
    return copy


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def changed(folder: Path, **values: object) -> None:
    """Change what a study says of itself."""
    told = json.loads((folder / NAME).read_text("utf-8"))
    (folder / NAME).write_text(json.dumps({**told, **values}), "utf-8")


def told_by(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    before = content(folder)
    capsys.readouterr()
    assert main(["status", str(folder), "--json"]) == 0
    assert content(folder) == before
    return dict(json.loads(capsys.readouterr().out))


AGENT = """
from chaosagent import Outcome, Task, target

@target(tasks=[Task("only")])
async def agent(task, run):
    await run.service("bank", {"pay": lambda: 1})("pay")
    return Outcome("paid", success=True)
"""


def test_summary_status_and_page_say_how_many_runs_were_taken_over_from_another_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "small.yaml").write_text(
        "target: agent.py:agent\nseeds: [0, 1]\noperators: [service.timeout]\nbudget: 1.2\n", encoding="utf-8"
    )
    assert main(["search", str(tmp_path / "small.yaml"), "--out", str(tmp_path / "out"), "--json"]) == 1
    taken_over = json.loads(capsys.readouterr().out)["taken_over"]
    assert taken_over > 0

    assert main(["status", str(tmp_path / "out")]) == 0
    said = " ".join(capsys.readouterr().out.split())

    phrase = f" runs ({taken_over} taken over from another seed, as they do not read it)"
    assert phrase.removeprefix(" runs") in said
    assert phrase in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert told_by(tmp_path / "out", capsys)["taken_over"] == taken_over


def test_of_an_ended_study_it_tells_what_was_done(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = told_by(folder, capsys)

    assert told["state"] == "ended"
    assert told["searches"] == told["searches_over"] == 4
    assert told["left_seconds"] is None
    assert isinstance(told["levels"], list)
    assert [level["cost"] for level in told["levels"]] == [1, 2]
    assert all(level["searches_over"] == 4 for level in told["levels"])
    assert all(level["schedules"] >= level["trials"] > 0 for level in told["levels"])


def test_it_reads_well(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()

    assert main(["status", str(folder)]) == 0

    page = capsys.readouterr().out
    assert "triage, configuration naive, budget 2.3: ended" in page
    assert "4 of 4 over" in page
    assert "#" * BAR in page


def test_of_a_study_whose_process_is_gone_it_says_how_to_go_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    changed(folder, state="running", process=done.pid)

    told = told_by(folder, capsys)
    assert (told["state"], told["left_seconds"]) == ("interrupted", None)


def test_a_study_that_runs_is_told_from_one_that_was_silent_long(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(folder, state="running", process=os.getpid())
    assert told_by(folder, capsys)["state"] == "running"

    long_ago = (folder / NAME).stat().st_mtime - 100
    os.utime(folder / NAME, (long_ago, long_ago))

    assert told_by(folder, capsys)["state"] == "interrupted"  # the number is that of another process


HOLDER = """
import sys, time
from pathlib import Path
from chaosagent.study.store.lock import lock_folder
lock = lock_folder(Path(sys.argv[1]))
print("locked", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("state", ["running", "interrupted", "ended", "failed"])
def test_a_study_whose_store_a_resume_checks_runs(folder: Path, capsys: pytest.CaptureFixture[str], state: str) -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    changed(folder, state=state, process=done.pid)
    with subprocess.Popen([sys.executable, "-c", HOLDER, folder], stdout=subprocess.PIPE, text=True) as resume:
        assert resume.stdout is not None
        assert resume.stdout.readline() == "locked\n"
        told = told_by(folder, capsys)
        resume.kill()

    assert (told["state"], told["process"], told["left_seconds"]) == ("running", resume.pid, None)
    assert (told["found"], told["searches_over"], told["counterexamples"]) == (0, 0, [])
    assert told["doing"] == "checking what earlier sessions have stored"
    assert told_by(folder, capsys)["state"] == ("interrupted" if state == "running" else state)


def test_a_study_that_ends_while_its_process_is_looked_for_has_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ends(process: int) -> bool:
        del process
        changed(folder, state="ended")
        return False

    monkeypatch.setattr("chaosagent.cli.status._lives", ends)
    changed(folder, state="running")

    assert main(["status", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "ended"


def test_nobody_is_told_of_more_than_a_kill_would_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[Snapshot, int, bool]] = []
    write = ProgressFile._write

    def written(self: ProgressFile, state: State) -> None:
        write(self, state)
        with closing(sqlite3.connect(f"{(tmp_path / 'out' / 'study.db').as_uri()}?mode=ro", uri=True)) as committed:
            trials = committed.execute("SELECT count(*) FROM trial").fetchone()[0]
            ended = committed.execute("SELECT 1 FROM study WHERE key = 'ended'").fetchone() is not None
        told.append((read_progress(tmp_path / "out"), trials, ended))

    monkeypatch.setattr(ProgressFile, "_write", written)
    monkeypatch.setattr("chaosagent.study.store.progress_file.WRITE_SECONDS", 0.0)
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    main(["search", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "out")])

    assert len(told) > 3
    assert all(snapshot.trials <= trials for snapshot, trials, _ in told)
    assert [(snapshot.state, ended) for snapshot, _, ended in told[-2:]] == [("running", False), ("ended", True)]


def test_who_asks_whether_a_study_runs_does_not_keep_it_from_beginning(tmp_path: Path) -> None:
    with (tmp_path / LOCK_NAME).open("w") as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        over = threading.Timer(0.1, fcntl.flock, [asking, fcntl.LOCK_UN])
        over.start()
        lock_folder(tmp_path).close()
        over.join()


def test_text_of_agents_does_nothing_to_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed(folder, target="\x1b[31mred", current="\x1b]0;title\x07")

    main(["status", str(folder)])

    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"trials": -1}, "it is damaged: trials"),
        ({"rate": "fast"}, "it is damaged: rate"),
        ({"levels": [1]}, "it is damaged: levels"),
        ({"format": 9}, "it has format 9; this version of chaosagent reads 1"),
    ],
)
def test_what_is_damaged_or_of_another_version_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], values: dict[str, object], complaint: str
) -> None:
    changed(folder, **values)
    before = content(folder)

    assert main(["status", str(folder)]) == 2

    assert complaint in capsys.readouterr().err
    assert content(folder) == before


@pytest.mark.parametrize("text", ["", "{", "[]", "nonsense", "[" * 100_000])
def test_no_damage_ends_in_a_traceback(folder: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (folder / NAME).write_text(text, "utf-8")

    assert main(["status", str(folder)]) == 2

    assert "it is damaged" in capsys.readouterr().err


def test_a_folder_without_a_study_is_refused(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (folder / NAME).unlink()

    for place, complaint in (("empty", "holds no study"), ("nowhere", "does not exist"), ("out", "earlier version")):
        assert main(["status", str(tmp_path / place)]) == 2
        assert complaint in capsys.readouterr().err


def test_a_bar_is_full_when_all_is_done_and_never_before() -> None:
    assert bar(0, 1_000) == "." * BAR
    assert bar(999, 1_000).endswith(".")
    assert bar(1_000, 1_000) == "#" * BAR


@pytest.mark.slow
def test_a_running_study_can_be_watched_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text(STUDY.replace("trials: 40", "trials: 4000"), encoding="utf-8")
    command = [sys.executable, "-m", "chaosagent"]
    search = subprocess.Popen([*command, "search", "long.yaml"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    place = tmp_path / "chaosagent-out" / "long"
    while not (place / NAME).exists():
        pause(0.05)

    watch = subprocess.Popen(
        [*command, "status", "long.yaml", "--watch", "--json"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    pause(4.0)
    search.send_signal(signal.SIGINT)
    search.wait()
    lines = watch.communicate(timeout=30)[0].splitlines()

    told = [json.loads(line) for line in lines]
    assert [one["state"] for one in told[:-1]] == ["running"] * (len(told) - 1)
    assert [one["trials"] for one in told] == sorted(one["trials"] for one in told)
    assert told[-1]["state"] == "interrupted"
    assert read_progress(place).trials == told[-1]["trials"]

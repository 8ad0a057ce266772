"""The folder of a study, in every state that it should not be in: told in a sentence, and nothing is spoilt."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from chaosagent.study.store.lock import LOCK_NAME, lock_folder
from tests.command_line import PROGRAM

Command = Callable[..., Any]
HERE = ("search", "study.yaml", "--out", "here")


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        (("--budget", 0.5), "budget: 0.5 instead of 1.2."),
        (("--task", "late", "--seed", 1), "tasks: ['late'] instead of empty, seeds: [1] instead of [0]."),
        (
            ("--trials", 7, "--config", "hardened"),
            "config: 'hardened' instead of empty, search.trials: 7 instead of 20",
        ),
    ],
)
def test_another_study_in_the_folder_is_told_with_what_differs(
    chaosagent: Command, options: tuple[object, ...], difference: str
) -> None:
    chaosagent(*HERE)
    before = files_below(Path("here/replays"))

    answer = chaosagent(*HERE, *options)

    assert (answer.code, answer.out) == (2, "")
    assert f"here holds another study: {difference}" in answer.err
    assert "Choose another folder with --out; or give what that study was begun with" in answer.err
    assert files_below(Path("here/replays")) == before


def test_a_study_whose_runs_were_made_otherwise_cannot_be_gone_on_with(chaosagent: Command) -> None:
    chaosagent(*HERE)

    answer = chaosagent(*HERE, "--config", "hardened", "--resume")

    assert (answer.code, answer.out) == (2, "")
    assert "here holds another study: config: 'hardened' instead of empty" in answer.err


def test_a_study_may_be_gone_on_with_more_trials_a_higher_budget_or_other_tasks(chaosagent: Command) -> None:
    chaosagent(*HERE, "--trials", 3, "--task", "late")

    more = chaosagent(*HERE, "--trials", 100, "--budget", 2.2, "--resume", "--json").json
    anew = chaosagent("search", "study.yaml", "--out", "new", "--trials", 100, "--budget", 2.2, "--json").json

    assert more["digest"] == anew["digest"]
    assert more["searches"] == anew["searches"]
    assert "trials: 100" in Path("here/study.yaml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_another_searcher_is_refused_unless_the_study_is_gone_on_with_and_finds_what_it_finds_anew(
    chaosagent: Command,
) -> None:
    chaosagent(*HERE)

    refused = chaosagent(*HERE, "--searcher", "exact")
    resumed = chaosagent(*HERE, "--searcher", "exact", "--resume", "--json").json
    anew = chaosagent("search", "study.yaml", "--out", "new", "--searcher", "exact", "--json").json

    assert refused.code == 2
    assert "--resume; what is searched may differ: tasks, seeds, budget, limits, searcher)" in refused.err
    assert (resumed["searcher"], resumed["digest"]) == ("exact", anew["digest"])


def test_a_study_whose_target_has_changed_cannot_be_gone_on_with(chaosagent: Command, folder: Path) -> None:
    chaosagent(*HERE, "--trials", 3)
    agent = folder / "agent.py"
    agent.write_text(agent.read_text(encoding="utf-8") + "# mended\n", encoding="utf-8")

    answer = chaosagent(*HERE, "--resume")

    assert (answer.code, answer.out) == (2, "")
    assert "agent.py: changed since the study in here was begun" in answer.err
    assert "Choose another --out, or delete here, to search anew." in answer.err


def test_a_study_whose_contract_has_changed_cannot_be_gone_on_with(chaosagent: Command, folder: Path) -> None:
    rules = folder / "rules_of_refunds.py"
    rules.write_text("from chaosagent import contract\n\n\n@contract('quiet')\ndef quiet(step):\n    return None\n")
    study = "target: refund\ncontracts: ['rules_of_refunds.py:quiet']\nbudget: 1.2\nsearch: {trials: 3}\n"
    (folder / "study.yaml").write_text(study, encoding="utf-8")
    chaosagent(*HERE)
    rules.write_text(rules.read_text().replace("None", "'always'"))

    answer = chaosagent(*HERE, "--resume")

    assert (answer.code, answer.out) == (2, "")
    assert "rules_of_refunds.py: changed since the study in here was begun" in answer.err


def test_what_differs_is_cut_where_it_is_much(chaosagent: Command, folder: Path) -> None:
    chaosagent(*HERE)
    (folder / "study.yaml").write_text(
        "target: agent.py:shop\nbudget: 2\nseeds: [1]\ncost: {c_mag: 0.2}\n"
        "search: {seed: 3, lookahead: 2, seconds: 9, settings: {r3: false}}\n"
    )

    answer = chaosagent(*HERE)

    assert answer.code == 2
    assert "seeds: [1] instead of [0], contracts: ['default'] instead of ['at-most-once', 'no-crash']" in answer.err
    assert ", ... 3 more. Choose another" in answer.err
    assert "search.seconds" not in answer.err


def test_a_target_that_has_changed_is_suspected_where_the_files_are_the_same(chaosagent: Command, folder: Path) -> None:
    chaosagent(*HERE)
    agent = folder / "agent.py"
    agent.write_text(agent.read_text("utf-8").replace("input=7", "input=19"), encoding="utf-8")
    for name in [name for name in sys.modules if name.startswith("chaosagent_file_")]:
        del sys.modules[name]

    answer = chaosagent(*HERE)
    (folder / "here" / "study.yaml").write_text("tar")
    unreadable = chaosagent(*HERE)

    assert answer.code == unreadable.code == 2
    assert "the study files are the same, so it is the target (its name, tasks or configuration)" in answer.err
    assert "holds another study: what it was begun with cannot be read." in unreadable.err


def test_a_folder_in_use_is_told_with_its_holder(chaosagent: Command, folder: Path) -> None:
    (folder / "here").mkdir()
    with lock_folder(folder / "here"):
        answer = chaosagent(*HERE)

    assert (answer.code, answer.out) == (4, "")
    assert "here is in use by process " in answer.err
    assert "Wait for it, or choose another folder with --out." in answer.err
    assert [path.name for path in (folder / "here").iterdir()] == [LOCK_NAME]
    assert chaosagent(*HERE).code == 1


@pytest.mark.parametrize("damage", ["garbage", "cut", "empty", "zeros", "noise"])
@pytest.mark.parametrize("resume", [(), ("--resume",)])
def test_a_damaged_store_is_told_or_done_without(chaosagent: Command, damage: str, resume: tuple[str, ...]) -> None:
    chaosagent(*HERE)
    store = Path("here/study.db")
    sound = store.read_bytes()
    data = {
        "garbage": b"something else entirely, " * 100,
        "cut": sound[: len(sound) // 2],
        "empty": b"",
        "zeros": sound[:4096] + bytes(len(sound) - 4096),
        "noise": bytes(byte ^ 0x55 if place % 97 == 0 else byte for place, byte in enumerate(sound)),
    }[damage]
    store.write_bytes(data)

    answer = chaosagent(*HERE, *resume)

    if damage == "empty":  # as a process leaves it that is killed at once
        assert answer.code == 1
        return
    assert (answer.code, answer.out) == (2, "")
    assert "study.db" in answer.err
    assert "Choose another --out, or delete" in answer.err
    assert store.read_bytes() == data


def test_damaged_runs_are_run_again_and_that_is_said_once(chaosagent: Command) -> None:
    expected = chaosagent(*HERE, "--json").json
    with closing(sqlite3.connect("here/study.db")) as store, store:
        store.execute("UPDATE execution SET evaluation = (SELECT evaluation FROM execution WHERE id = 1)")

    answer = chaosagent(*HERE, "--resume", "--json")
    again = chaosagent(*HERE, "--resume", "--json")

    assert (answer.json["digest"], answer.json["searches"]) == (expected["digest"], expected["searches"])
    assert (
        answer.err.count("here/study.db was damaged (table execution, row with id 2: its checksum does not match)") == 1
    )
    assert "1 runs are sound and kept, others are run again" in answer.err
    assert "was damaged" not in again.err  # a progress line names the folder, and that this test
    assert again.json["digest"] == expected["digest"]


@pytest.mark.parametrize("name", ["study.db", "study.lock", "study.yaml", "records.jsonl", "replays"])
def test_something_else_of_the_same_name_is_told_and_left(chaosagent: Command, folder: Path, name: str) -> None:
    there = folder / "here" / name
    there.parent.mkdir()
    if name == "replays":
        there.write_text("mine")
    else:
        there.mkdir()

    first, second = chaosagent(*HERE), chaosagent(*HERE)

    assert (first.code, second.code) == (2, 2)
    assert first.err == second.err
    assert "--out" in first.err
    assert there.exists()


@pytest.mark.parametrize("out", ["x" * 300, "agent.py", "agent.py/below"])
def test_a_folder_that_cannot_be_is_told(chaosagent: Command, out: str) -> None:
    answer = chaosagent("search", "study.yaml", "--out", out)

    assert (answer.code, answer.out) == (2, "")
    assert "This is an error of chaosagent" not in answer.err


def test_a_study_that_fails_is_not_in_the_way_of_the_next(chaosagent: Command, folder: Path) -> None:
    agent = folder / "agent.py"
    sound = agent.read_text("utf-8")
    agent.write_text(sound.replace("known = set()", "known = set()\n    import os; run.note(os.urandom(8).hex())"))
    failed = chaosagent(*HERE)
    agent.write_text(sound)
    for name in [name for name in sys.modules if name.startswith("chaosagent_file_")]:
        del sys.modules[name]

    again = chaosagent(*HERE)

    assert (failed.code, failed.out) == (4, "")
    assert again.code == 1


def limited(size: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command where no file can become larger than some bytes, as if the disk were full."""
    program = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n{PROGRAM}"
    return subprocess.run(
        [sys.executable, "-B", "-c", program, *arguments],  # -B: half a file of bytecode would break later imports
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 20_000, 120_000])
def test_a_full_disk_is_told_and_nothing_is_in_the_way_when_there_is_room_again(
    chaosagent: Command, folder: Path, size: int
) -> None:
    study = (folder / "study.yaml").read_text("utf-8")
    (folder / "study.yaml").write_text(f"{study}seeds: {list(range(40))}\n", encoding="utf-8")

    full = limited(size, *HERE)
    unfinished = chaosagent(*HERE)
    resumed = chaosagent(*HERE, "--resume")

    assert full.returncode in (2, 4), full.stderr
    assert "Traceback" not in full.stderr
    assert "This is an error of chaosagent" not in full.stderr
    assert any(hint in full.stderr for hint in ("--out", "continue with --resume")), full.stderr
    assert "no transaction" not in full.stderr
    if unfinished.code == 2:  # something was kept
        assert "holds an unfinished run of this study. Go on with it (--resume)" in unfinished.err
    assert resumed.code == 1, resumed.err
    assert not list((folder / "here").rglob(".writing-*"))


def test_an_executor_that_is_not_installed_leaves_no_folder(
    chaosagent: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)

    refused = chaosagent(*HERE, "--executor", "ray")

    assert (refused.code, refused.out) == (2, "")
    assert "--executor ray needs ray, which is not installed: run `pip install 'chaosagent[ray]'`" in refused.err
    assert not Path("here").exists()


def test_a_searcher_that_is_not_installed_leaves_no_folder(
    chaosagent: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)

    assert chaosagent(*HERE, "--searcher", "tpe").code == 2
    assert not Path("here").exists()

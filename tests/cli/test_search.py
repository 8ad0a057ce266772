"""`chaosagent search`: exit codes, what is printed, what is stored."""

import json
import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaosagent.cli.session import WorkerSettings

KEYS = {"id", "signature", "schedule", "injections", "cost", "certified", "lower_bound"}
PLACES = {"contract", "step", "agent", "record"}
Command = Callable[..., Any]


def test_what_is_found_is_told_with_what_to_type_next(chaosagent: Command, folder: Path) -> None:
    answer = chaosagent("search", "study.yaml")

    assert answer.code == 1
    for expected in (
        "shop, configuration naive: two tasks, one seed, four searches, budget 1.2",
        "Two counterexamples, one kind of failure",
        "at-most-once  late and 1 more",
        "certified",
        "service:payments[1] service.lost_response(when=after)",
        "no-crash      -       2                 -",
        f"chaosagent replay chaosagent-out/{folder.name}/replays",
    ):
        assert expected in answer.out
    shown = next(line.split()[2] for line in answer.out.splitlines() if "chaosagent show" in line)
    assert Path(shown).is_file()


def test_each_counterexample_is_listed_on_demand(chaosagent: Command) -> None:
    answer = chaosagent("search", "study.yaml", "--all")

    assert "at-most-once  late " in answer.out
    assert "at-most-once  lost " in answer.out


def test_the_study_is_stored_in_its_folder(chaosagent: Command, folder: Path) -> None:
    answer = chaosagent("search", "study.yaml", "--json")

    out = folder / "chaosagent-out" / folder.name
    assert (out / "study.yaml").read_text("utf-8") == (folder / "study.yaml").read_text("utf-8")
    with sqlite3.connect(out / "study.db") as database:
        (trials,) = database.execute("SELECT count(*) FROM trial").fetchone()
    database.close()
    assert trials == answer.json["trials"]
    assert len(list((out / "replays").glob("*.replay"))) == 2


def test_json_is_one_object_with_everything(chaosagent: Command) -> None:
    found = chaosagent("search", "study.yaml", "--json").json

    assert found["executions"] > 0
    assert (found["errors"], found["interrupted"], len(found["digest"])) == (0, False, 32)
    assert [one["task"] for one in found["counterexamples"]] == ["late", "lost"]
    first = found["counterexamples"][0]
    assert first.keys() >= KEYS | PLACES
    assert (first["injections"], first["cost"], first["certified"], first["lower_bound"]) == (1, 1.1, True, 1.1)
    assert (first["contract"], first["step"], first["agent"]) == ("at-most-once", 1, None)
    assert first["schedule"] == "service:payments[1] service.lost_response(when=after)"
    assert Path(first["record"]).is_file()
    safe = [search for search in found["searches"] if search["contract"] == "no-crash"]
    assert [(search["safe"], search["lower_bound"]) for search in safe] == [(True, None)] * 2


def test_what_a_target_prints_goes_to_stderr(chaosagent: Command) -> None:
    answer = chaosagent("search", "study.yaml", "--json")

    assert "what a target prints" in answer.err
    assert answer.json["errors"] == 0


def test_a_hardened_configuration_is_proved_safe(chaosagent: Command, folder: Path) -> None:
    answer = chaosagent("search", "study.yaml", "--config", "hardened")

    assert answer.code == 0
    proved = "Nothing of cost up to 1.2 in the declared space breaks any contract: proved for all 4 searches."
    assert proved in answer.out
    assert (folder / "chaosagent-out" / f"{folder.name}-hardened" / "study.yaml").is_file()


def test_a_search_that_ends_at_a_limit_is_inconclusive(chaosagent: Command) -> None:
    answer = chaosagent("search", "study.yaml", "--config", "hardened", "--trials", 2, "--budget", 3)

    assert answer.code == 3
    assert "No counterexample was found." in answer.out
    assert "ended at a limit. Give more with --trials and --resume, which runs nothing again" in answer.out
    assert "nothing cheaper than" in answer.out


def test_options_choose_tasks_seeds_and_contracts(chaosagent: Command) -> None:
    options = ("--task", "lost", "--seed", 3, "--seed", 4, "--contract", "no-crash", "--budget", 0.5)

    found = chaosagent("search", "study.yaml", *options, "--json").json

    assert (found["tasks"], found["seeds"], found["budget"]) == (["lost"], [3, 4], 0.5)
    assert {search["contract"] for search in found["searches"]} == {"no-crash"}


def test_what_breaks_without_faults_is_told_first_and_why(chaosagent: Command, folder: Path) -> None:
    agent = folder / "agent.py"
    agent.write_text(agent.read_text("utf-8").replace("success=True", "success=False"), encoding="utf-8")

    answer = chaosagent("search", "study.yaml", "--contract", "objective")

    assert answer.code == 1
    lines = [line for line in answer.out.splitlines() if line]
    assert lines[1].startswith("Broken without any fault: two searches, so no fault was looked for there.")
    assert lines[2].split() == ["contract", "task", "seed", "broken", "at", "reason"]
    assert lines[3].split() == ["objective", "late", "0", "the", "end", "the", "objective", "was", "not", "met"]
    assert "Nothing of cost" not in answer.out
    assert "No counterexample" not in answer.out


def test_what_breaks_without_faults_is_left_out_of_what_is_proved(chaosagent: Command, folder: Path) -> None:
    agent = folder / "agent.py"
    agent.write_text(agent.read_text("utf-8").replace("success=True", "success=False"), encoding="utf-8")
    options = ("--config", "hardened", "--contract", "objective", "--contract", "no-crash")

    answer = chaosagent("search", "study.yaml", *options)
    data = chaosagent("search", "study.yaml", *options, "--json").json

    assert answer.code == 1
    proved = (
        "Nothing of cost up to 1.2 in the declared space breaks the other contracts: proved for the 2 other searches."
    )
    assert proved in answer.out
    assert [search["nominal_reason"] for search in data["searches"]] == ["the objective was not met", None] * 2


UNFIT = 'payments = run.service("again", {"refund": refund}, effects={"refund": lambda *_: 5})'
"""What the agent does after a fault so that its run is an error: no effect can be made of 5."""


def test_runs_that_fail_say_why_and_leave_the_search_failed(chaosagent: Command, folder: Path) -> None:
    agent = folder / "agent.py"
    agent.write_text(
        agent.read_text("utf-8").replace("await run.clock.sleep(1)", UNFIT),
        encoding="utf-8",
    )
    options = ("--task", "late", "--contract", "no-crash")

    answer = chaosagent("search", "study.yaml", *options)
    data = chaosagent("search", "study.yaml", *options, "--json").json

    assert answer.code == 4
    lines = answer.out.splitlines()
    told = lines.index("Two runs ended with errors; nothing is proved beyond the cost of the cheapest.")
    returned = "target 'shop', task 'late': effects of service:again, refund: TypeError: 'int' object is not iterable"
    assert lines[told + 1] == f"  {returned}"
    first = "service:payments[1] service.lost_response(when=before)"
    assert lines[told + 2] == f"    two runs, the first in task late, seed 0, under: {first}"
    (failed,) = data["failed"]
    assert (failed["runs"], failed["task"], failed["seed"], failed["schedule"]) == (2, "late", 0, first)
    assert failed["error"] == returned
    assert data["errors"] == 2


def test_the_same_study_may_run_again_and_gives_the_same(chaosagent: Command) -> None:
    first = chaosagent("search", "study.yaml", "--json").json
    again = chaosagent("search", "study.yaml", "--json").json

    assert again["digest"] == first["digest"]
    assert again["counterexamples"] == first["counterexamples"]


def change(folder: Path, before: str, after: str) -> None:
    """Change the agent, and let this process forget the old one, as another process would not know it."""
    agent = folder / "agent.py"
    agent.write_text(agent.read_text("utf-8").replace(before, after), encoding="utf-8")
    for name in [name for name in sys.modules if name.startswith("chaosagent_file_")]:
        del sys.modules[name]


WITHOUT_KEYS, ONE_WITH_KEYS = 'if run.config.settings["keys"]', 'if task.id == "late"'


def test_a_record_that_a_later_run_no_longer_finds_is_removed(chaosagent: Command, folder: Path) -> None:
    first = chaosagent("search", "study.yaml", "--out", "here", "--json").json
    mine = folder / "here" / "replays" / "mine.replay"
    mine.write_bytes(b"another's")
    change(folder, WITHOUT_KEYS, ONE_WITH_KEYS)

    again = chaosagent("search", "study.yaml", "--out", "here")

    late, lost = (Path(one["record"]) for one in first["counterexamples"])
    assert sorted(path.name for path in mine.parent.iterdir()) == sorted([lost.name, mine.name])
    assert (
        "One record of an earlier run removed: the same searches now have cheaper counterexamples, or none."
        in again.out
    )
    assert f"here/replays also holds one record that this search did not write: {mine.name}." in again.out
    third = chaosagent("search", "study.yaml", "--out", "here", "--json").json
    assert (third["removed"], third["other_records"]) == ([], ["here/replays/mine.replay"])
    assert not late.exists()


def test_a_record_stays_while_its_search_is_open(chaosagent: Command, folder: Path) -> None:
    options = ("study.yaml", "--out", "here", "--json")
    assert len(chaosagent("search", *options).json["counterexamples"]) == 2
    change(folder, "await run.clock.sleep(1)", UNFIT)

    failed = chaosagent("search", *options)

    assert failed.code == 4
    records = sorted(Path("here/replays").iterdir())
    assert (failed.json["removed"], failed.json["other_records"]) == ([], [])
    assert failed.json["kept_records"] == [str(path) for path in records]
    assert len(records) == 2
    page = chaosagent("search", *options[:-1]).out
    names = ", ".join(path.name for path in records)
    assert f"Two records of an earlier run kept: not found again yet, and their searches are open: {names}" in page
    assert "elsewhere" not in page
    change(folder, UNFIT, "await run.clock.sleep(1)")
    change(folder, WITHOUT_KEYS, ONE_WITH_KEYS)
    assert len(chaosagent("search", *options).json["removed"]) == 1


def test_a_list_of_records_that_names_others_removes_nothing(chaosagent: Command, folder: Path) -> None:
    found = chaosagent("search", "study.yaml", "--out", "here", "--json").json
    listed = folder / "here" / "records.jsonl"
    entry = {"task": "late", "seed": 0, "contract": "no-crash"}
    for name in ("../outside.replay", "no-record.txt"):
        (folder / "here" / "replays" / name).write_bytes(b"another's")
        with listed.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"record": name, **entry}) + "\n")
    with listed.open("a", encoding="utf-8") as lines:
        lines.write('{"record": "cut')

    again = chaosagent("search", "study.yaml", "--out", "here", "--json").json

    assert again["counterexamples"] == found["counterexamples"]
    assert again["removed"] == []
    assert (folder / "here" / "outside.replay").is_file()
    assert (folder / "here" / "replays" / "no-record.txt").is_file()


def test_a_folder_of_another_study_is_not_touched(chaosagent: Command) -> None:
    chaosagent("search", "study.yaml", "--out", "here")
    before = sorted(Path("here").rglob("*"))

    answer = chaosagent("search", "study.yaml", "--budget", 0.5, "--out", "here")

    assert answer.code == 2
    assert "here holds another study: budget: 0.5 instead of 1.2. Choose another folder with --out" in answer.err
    assert sorted(Path("here").rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nowhere.yaml",), "nowhere.yaml does not exist"),
        ((".",), "is a folder; name a study file. It holds study.yaml"),
        (("study.yaml", "--executor", "proces"), "unknown executor 'proces'. Did you mean 'process'?"),
        (("study.yaml", "--budgett", "3"), "--budget"),
        (("study.yaml", "--budget", "much"), "--budget"),
        (("study.yaml", "--trials", "0"), "--trials"),
        (("study.yaml", "--config", "hardend"), "Did you mean 'hardened'?"),
        (("study.yaml", "--task", "lots"), "Did you mean 'lost'?"),
        ((), "STUDY.yaml"),
    ],
)
def test_bad_input_is_exit_code_2_with_a_remedy(
    chaosagent: Command, arguments: tuple[str, ...], complaint: str
) -> None:
    answer = chaosagent("search", *arguments)

    assert (answer.code, answer.out) == (2, "")
    assert complaint in answer.err
    assert "Traceback" not in answer.err


def test_an_error_is_an_object_too_where_one_was_promised(chaosagent: Command) -> None:
    answer = chaosagent("search", "nowhere.yaml", "--json")

    assert answer.json == {"error": "nowhere.yaml does not exist. Name a study file.", "exit_code": 2}


def test_a_target_that_cannot_be_loaded_is_exit_code_4(chaosagent: Command, folder: Path) -> None:
    (folder / "agent.py").write_text("1 / 0", encoding="utf-8")

    answer = chaosagent("search", "study.yaml")

    assert answer.code == 4
    assert "study.yaml:1: " in answer.err
    assert "fails on import: ZeroDivisionError" in answer.err


@pytest.mark.slow
def test_worker_processes_find_the_same(chaosagent: Command) -> None:
    inline = chaosagent("search", "study.yaml", "--json", "--out", "a").json

    pool = chaosagent("search", "study.yaml", "--json", "--out", "b", "--executor", "process", "--workers", 2).json

    assert pool["digest"] == inline["digest"]
    assert pool["trials"] == inline["trials"]
    same = [[{**one, "record": ""} for one in found["counterexamples"]] for found in (inline, pool)]
    assert same[0] == same[1]


@pytest.mark.parametrize(
    ("system", "cores"),
    [
        ({"process_cpu_count": lambda: 3, "sched_getaffinity": lambda _process: {0}, "cpu_count": lambda: 8}, 3),
        ({"sched_getaffinity": lambda _process: {0, 5}, "cpu_count": lambda: 8}, 2),
        ({"cpu_count": lambda: 8}, 8),
        ({"cpu_count": lambda: None}, 1),
    ],
)
def test_cores_are_counted_on_every_system(
    monkeypatch: pytest.MonkeyPatch, system: dict[str, Callable[..., Any]], cores: int
) -> None:
    for name in ("process_cpu_count", "sched_getaffinity", "cpu_count"):
        monkeypatch.delattr(os, name, raising=False)
    for name, counted in system.items():
        monkeypatch.setattr(os, name, counted, raising=False)

    assert WorkerSettings("process").size == cores


def test_a_proof_about_nothing_is_inconclusive(chaosagent: Callable[..., Any], folder: Path) -> None:
    (folder / "idle.py").write_text(
        "from chaosagent import Outcome, target\n\n@target\nasync def idle(task, run):\n    return Outcome('done')\n"
    )
    (folder / "idle.yaml").write_text("target: idle.py:idle\n")

    answer = chaosagent("search", "idle.yaml")

    assert answer.code == 3
    assert "nothing could be injected: the target calls no door" in answer.out


def test_a_filter_that_matches_nothing_makes_a_proof_inconclusive(chaosagent: Callable[..., Any], folder: Path) -> None:
    (folder / "reader.py").write_text(
        "from chaosagent import Outcome, target\n\n@target\nasync def reader(task, run):\n"
        "    await run.service('orders', {'get': lambda: 1}, read_only=True)('get')\n    return Outcome('done')\n"
    )
    (folder / "reader.yaml").write_text(
        "target: reader.py:reader\ncontracts: [no-leak]\noperators:\n  - service.stale_response\n"
        "  - operator: service.lost_response\n    interfaces: ['service:ordres']\n"
    )

    answer = chaosagent("search", "reader.yaml")

    assert answer.code == 3
    assert "Nothing that was called matches service.lost_response: interfaces 'service:ordres'" in answer.out


def test_a_named_operator_that_no_door_can_take_makes_a_proof_inconclusive(
    chaosagent: Callable[..., Any], folder: Path
) -> None:
    (folder / "reader.py").write_text(
        "from chaosagent import Outcome, target\n\n@target\nasync def reader(task, run):\n"
        "    await run.service('orders', {'get': lambda: 1}, read_only=True)('get')\n    return Outcome('done')\n"
    )
    head = "target: reader.py:reader\ncontracts: [no-leak]\noperators: "
    (folder / "named.yaml").write_text(f"{head}[service.stale_response, tools.missing]\n")
    (folder / "all.yaml").write_text(f"{head}['*']\n")

    named, everything = chaosagent("search", "named.yaml"), chaosagent("search", "all.yaml")

    assert named.code == 3
    assert "Nothing that was called can take tools.missing: no tools." in named.out
    assert "The proof does not cover tools.missing" in named.out
    told = "breaks any contract: proved. But tools.missing was never injected, so the exit code is 3."
    assert told in " ".join(named.out.split())
    assert "Not tried, as the study file does not name them: " in named.out
    assert " service.* operators." in named.out
    assert "Not tried" not in everything.out
    assert "can take" not in everything.out


def test_another_searcher_takes_the_place_of_that_of_the_file(chaosagent: Command, folder: Path) -> None:
    answer = chaosagent("search", "study.yaml", "--searcher", "random")

    assert answer.code == 1
    assert " certified" not in answer.out  # it proves nothing
    as_run = (folder / "chaosagent-out" / folder.name / "study.yaml").read_text("utf-8")
    assert "with --searcher from the command line" in as_run
    assert "searcher: random" in as_run


def test_a_searcher_that_nobody_knows_ends_with_the_nearest_name(chaosagent: Command, folder: Path) -> None:
    answer = chaosagent("search", "study.yaml", "--searcher", "anytme")

    assert answer.code == 2
    assert "--searcher: unknown searcher 'anytme'. Did you mean 'anytime'?" in answer.err
    assert not (folder / "chaosagent-out").exists()

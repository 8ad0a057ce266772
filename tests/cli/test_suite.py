"""`chaosagent suite`: what is chosen, what a build says of it from then on, and what is refused."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from chaosagent.api.suites.suite import check_one_suite
from chaosagent.errors import UsageError
from chaosagent.replays.review import Expectation, Review, write_review
from chaosagent.replays.store import read_record
from tests.cli.test_replay import edit_agent, forget
from tests.command_line import PROGRAM

pytest.importorskip("scipy", reason="needs the extra `statistics`")

Command = Callable[..., Any]
BROKEN, FIXED = '{"keys": False}', '{"keys": True}'


def names(folder: Path) -> list[str]:
    """Return the names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


@pytest.mark.usefixtures("records")
def test_from_a_search_to_a_build_that_a_returning_failure_turns_red(chaosagent: Command, folder: Path) -> None:
    chosen = chaosagent("suite", "found", "--out", "tests/replays", "--nominal", "0", "--json")
    known = chaosagent("replay", "tests/replays")
    edit_agent(folder, (BROKEN, FIXED))
    fixed = chaosagent("replay", "tests/replays")
    promoted = chaosagent("replay", "tests/replays", "--promote")
    edit_agent(folder, (FIXED, BROKEN))
    back = chaosagent("replay", "tests/replays")

    (record,) = chosen.json["records"]
    assert record["covers"] == ["at-most-once", "cause 1 at service:payments refund"]
    assert names(folder / "tests/replays") == [
        Path(record["path"]).stem + ".accepted.toml",
        Path(record["path"]).name,
    ]
    assert [one.code for one in (chosen, known, fixed, promoted, back)] == [0, 0, 0, 0, 1]
    assert known.out.startswith("KNOWN")
    assert "it was open and holds now; --promote" in fixed.out
    assert "expected to hold from now on" in promoted.out
    assert record["path"] in back.out
    assert "it had been fixed, and came back" in back.out


def test_a_task_that_ends_otherwise_without_faults_turns_a_build_red(chaosagent: Command, folder: Path) -> None:
    chaosagent("search", "study.yaml", "--out", "hardened", "--config", "hardened")
    chosen = chaosagent("suite", "hardened", "--out", "suite", "--json")

    def replayed(*edits: tuple[str, str], options: tuple[str, ...] = ()) -> tuple[int, set[str], str]:
        edit_agent(folder, *edits)
        answer = chaosagent("replay", "suite", *options, "--json")
        edit_agent(folder, *(edit[::-1] for edit in edits))
        found = answer.json["records"]
        return answer.code, {one["outcome"] for one in found}, "; ".join([one["detail"] for one in found])

    claim = ("claims=(Claim", "claims=2 * (Claim")
    told, twice = (
        ('Outcome("paid", success=True', 'Outcome("done", success=True'),
        (
            "            return Outcome",
            '            await payments("refund", order=task.input, key=None)\n            return Outcome',
        ),
    )

    assert (chosen.json["records"], len(chosen.json["without_faults"])) == ([], 2)
    assert replayed() == (0, {"HELD"}, "the task ends as recorded; the task ends as recorded")
    assert replayed(options=("--mode", "exact"))[:2] == (0, {"REPRODUCED"})
    assert replayed(told)[:2] == (0, {"HELD"}), "the words of the final message are a note"
    code, outcomes, detail = replayed(('"paid", success=True', '"paid", success=False'))
    assert (code, outcomes) == (3, {"CHANGED"})
    assert "with another outcome than the record's (success: the objective is no longer met)" in detail
    assert replayed(claim)[:2] == (3, {"CHANGED"})
    code, outcomes, detail = replayed(twice)
    assert (code, outcomes) == (1, {"VIOLATED"})
    assert "at-most-once violated at step 1, without any fault: refund(order=7) was committed 2 times" in detail
    shown = chaosagent("show", "suite").out
    assert "late without faults" in shown
    assert "It is a recording and no finding" in shown


MOVES = """
from chaosagent import Outcome, Task, effect, target


@target(tasks=[Task("pay"), Task("ask")], objective=lambda task, outcome: "sent" in outcome.message)
async def bank(task, run):
    door = run.service("bank", {"move": lambda src, dst: "ok"}, effects={"move": effect("src", "dst")})
    await door("move", src="A", dst="B")
    return Outcome("sent")
"""


@pytest.mark.parametrize(
    ("edit", "code", "outcome", "said"),
    [
        (('src="A", dst="B"', 'src="B", dst="A"'), 3, "CHANGED", "the same values under other names"),
        (('"sent" in outcome.message', "True"), 3, "CHANGED", "contract objective: the declaration has changed"),
        ((', objective=lambda task, outcome: "sent" in outcome.message', ""), 3, "CHANGED", "no such declaration"),
        (('Task("pay")', 'Task("paid")'), 3, "NOT_LANDED", "the target has no task 'pay' any more"),
        (('src="A"', 'src="C"'), 3, "CHANGED", "no longer commits"),
    ],
    ids=["swapped", "loosened", "without an objective", "renamed task", "another source"],
)
def test_a_run_without_faults_that_comes_to_something_else_does_not_hold(
    chaosagent: Command, folder: Path, edit: tuple[str, str], code: int, outcome: str, said: str
) -> None:
    (folder / "bank.py").write_text(MOVES, "utf-8")
    (folder / "bank.yaml").write_text("target: bank.py:bank\ntasks: [pay]\ncontracts: [no-crash]\nbudget: 1.2\n")
    chaosagent("search", "bank.yaml", "--out", "found")
    assert len(chaosagent("suite", "found", "--out", "suite", "--json").json["without_faults"]) == 1
    (record,) = (folder / "suite").glob("*nominal*.replay")
    assert chaosagent("replay", record).code == 0

    (folder / "bank.py").write_text(f"{MOVES.replace(*edit)}\n# of another size, as bytecode is cached\n", "utf-8")
    forget("bank")
    changed = chaosagent("replay", record, "--json")

    assert (changed.code, changed.json["records"][0]["outcome"]) == (code, outcome)
    assert said in changed.json["records"][0]["detail"]
    assert record.stat().st_mode & 0o777 == 0o644


def test_accepting_another_outcome_counts_for_that_outcome_only(chaosagent: Command, folder: Path) -> None:
    assert chaosagent("search", "study.yaml", "--out", "found").code == 1
    assert chaosagent("suite", "found", "--out", "suite", "--nominal", "1").code == 0
    for path in (folder / "suite").glob("*at-most-once*"):
        path.unlink()
    edit_agent(folder, ('"paid", success=True', '"paid", success=False'))

    changed, accepted = chaosagent("replay", "suite"), chaosagent("replay", "suite", "--accept")
    again = chaosagent("replay", "suite")
    edit_agent(folder, ('"paid", success=False', '"paid", success=False, refused=True'))
    other = chaosagent("replay", "suite")

    assert [one.code for one in (changed, accepted, again, other)] == [3, 0, 0, 3]
    assert "reviewed: today's run ends with another outcome" in again.out


def test_of_each_category_some_tasks_are_run_and_what_cannot_be_recorded_is_said(
    chaosagent: Command, folder: Path
) -> None:
    agent = folder / "agent.py"
    tasks = '[Task("a1", input=1, category="a"), Task("bad", input=0, category="a"), '
    tasks += 'Task("a2", input=2, category="a"), Task("a3", input=3, category="a"), Task("b1", input=4, category="b")]'
    text = agent.read_text("utf-8").replace('[Task("late", input=7), Task("lost", input=8)]', tasks)
    agent.write_text(text.replace("    known = set()", "    known = set()\n    1 / task.input"), "utf-8")
    assert chaosagent("search", "study.yaml", "--out", "many").code == 1

    chosen = chaosagent("suite", "many", "--out", "suite", "--json")
    again = chaosagent("suite", "many", "--out", "suite", "--add", "--json")
    agent.write_text(agent.read_text("utf-8") + "\n", "utf-8")
    changed = chaosagent("suite", "many", "--out", "other", "--json")

    assert [one["task"] for one in chosen.json["without_faults"]] == ["a1", "a2", "b1"]
    assert chosen.json["remarks"] == ["bad: no run without faults: it breaks no-crash by itself"]
    assert again.json["without_faults"] == []
    assert changed.json["without_faults"] == []
    assert "changed since many was searched" in changed.json["remarks"][0]


def steps_of(job: str) -> list[dict[str, str]]:
    """Return the steps of the workflow in the docs that run chaosagent."""
    text = (Path(__file__).parents[2] / "docs" / "ci.md").read_text("utf-8")
    steps = yaml.safe_load(text.partition("```yaml")[2].partition("```")[0])["jobs"][job]["steps"]
    return [step for step in steps if step.get("run", "").startswith("chaosagent ")]


@pytest.mark.usefixtures("records")
def test_the_workflow_in_the_docs_runs_and_its_files_say_what_is_known_and_what_broke(
    chaosagent: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    replaying, searching, comparing = (
        shlex.split(os.path.expandvars(step["run"].partition("||")[0]))[1:]
        for job in ("replays", "night")
        for step in steps_of(job)
    )
    assert [command[0] for command in (replaying, searching, comparing)] == ["replay", "search", "compare"]
    assert chaosagent("suite", "found", "--nominal", "0").code == 0

    replayed = chaosagent(*replaying)
    assert (folder / "summary.md").read_text("utf-8").startswith("### chaosagent replay: 1 known")
    searched = chaosagent(*searching)
    shutil.copytree("night", "last")
    compared = chaosagent(*comparing)

    assert (replayed.code, searched.code, compared.code) == (0, 1, 0)
    assert "\n::notice file=tests/replays/" in replayed.err
    suite = ElementTree.parse(folder / "replays.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("1", "0", "1")
    night = ElementTree.parse(folder / "night.xml").getroot()
    assert (night.get("tests"), night.get("failures"), night.get("skipped")) == ("4", "2", "0")
    (result,) = json.loads((folder / "replays.sarif").read_text("utf-8"))["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("at-most-once", "note")
    assert (folder / "summary.md").read_text("utf-8").startswith("### chaosagent: Nothing is new or cheaper")


def test_the_comment_on_a_change_says_what_it_breaks_and_escapes_what_is_not_ours(folder: Path) -> None:
    shutil.copytree(folder, folder / "base")
    agent = folder / "agent.py"
    agent.write_text(agent.read_text("utf-8").replace("late", "<b>late|"), "utf-8")
    base = folder / "base" / "agent.py"
    base.write_text(agent.read_text("utf-8").replace(BROKEN, FIXED), "utf-8")
    (folder / "program.py").write_text(PROGRAM, "utf-8")
    (folder / "bin").mkdir()
    (folder / "bin" / "chaosagent").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{folder}/program.py" "$@"\n')
    (folder / "bin" / "chaosagent").chmod(0o755)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"

    codes = [
        subprocess.run(
            ["bash", "-ec", step["run"]],
            cwd=folder / step.get("working-directory", "."),
            env={**os.environ, "PATH": path},
            check=False,
            timeout=300,
        ).returncode
        for step in steps_of("change")
    ]

    assert codes == [0, 0, 1]
    comment = (folder / "comment.md").read_text("utf-8")
    assert comment.startswith("### chaosagent: Worse: 2 new.")
    assert "| new | at-most-once | &lt;b\\>late\\| | 0 | proved up to 1.2 | cost 1.1 |" in comment
    assert "<" not in comment


@pytest.mark.usefixtures("records")
def test_what_is_covered_is_not_added_again_and_what_is_there_stays(chaosagent: Command, folder: Path) -> None:
    assert chaosagent("suite", "found", "--out", "suite", "--nominal", "0").code == 0
    before = names(folder / "suite")

    again = chaosagent("suite", "found", "--out", "suite", "--nominal", "0")
    added = chaosagent("suite", "found", "--out", "suite", "--nominal", "0", "--add", "--explain")

    assert again.code == 2
    assert "holds a suite already. Add to it with --add" in again.err
    assert added.code == 0
    assert "One record in suite: 0 new, of 2 in all" in added.out
    assert "Not in the suite, as others cover the same" in added.out
    assert names(folder / "suite") == before


def test_copies_what_others_cover_and_what_no_longer_lands_is_pruned_with_its_reason(
    chaosagent: Command, records: Path, folder: Path
) -> None:
    suite = folder / "suite"
    shutil.copytree(records, suite)
    first, second = sorted(suite.glob("*.replay"))
    shutil.copyfile(first, suite / "copy.replay")
    for path in (first, suite / "copy.replay"):
        write_review(path, read_record(path), Review(expect=Expectation.HELD))

    before = names(suite)
    dry = chaosagent("suite", "--prune", "--dry-run", "--out", suite)
    assert names(suite) == before
    pruned = chaosagent("suite", "--prune", "--out", suite, "--json")

    (removed,) = pruned.json["removed"]
    assert removed["reason"].startswith("the same run as")
    assert f"would be removed: {removed['path']}: {removed['reason']}" in dry.err
    assert "nothing was written or deleted" in dry.err
    assert len(list(suite.glob("*.replay"))) == 2, "of one it is expected that it holds, of the other nothing"
    write_review(second, read_record(second), Review(expect=Expectation.HELD))
    (superseded,) = chaosagent("suite", "--prune", "--out", suite, "--json").json["removed"]
    assert "is no dearer and covers all that it covers" in superseded["reason"]
    edit_agent(folder, (BROKEN, FIXED), ('run.service("payments"', 'run.service("bank"'))
    (idle,) = chaosagent("suite", "--prune", "--out", suite, "--json").json["removed"]
    assert idle["reason"].startswith("it no longer lands: ")
    assert names(suite) == []


@pytest.mark.parametrize("case", ["empty", "no finding", "damaged", "other target", "nothing named"])
def test_bad_input_is_named_and_nothing_is_written(chaosagent: Command, records: Path, folder: Path, case: str) -> None:
    (folder / "empty").mkdir()
    arguments: list[object] = ["found"]
    record = sorted(records.glob("*.replay"))[0]
    if case == "empty":
        arguments, said = ["empty"], "empty holds no study: there is no study.db"
    elif case == "no finding":
        chaosagent("search", "study.yaml", "--out", "none", "--config", "hardened")
        arguments, said = ["none", "--nominal", "0"], "none: nothing to choose from: there is no counterexample."
    elif case == "damaged":
        (folder / "suite").mkdir()
        shutil.copyfile(record, folder / "suite" / record.name)
        (folder / "suite" / f"{record.stem}.accepted.toml").write_text("expect = 7", encoding="utf-8")
        arguments, said = ["found", "--add"], "version must be a whole number, got None. Restore the file"
    elif case == "other target":
        study = "target: refund\ncontracts: [no-ghosts]\nbudget: 1.2\noperators: [service.error_status]\n"
        (folder / "other.yaml").write_text(study, encoding="utf-8")
        chaosagent("search", "other.yaml", "--out", "other")
        arguments, said = ["found", "other"], "Make a suite for each target, in a folder of its own"
    else:
        arguments, said = [], "name the folders of studies to choose records from, or --prune"
    before = names(folder / "suite")

    answer = chaosagent("suite", *arguments, "--out", "suite")

    assert answer.code == 2
    assert said in answer.err
    assert names(folder / "suite") == before


@pytest.mark.usefixtures("records")
def test_a_suite_is_written_whole_or_not_at_all(
    chaosagent: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced: list[Path] = []
    move = Path.replace

    def fails_at_the_second(self: Path, target: Path) -> Path:
        if self.suffix == ".replay":
            raise OSError(28, "No space left on device")
        replaced.append(target)
        return move(self, target)

    monkeypatch.setattr(Path, "replace", fails_at_the_second)

    (folder / "suite").mkdir()
    answer = chaosagent("suite", "found", "--out", "suite", "--nominal", "0")

    assert answer.code == 2
    assert "cannot be written to: No space left on device. Choose another --out." in answer.err
    assert replaced, "one file was there already"
    assert names(folder / "suite") == []


@pytest.mark.usefixtures("records")
def test_what_a_killed_process_has_left_of_a_suite_is_no_part_of_it(chaosagent: Command, folder: Path) -> None:
    draft = folder / ".suite.writing"
    shutil.copytree("found/replays", draft)

    chosen = chaosagent("suite", "found", "--out", "suite", "--nominal", "0", "--json")

    assert not draft.exists()
    assert [record["new"] for record in chosen.json["records"]] == [True]


@pytest.mark.usefixtures("records")
def test_a_suite_goes_into_the_working_directory(chaosagent: Command, folder: Path) -> None:
    chosen = chaosagent("suite", "found", "--out", ".", "--add", "--nominal", "0")

    assert chosen.code == 0
    assert not list(folder.glob(".*writing"))


@pytest.mark.usefixtures("records")
def test_pruning_keeps_what_is_open_beside_what_holds_today(chaosagent: Command, folder: Path) -> None:
    paths = sorted(Path("found/replays").glob("*.replay"))
    edit_agent(folder, ('if run.config.settings["keys"] else None', "if task.input == 7 else None"))
    for path in paths:
        write_review(path, read_record(path), Review(expect=Expectation.VIOLATED))

    half = chaosagent("replay", "found/replays")
    pruned = chaosagent("suite", "--prune", "--out", "found/replays", "--json")

    assert {word for word in ("KNOWN", "HELD") if word in half.out} == {"KNOWN", "HELD"}
    assert pruned.json["removed"] == []


@pytest.mark.usefixtures("records")
def test_pruning_says_what_could_not_be_judged(chaosagent: Command, folder: Path) -> None:
    edit_agent(folder, ("async def shop", "def is_gone():\n    pass\n\n\nimport nothing_of_that_name\nasync def shop"))

    pruned = chaosagent("suite", "--prune", "--out", "found/replays", "--json")

    assert pruned.code == 4
    assert (pruned.json["removed"], len(pruned.json["not_judged"])) == ([], 2)


def test_nothing_is_deleted_where_something_cannot_be_written(chaosagent: Command, folder: Path) -> None:
    chaosagent("search", "study.yaml", "--out", "mine")
    chaosagent("suite", "mine", "--out", "suite", "--nominal", "0")
    (record,) = (folder / "suite").glob("*.replay")
    shutil.copyfile(record, folder / "suite" / "copy.replay")
    chosen = chaosagent("suite", "mine", "--out", "other", "--json")
    nominal = chosen.json["without_faults"][0]["path"].replace("other", "suite").replace(".replay", ".accepted.toml")
    Path(nominal).write_text("", encoding="utf-8")
    before = names(folder / "suite")

    refused = chaosagent("suite", "mine", "--out", "suite", "--prune", "--add")

    assert refused.code == 2
    assert names(folder / "suite") == before


def test_a_failure_in_two_configurations_is_covered_in_both(chaosagent: Command, records: Path) -> None:
    del records
    agent = Path("agent.py")
    second = ', SystemConfig("second", {"keys": False})]'
    agent.write_text(agent.read_text("utf-8").replace('{"keys": True})]', '{"keys": True})' + second), encoding="utf-8")
    forget("agent")
    chaosagent("search", "study.yaml", "--out", "first")
    chaosagent("search", "study.yaml", "--out", "second", "--config", "second")

    chosen = chaosagent("suite", "first", "second", "--out", "suite", "--nominal", "0", "--json")

    assert {element for record in chosen.json["records"] for element in record["covers"]} >= {
        "at-most-once in configuration naive",
        "at-most-once in configuration second",
    }


def test_two_different_records_of_one_name_are_refused(records: Path) -> None:
    path = sorted(records.glob("*.replay"))[0]
    record = read_record(path)
    other = replace(record, trace_digest="f" * 32)

    check_one_suite([(path, record), (Path("elsewhere") / path.name, record)])
    with pytest.raises(UsageError, match="have the same name and hold different runs"):
        check_one_suite([(path, record), (Path("elsewhere") / path.name, other)])


@pytest.mark.slow
def test_the_triage_assistant_from_a_search_to_a_red_build(chaosagent: Command, folder: Path) -> None:
    (folder / "triage.yaml").write_text(
        "target: triage\nconfig: naive\ntasks: [refund-damaged, missing-parcel]\nbudget: 1.2\n"
        "operators: [service.lost_response, service.error_status]\n",
        encoding="utf-8",
    )

    searched = chaosagent("search", "triage.yaml", "--out", "night")
    chosen = chaosagent("suite", "night", "--json")
    known = chaosagent("replay", "tests/replays")
    fixed = chaosagent("replay", "tests/replays", "--config", "hardened", "--promote")
    back = chaosagent("replay", "tests/replays", "--json")

    assert [one.code for one in (searched, chosen, known, fixed, back)] == [1, 0, 0, 0, 1]
    paths = [record["path"] for record in chosen.json["records"]]
    assert len(paths) >= 2
    assert all(path in known.out for path in paths)
    assert len(chosen.json["without_faults"]) == 2
    assert known.out.count("the task ends as recorded") == 2
    assert known.out.count("KNOWN ") == fixed.out.count("expected to hold from now on") == len(paths)
    standings = {record["path"]: record["standing"] for record in back.json["records"]}
    assert {path: standings[path] for path in paths} == dict.fromkeys(paths, "came back")
    assert {standing for path, standing in standings.items() if path not in paths} == {"as expected"}

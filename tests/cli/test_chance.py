"""The command line with targets that answer by chance, and with targets that differ between processes."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_replay import edit_agent

Command = Callable[..., Any]

BY_CHANCE = '''
import random

from chaosagent import Outcome, Task, effect, target


@target(tasks=[Task("a"), Task("b")])
async def shop(task, run):
    """Asks its model, which answers by chance, whether to pay again."""
    bank = run.service("bank", {"pay": lambda: 1}, effects={"pay": effect()})
    model = run.model("assistant", {"chat": lambda prompt: {"content": str(random.random()), "tool_calls": []}})
    await model("chat", prompt="plan")
    for _ in range(2):
        try:
            await bank("pay")
            break
        except ConnectionError:
            answer = await model("chat", prompt="again?")
            if float(answer["content"]) < 0.0001:
                break
    return Outcome("paid", success=True)
'''
BY_HASH = '''
from chaosagent import Outcome, Task, target


@target(tasks=[Task("a")])
async def shop(task, run):
    """Looks things up in the order of a set."""
    shelf = run.service("shelf", lambda operation, what: what, read_only=True)
    for what in {"apple", "banana", "cherry", "date", "elder", "fig", "grape"}:
        await shelf("find", what=what)
    return Outcome("done", success=True)
'''
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def no_cold_repeats() -> None:
    """Let there be repeats: they show what differs between processes."""


def answers_in(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "answers.db")) as connection:
        count: int = connection.execute("SELECT count(*) FROM answer").fetchone()[0]
    return count


def test_workers_of_two_processes_share_the_frozen_answers(chaosagent: Command, folder: Path) -> None:
    (folder / "agent.py").write_text(BY_CHANCE, encoding="utf-8")

    found = chaosagent("search", "study.yaml", "--out", "one", "--executor", "process", "--workers", 2, "--json").json

    assert "model:assistant[1], answer: expected" in found["stochastic"]
    assert found["errors"] == 0
    assert found["unlike"] == []
    assert all(one["confirmed"] and one["shown"]["none_cheaper_confirmed"] for one in found["counterexamples"])
    assert not any(one["certified"] for one in found["counterexamples"])
    assert not any(one["certified"] or one["safe"] for one in found["searches"])
    assert all(one["confirmation"]["runs"] == 16 for one in found["counterexamples"])
    assert all(one["confirmation"]["nominal_violations"] == 0 for one in found["counterexamples"])
    assert answers_in(folder / "one") >= 2

    replay = chaosagent("replay", "one/replays", "--mode", "both", "--json").json
    assert replay["totals"] == {"REPRODUCED": len(found["counterexamples"]), "VIOLATED": len(found["counterexamples"])}


def test_a_study_may_say_that_its_target_is_stochastic_and_how_often_to_confirm(
    chaosagent: Command, folder: Path
) -> None:
    (folder / "agent.py").write_text(BY_CHANCE, encoding="utf-8")
    study = (folder / "study.yaml").read_text(encoding="utf-8")
    (folder / "study.yaml").write_text(
        study + "stochastic: true\nsearch: {confirmations: 7, alpha: 0.4, beta: 0.2, difference: 0.3}\n",
        encoding="utf-8",
    )

    found = chaosagent("search", "study.yaml", "--out", "one", "--json").json

    assert found["stochastic"] == "the study says so"
    assert {one["confirmation"]["runs"] for one in found["counterexamples"]} == {7}
    assert all(one["confirmation"]["evidence"] * one["confirmation"]["alpha"] >= 1 for one in found["counterexamples"])


def test_what_differs_between_processes_is_refused_with_its_likely_cause(chaosagent: Command, folder: Path) -> None:
    (folder / "agent.py").write_text(BY_HASH, encoding="utf-8")

    answer = chaosagent("search", "study.yaml", "--out", "one", "--contract", "no-crash")

    assert answer.code == 4
    assert "task 'a', seed 0: the target is not deterministic" in answer.err
    assert "two runs in one process are equal, two in different processes are not" in answer.err
    assert re.search(r"at service:shelf\[\d\], request: expected find\(", answer.err)
    assert "the order of a set" in answer.err


def test_secrets_are_not_left_behind_in_frozen_answers(chaosagent: Command, folder: Path) -> None:
    agent = BY_CHANCE.replace('tasks=[Task("a"), Task("b")]', 'tasks=[Task("a"), Task("b")], secrets=["0\\\\.[0-9]+"]')
    (folder / "agent.py").write_text(agent, encoding="utf-8")

    found = chaosagent("search", "study.yaml", "--out", "one", "--json").json

    assert found["stochastic"] is not None
    assert not (folder / "one" / "answers.db").exists()


FLAKY = '''
import random

from chaosagent import Outcome, Task, target

chance = random.Random(7)


@target(tasks=[Task("a")])
async def shop(task, run):
    """Crashes in some share of its runs, whatever is injected."""
    shelf = run.service("shelf", lambda operation, what: what, read_only=True)
    model = run.model("assistant", {"chat": lambda prompt: {"content": str(chance.random()), "tool_calls": []}})
    try:
        await shelf("find", what="apple")
    except (ConnectionError, TimeoutError):
        pass
    if float((await model("chat", prompt="go on?"))["content"]) < SHARE:
        raise RuntimeError("lost its way")
    return Outcome("done", success=True)
'''


@pytest.mark.parametrize(("share", "code"), [(0.3, 1), (0.05, 3), (0.0, 0)])
def test_what_breaks_without_faults_by_chance_is_reported_with_its_probability(
    chaosagent: Command, folder: Path, share: float, code: int
) -> None:
    (folder / "agent.py").write_text(FLAKY.replace("SHARE", str(share)), encoding="utf-8")
    study = (folder / "study.yaml").read_text(encoding="utf-8")
    (folder / "study.yaml").write_text(study + "stochastic: true\n", encoding="utf-8")

    answer = chaosagent("search", "study.yaml", "--out", "one", "--contract", "no-crash")
    search = chaosagent("search", "study.yaml", "--out", "two", "--contract", "no-crash", "--json").json["searches"][0]

    assert answer.code == code
    assert not search["certified"]
    assert ("Broken without any fault, by chance: one search" in answer.out) == (share > 0)
    assert bool(re.search(r"P = 0\.\d\d \[0\.\d\d to [01]\.\d\d\], \d+ of \d+ fresh runs", answer.out)) == (share > 0)
    if share:
        low, high = search["broken_anyway"]["interval"]
        assert low < share < high
    else:
        assert search["broken_anyway"] is None


def test_what_breaks_by_chance_is_expected_to_hold_only_after_enough_runs(chaosagent: Command, folder: Path) -> None:
    agent = BY_CHANCE.replace("< 0.0001", "> 0.4")
    (folder / "agent.py").write_text(agent, encoding="utf-8")
    study = "target: agent.py:shop\noperators: [service.lost_response]\n"
    (folder / "study.yaml").write_text(study, encoding="utf-8")
    chaosagent("search", "study.yaml", "--out", "out")
    (record,) = (folder / "out" / "replays").glob("a-at-most-once-*.replay")
    edit_agent(folder, ("again?", "once more?"), ("> 0.4", "> -1"))

    one = chaosagent("replay", record, "--promote", "--draws", "1", "--json").json["records"][0]
    many = chaosagent("replay", record, "--promote", "--draws", "40", "--json").json["records"][0]

    assert (one["outcome"], one["expect"]) == ("HELD", None)
    assert any(note.startswith("not promoted: it broke in ") for note in one["notes"])
    assert (many["outcome"], many["expect"]) == ("HELD", "held")

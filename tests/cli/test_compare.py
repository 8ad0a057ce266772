"""`chaosagent compare`: what it prints of two stored studies, and how it ends."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaosagent.cli.main import main

Command = Callable[..., Any]
STUDY = """
target: refund
contracts: [at-most-once, no-ghosts, no-crash]
budget: 1.2
operators: [service.lost_response, service.error_status]
"""


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with studies of two configurations, one of them also cut short."""
    base = tmp_path_factory.mktemp("nights")
    (base / "study.yaml").write_text(STUDY, encoding="utf-8")
    for name, *options in (
        ("naive", "--config", "naive"),
        ("hardened", "--config", "hardened"),
        ("cut", "--config", "hardened", "--trials", "2"),
        ("cut-naive", "--config", "naive", "--trials", "2"),
        ("more", "--config", "naive", "--seed", "1", "--seed", "0", "--budget", "1.1"),
    ):
        assert main(["search", str(base / "study.yaml"), "--out", str(base / name), *options]) in (0, 1, 3)
    (base / "other.yaml").write_text(f"{STUDY}cost: {{c_hook: 2.0}}\n", encoding="utf-8")
    assert main(["search", str(base / "other.yaml"), "--out", str(base / "dearer"), "--config", "naive"]) in (0, 1, 3)
    return base


def told(nights: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    words = [str(nights / word) if not word.startswith("--") else word for word in arguments]
    code = main(["compare", *words])
    return code, capsys.readouterr().out


def test_a_repair_is_gone_and_the_way_back_is_new(nights: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = told(nights, capsys, "naive", "hardened")
    back = told(nights, capsys, "hardened", "naive")

    assert there[0] == 0
    assert "Nothing is new or cheaper up to a budget of 1.2." in there[1]
    assert ": gone" in there[1]
    assert back[0] == 1
    assert "Worse: " in back[1]
    assert "proved up to 1.2  cost 1.1" in back[1]
    assert "of what is gone" in there[1]
    assert "of what is new or cheaper" in back[1]
    assert "of what is gone" not in back[1]


def test_the_page_says_what_changed_in_the_words_of_the_command(
    nights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("jinja2")
    page, figure = tmp_path / "page.html", tmp_path / "both.svg"
    code, out = told(nights, capsys, "hardened", "naive", "--json")
    assert main(["report", str(nights / "naive"), "--since", str(nights / "hardened"), "--out", str(page)]) == 0

    text = page.read_text("utf-8")
    assert code == 1
    assert "What changed since" in text
    assert "Worse: " in text
    assert text.count("<td>proved up to 1.2</td><td>cost 1.1</td>") == json.loads(out)["counts"]["new"]
    if importlib.util.find_spec("matplotlib"):
        assert main(["compare", str(nights / "hardened"), str(nights / "naive"), "--out", str(figure)]) == 1
        assert "Survival" in figure.read_text("utf-8")


def test_one_page_holds_several_studies_and_every_counterexample(
    nights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("jinja2")
    folders = [str(nights / name) for name in ("naive", "hardened", "cut")]
    page = tmp_path / "page.html"
    assert main(["report", *folders, "--out", str(page), "--json"]) == 0

    told = json.loads(capsys.readouterr().out)["studies"]
    text = page.read_text("utf-8")
    assert [one["verdict"] for one in told] == ["Not robust.", "Robust.", "Inconclusive."]
    assert "1 of 3 studies is broken by faults within their budget" in text
    shown = re.findall(r'data-counterexample="(\w+)"', text)
    assert sorted(shown) == sorted(one["id"] for study in told for one in study["counterexamples"])
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids)), "nothing of one study is taken for something of another"
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)


def test_a_study_is_like_itself(nights: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = told(nights, capsys, "naive", "naive", "--json")

    assert code == 0
    assert json.loads(out)["differences"] == []


def test_what_the_first_study_did_not_search_is_not_called_new_unless_it_holds_there(
    nights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    undecided = told(nights, capsys, "cut", "naive")
    replayed = told(nights, capsys, "cut", "naive", "--replay", "--json")

    assert undecided[0] == 3
    assert "Cannot be told" in undecided[1]
    assert replayed[0] == 1
    assert {one["change"] for one in json.loads(replayed[1])["differences"] if one["after"]["cost"]} == {"new"}


def test_what_breaks_the_same_target_too_was_missed_and_is_not_new(
    nights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = told(nights, capsys, "cut-naive", "naive", "--replay", "--json")

    counts = json.loads(out)["counts"]
    assert code == 0
    assert counts["missed before"] == json.loads(out)["replayed"] > 0
    assert counts["new"] == counts["not comparable"] == 0
    assert "it is not new" in told(nights, capsys, "cut-naive", "naive", "--replay")[1]


@pytest.mark.slow
def test_a_replay_runs_the_code_that_the_first_study_searched_or_none(chaosagent: Command, folder: Path) -> None:
    """The night finds a double payment that a change of the file brought, and one that the evening missed."""
    agent = folder / "agent.py"
    broken = agent.read_text("utf-8")
    sound = broken.replace("for _ in range(2)", "for _ in range(1)")

    def changed_to(text: str) -> None:
        agent.write_text(text, encoding="utf-8")
        for name in [name for name in sys.modules if name.startswith("chaosagent_file_")]:
            del sys.modules[name]

    for name, text in (("was-sound", sound), ("was-broken", broken)):
        changed_to(text)
        (folder / name).mkdir()
        (folder / name / "agent.py").write_text(text, encoding="utf-8")
        assert chaosagent("search", "study.yaml", "--trials", 1, "--out", f"{name}/out").code == 3
    changed_to(f"{broken}\n# a later version\n")
    chaosagent("search", "study.yaml", "--out", "tonight")

    for name, code, change in (("was-sound", 1, "new"), ("was-broken", 0, "missed before")):
        pair = (f"{name}/out", "tonight", "--replay")
        for wrong in ((), ("--target", "agent.py:shop")):
            refused = chaosagent("compare", *pair, *wrong)
            assert refused.code == 2
            assert f"agent.py: not the code that {name}/out was searched with" in refused.err
        compared = chaosagent("compare", *pair, "--target", f"{name}/agent.py:shop", "--json")
        assert compared.code == code, compared
        assert compared.json["counts"][change] == compared.json["replayed"] > 0
    refused = chaosagent("compare", "was-sound/out", "tonight", "--target", "was-sound/agent.py:shop")
    assert (refused.code, "only --replay runs a target" in refused.err) == (2, True)


TWICE = """
from chaosagent import Effect, Outcome, Task, target


def once(name):
    seen = set()

    def act(key):
        repeated = key in seen
        seen.add(key)
        return repeated

    return {name: act}


@target(tasks=[Task("one")])
async def desk(task, run):
    for name in ("pay", "mail"):
        act = once(name) if name in GUARDED else {name: lambda key: False}
        effects = {name: lambda arguments, answer, name=name: None if answer else Effect(name, {})}
        await run.service(name + "s", act, effects=effects)(name, key="k")
    return Outcome("done", success=True)
"""


def test_another_cause_of_the_same_cost_is_not_the_same(chaosagent: Command, folder: Path) -> None:
    study = "target: desk.py:desk\ncontracts: [at-most-once]\nbudget: 1.2\noperators: [service.duplicate_delivery]\n"
    (folder / "desk.yaml").write_text(study, encoding="utf-8")
    for name, guarded in (("was", ["mail"]), ("is", ["pay"])):
        (folder / "desk.py").write_text(f"GUARDED = {guarded}\n{TWICE}", encoding="utf-8")
        for module in [module for module in sys.modules if module.startswith("chaosagent_file_")]:
            del sys.modules[module]
        assert chaosagent("search", "desk.yaml", "--out", name).code == 1

    changed = chaosagent("compare", "was", "is", "--markdown", "comment.md")
    (folder / "older").mkdir()
    (folder / "older" / "desk.py").write_text(f"GUARDED = ['mail']\n{TWICE}", encoding="utf-8")
    replayed = chaosagent("compare", "was", "is", "--replay", "--target", "older/desk.py:desk")

    assert (changed.code, replayed.code) == (3, 1)
    assert "the same cost by another cause" in changed.out
    assert "the same cost by another cause" in (folder / "comment.md").read_text("utf-8")
    assert "service:mails[1] service.duplicate_delivery" in changed.out
    assert "Worse: 1 new." in replayed.out
    assert chaosagent("compare", "was", "was").code == 0


def test_what_only_one_of_them_has_is_listed_and_not_compared(nights: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = told(nights, capsys, "naive", "more", "--markdown", "comment.md")

    assert code == 0
    assert "| only the second | 3 searches | at-most-once in" in (nights / "comment.md").read_text("utf-8")
    assert "only the second  3 searches" in out
    assert "budgets differ" in out


def test_studies_that_weigh_cost_otherwise_cannot_be_compared(nights: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(nights / "naive"), str(nights / "dearer")]) == 2
    assert "`cost` is not that of" in capsys.readouterr().err


def test_a_folder_without_a_study_is_named(nights: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(nights / "naive"), str(nights / "nowhere")]) == 2
    assert "nowhere does not exist" in capsys.readouterr().err


def test_a_study_file_stands_for_its_folder(
    nights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(nights / "hardened", tmp_path / "chaosagent-out" / nights.name)
    monkeypatch.chdir(tmp_path)

    code = main(["compare", str(nights / "naive"), str(nights / "study.yaml"), "--json"])

    assert code == 0
    assert json.loads(capsys.readouterr().out)["second"]["config"] == "hardened"

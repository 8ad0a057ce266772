"""`chaosagent report` writes the page of a study, and `chaosagent search` does at its end; neither invents anything."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chaosagent.api.stored.study_facts import study_facts
from chaosagent.cli.session import PageSink, write_beside
from chaosagent.study.loop.study import Study
from chaosagent.study.result import StudyProgress
from chaosagent.study.store.lock import lock_folder

pytest.importorskip("jinja2", reason="needs the extra `report`")

Command = Callable[..., Any]
NUMBERS = ("trials", "executions", "errors", "not_tried")


def test_a_search_writes_the_page_and_its_numbers_are_those_of_json(chaosagent: Command, folder: Path) -> None:
    found = chaosagent("search", "study.yaml", "--out", "out", "--json")
    told = chaosagent("report", "out", "--out", "again.html", "--json").json

    assert "chaosagent: the page of this study: out/report.html" in found.err
    assert {name: told[name] for name in NUMBERS} == {name: found.json[name] for name in NUMBERS}
    assert told["searches"] == len(found.json["searches"])
    assert told["standings"]["proved"] == sum(one["safe"] for one in found.json["searches"])
    assert (folder / "again.html").read_text("utf-8") == (folder / "out" / "report.html").read_text("utf-8")
    page = (folder / "again.html").read_text("utf-8")
    assert f"{found.json['trials']:,} trials in {found.json['executions']:,} runs" in page
    assert re.findall(r'data-counterexample="(\w+)"', page) != []


def test_without_jinja2_a_search_says_how_to_get_the_page(
    chaosagent: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)

    found = chaosagent("search", "study.yaml", "--out", "out")

    assert found.code == 1
    assert "pip install 'chaosagent[report]'" in found.err
    assert not (folder / "out" / "report.html").exists()


@pytest.mark.usefixtures("folder")
def test_a_page_that_fails_costs_neither_the_study_nor_its_answer(
    chaosagent: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("chaosagent.report.html.render.page_of", fails)
    monkeypatch.setattr("chaosagent.cli.session.PAGE_SECONDS_MIN", 0.0)

    found = chaosagent("search", "study.yaml", "--out", "out", "--json")

    assert found.code == 1
    assert found.json["counterexamples"] != []
    assert "chaosagent: no report.html: RuntimeError: broken" in found.err


def test_a_study_that_runs_or_was_killed_has_a_page_without_any_proof(chaosagent: Command, folder: Path) -> None:
    chaosagent("search", "study.yaml", "--out", "out")
    told = json.loads((folder / "out" / "progress.json").read_text("utf-8"))
    (folder / "out" / "progress.json").write_text(json.dumps({**told, "state": "running"}), "utf-8")

    with lock_folder(folder / "out"):
        running = chaosagent("report", "out", "--json").json

    assert (running["state"], running["proved_below"]) == ("running", 0.0)
    assert running["verdict"] == "So far: Not robust."
    page = (folder / "out" / "report.html").read_text("utf-8")
    assert "so no proof is final, and what its searches have proved so far is not shown" in page
    assert ">certified<" not in page
    assert "This is proved" not in page


def test_violations_that_are_not_reduced_yet_are_no_robustness(chaosagent: Command, folder: Path) -> None:
    chaosagent("search", "study.yaml", "--out", "out")
    told = json.loads((folder / "out" / "progress.json").read_text("utf-8"))
    known = {"state": "running", "found": 2, "best_cost": 1.1, "counterexamples": []}
    (folder / "out" / "progress.json").write_text(json.dumps({**told, **known}), "utf-8")

    with lock_folder(folder / "out"):
        running = chaosagent("report", "out", "--json").json

    assert running["verdict"] == "So far: Not robust."
    page = (folder / "out" / "report.html").read_text("utf-8")
    assert "Two violations are known, the cheapest of which costs 1.1; none of them is final." in page
    assert "Nothing was found" not in page


def test_a_page_is_written_while_a_search_runs_and_takes_a_hundredth_of_its_time(
    chaosagent: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chaosagent("search", "study.yaml", "--out", "out")
    page = folder / "out" / "report.html"
    now, spent, pages = [1000.0], 0.0, 0

    def slow_page(_: Path) -> str:
        nonlocal spent, pages
        assert write_beside(folder / "out").startswith("the page of this study")
        now[0] += 0.4 if pages == 3 else 0.1
        spent += 0.4 if pages == 3 else 0.1
        pages += 1
        return ""

    monkeypatch.setattr("chaosagent.cli.session.monotonic", lambda: now[0])
    monkeypatch.setattr("chaosagent.cli.session.write_beside", slow_page)
    with lock_folder(folder / "out"):
        sink = PageSink(folder / "out")
        sink.progress(StudyProgress())
        assert pages == 0
        for _ in range(300):
            now[0] += 1.0
            sink.progress(StudyProgress())

    assert pages > 5
    assert spent <= 0.01 * (now[0] - 1000.0)
    assert "So far: Not robust." in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("missing", "missing does not exist. Name the folder of a study"),
        (".", "holds no study: there is no study.db"),
        ("damaged", "study.db: it is no store of a study, or damaged"),
    ],
)
def test_a_folder_without_a_study_is_refused(chaosagent: Command, folder: Path, given: str, message: str) -> None:
    (folder / "damaged").mkdir()
    (folder / "damaged" / "study.db").write_text("no database", "utf-8")
    (folder / "damaged" / "study.yaml").write_text((folder / "study.yaml").read_text("utf-8"), "utf-8")

    answer = chaosagent("report", given)

    assert answer.code in (2, 4)
    assert message in answer.err
    assert not (folder / given / "report.html").exists()


def test_reading_a_folder_changes_nothing_in_it(chaosagent: Command, folder: Path) -> None:
    chaosagent("search", "study.yaml", "--out", "out")
    before = {path: path.read_bytes() for path in sorted((folder / "out").rglob("*")) if path.is_file()}

    facts = study_facts(folder / "out")

    assert facts.state == "ended"
    assert {path: path.read_bytes() for path in sorted((folder / "out").rglob("*")) if path.is_file()} == before


def test_a_study_whose_time_was_over_is_not_called_interrupted(
    chaosagent: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Study.run
    monkeypatch.setattr(Study, "run", lambda work: replace(run(work), out_of_time=True))
    chaosagent("search", "study.yaml", "--out", "out")

    assert chaosagent("report", "out", "--json").json["state"] == "out of time"
    page = (folder / "out" / "report.html").read_text("utf-8")
    assert "ended as its time was over. To go on, give the same command with --resume and more time" in page
    assert "out of time; continue it with --resume and more time" in chaosagent("status", "out").out

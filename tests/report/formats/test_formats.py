"""What build servers and code scanning read: every case once, with its counts, and no text of a target as markup."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import JUnitXml
from sarif.loader import load_sarif_file

from chaosagent.report.formats.cases import Case, Status
from chaosagent.report.formats.github import step_summary, workflow_commands
from chaosagent.report.formats.junit import junit_xml
from chaosagent.report.formats.sarif import sarif_json

STATUSES: tuple[Status, ...] = ("passed", "failed", "known", "open", "error")
TEXTS = st.text(max_size=60) | st.sampled_from(
    ["]]><x/>", "a\r\n::error::b", "%0A::error::", "| a | b |", "<img src=x>", "\x1b[2J\u202e", "\ud800"]
)
CASES = st.lists(
    st.builds(Case, TEXTS, TEXTS, st.sampled_from(STATUSES), TEXTS, TEXTS, st.sampled_from(["", "a b/c.replay", "/x"]))
)


@settings(max_examples=50, deadline=None)
@given(CASES)
def test_junit_has_each_case_once_and_counts_them(cases: list[Case]) -> None:
    suite = ElementTree.fromstring(junit_xml("chaosagent replay", cases).encode())

    found = suite.findall("testcase")
    assert len(found) == len(cases) == int(suite.get("tests", ""))
    for status, name in (("failed", "failure"), ("error", "error")):
        assert len(suite.findall(f"testcase/{name}")) == sum(case.status == status for case in cases)
    skipped = sum(case.status in ("known", "open") for case in cases)
    assert len(suite.findall("testcase/skipped")) == skipped == int(suite.get("skipped", ""))
    assert {node.tag for node in suite.iter()} <= {"testsuite", "testcase", "failure", "error", "skipped"}


@settings(max_examples=50, deadline=None)
@given(CASES)
def test_sarif_has_a_result_for_all_that_did_not_pass(cases: list[Case]) -> None:
    (run,) = json.loads(sarif_json("chaosagent replay", cases))["runs"]

    listed = [case for case in cases if case.status != "passed"]
    assert [one["level"] for one in run["results"]] == [
        "error" if case.status in ("failed", "error") else "note" for case in listed
    ]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    places = [one.get("locations") for one in run["results"]]
    assert [place is not None for place in places] == [case.path == "a b/c.replay" for case in listed]


EACH = [
    Case("at-most-once", f"records/{status}.replay", status, "paid <twice>", "a note", f"records/{status}.replay")
    for status in STATUSES
]


def test_a_reader_of_others_finds_in_junit_what_was_written(tmp_path: Path) -> None:
    file = tmp_path / "replays.xml"
    file.write_text(junit_xml("chaosagent replay", EACH), encoding="utf-8")

    (suite,) = JUnitXml.fromfile(str(file))

    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (5, 1, 1, 2)
    told = {case.name: [type(one).__name__ for one in case.result] for case in suite}
    assert told == {
        "records/passed.replay": [],
        "records/failed.replay": ["Failure"],
        "records/known.replay": ["Skipped"],
        "records/open.replay": ["Skipped"],
        "records/error.replay": ["Error"],
    }


def test_a_reader_of_others_finds_in_sarif_what_was_written(tmp_path: Path) -> None:
    file = tmp_path / "replays.sarif"
    file.write_text(sarif_json("chaosagent replay", EACH), encoding="utf-8")

    records = load_sarif_file(str(file)).get_records()

    assert [(one["Severity"], one["Code"], one["Location"]) for one in records] == [
        ("error", "at-most-once", "records/failed.replay"),
        ("note", "at-most-once", "records/known.replay"),
        ("note", "at-most-once", "records/open.replay"),
        ("error", "at-most-once", "records/error.replay"),
    ]


@settings(max_examples=50, deadline=None)
@given(CASES)
def test_no_text_begins_a_command_or_a_cell_of_its_own(cases: list[Case]) -> None:
    for line in workflow_commands(cases):
        assert re.fullmatch(r"::(error|notice) (file=[^:,\r\n]*,)?title=[^:,\r\n]*::[^\r\n]*", line)
    summary = step_summary("chaosagent replay", cases)
    rows = [line for line in summary.split("\n") if line.startswith("| ")][2:]
    assert len(rows) == len(cases)
    for row in rows:
        assert row.replace("\\|", "").count("|") == 5
        assert "<" not in row

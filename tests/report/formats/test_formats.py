"""What build servers and code scanning read: every case once, with its counts, and no text of a target as markup."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import JUnitXml
from sarif.loader import load_sarif_file

from chaosagent.report.formats.cases import Case, Status
from chaosagent.report.formats.github import EMPTY_COMMENT, markdown_text, step_summary, workflow_commands
from chaosagent.report.formats.junit import junit_xml
from chaosagent.report.formats.sarif import sarif_json

STATUSES: tuple[Status, ...] = ("passed", "failed", "known", "open", "error")
TEXTS = st.text(max_size=60) | st.sampled_from(
    ["]]><x/>", "a\r\n::error::b", "%0A::error::", "| a | b |", "<img src=x>", "\x1b[2J\u202e", "\ud800", "%" * 100_000]
)
CASES = st.lists(
    st.builds(
        Case,
        TEXTS,
        TEXTS,
        st.sampled_from(STATUSES),
        TEXTS,
        TEXTS,
        st.sampled_from(["", "a b/c.replay", "/x"]),
        line=st.integers(0, 3),
        warning=st.just("") | TEXTS,
    )
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
    assert {node.tag for node in suite.iter()} <= {"testsuite", "testcase", "failure", "error", "skipped", "system-out"}
    assert len(suite.findall("testcase/system-out")) == sum(bool(case.warning) for case in cases)


@settings(max_examples=50, deadline=None)
@given(CASES)
def test_sarif_has_a_result_for_all_that_failed_or_is_known_and_a_notification_for_what_is_open(
    cases: list[Case],
) -> None:
    (run,) = json.loads(sarif_json("chaosagent replay", cases))["runs"]

    listed = [case for case in cases if case.status not in ("passed", "open")]
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert len(notes) == sum((case.status == "open") + bool(case.warning) for case in cases)
    assert [one["level"] for one in run["results"]] == [
        "error" if case.status in ("failed", "error") else "note" for case in listed
    ]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    places = [one.get("locations") for one in run["results"]]
    assert [place is not None for place in places] == [bool(case.path) for case in listed]
    marks = [one["partialFingerprints"]["chaosagent/v1"] for one in run["results"]]
    assert all(marks)
    assert len({*marks}) == len(marks)


def test_a_fingerprint_is_the_same_whatever_else_fails_and_a_file_name_is_its_bytes(tmp_path: Path) -> None:
    odd = Case("c", "odd", "failed", path=os.fsdecode(b"a\xff b.replay"), line=7)
    below, twin = Case("c", "below", "failed", path=str(Path.cwd() / "x")), Case("", "refused", "error", path="y")
    outside = Case("c", "outside", "known", path=str(tmp_path / "z"), fingerprint="f")
    same = outside._replace(name="same")

    def results(*cases: Case) -> list[dict[str, Any]]:
        (run,) = json.loads(sarif_json("chaosagent replay", cases))["runs"]
        return list(run["results"])

    told = results(odd, below, twin, outside, same)
    places = [one["locations"][0]["physicalLocation"] for one in told]
    assert [place["artifactLocation"]["uri"] for place in places] == ["a%FF%20b.replay", "x", "y"] + [
        (tmp_path / "z").as_uri()
    ] * 2
    assert places[0]["region"] == {"startLine": 7}
    fewer = results(odd, below._replace(status="passed"), twin, outside._replace(status="passed"), same)
    assert [one["partialFingerprints"] for one in fewer] == [told[at]["partialFingerprints"] for at in (0, 2, 4)]


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
        ("error", "at-most-once", "records/error.replay"),
    ]


@settings(max_examples=50, deadline=None)
@given(CASES)
def test_no_text_begins_a_command_or_a_cell_of_its_own(cases: list[Case]) -> None:
    for line in workflow_commands(cases):
        assert re.fullmatch(
            r"::(error|warning|notice) (file=[^:,\r\n]*,(line=[0-9]+,)?)?title=[^:,\r\n]*::[^\r\n]*", line
        )
        assert len(line) < 30_000, "GitHub takes 64 KB"
    summary = step_summary("chaosagent replay", cases)
    rows = [line for line in summary.split("\n") if line.startswith("| ")][2:]
    assert len(rows) == len(cases)
    for row in rows:
        assert row.replace("\\|", "").count("|") == 5
        assert "<" not in row.replace(EMPTY_COMMENT, "")


@pytest.mark.parametrize(
    "text",
    [
        "@all",
        "ask @a-b.",
        "#12",
        "a/b#12",
        "GH-12",
        "gh-1",
        "https://a.example/b/issues/1",
        "www.a.example",
        "_www.a.b_",
        "x@y.z",
    ],
)
def test_no_text_calls_a_user_or_links_an_issue_or_a_page(text: str) -> None:
    shown = re.sub(r"\\(?=[!-/:-@[-`{-~])", "", markdown_text(text))  # as GitHub looks for them in rendered text

    assert not re.search(r"[@#]\w|gh-[0-9]|://|www\.", shown, re.IGNORECASE)
    assert shown.replace(EMPTY_COMMENT, "") == text

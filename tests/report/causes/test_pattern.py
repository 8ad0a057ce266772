"""Known patterns: a short page for each, the same in the terminal, on the report page and in the documents."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path

import pytest

from chaosagent.cli.main import main
from chaosagent.report.causes.pattern import PATTERNS, Pattern

PAGES = resources.files("chaosagent.report.causes.patterns")
DOCS = Path(__file__).parents[3] / "docs" / "patterns.md"


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda one: one.id)
def test_a_pattern_has_a_short_page_of_three_parts_with_an_example(pattern: Pattern) -> None:
    headings = [block.lines[0] for block in pattern.page if block.kind == "heading"]

    assert [heading.lower() for heading in headings] == [pattern.name, "fix", "when it is named"]
    assert "code" in {block.kind for block in pattern.page}
    assert pattern.fix.endswith(".")
    assert sum(len(block.lines) for block in pattern.page) < 30


def test_every_page_is_of_a_pattern_and_the_documents_link_to_it() -> None:
    names = {one.name.removesuffix(".md") for one in PAGES.iterdir() if one.name.endswith(".md")}
    linked = re.findall(r"\[(.+?)\]\(\.\./(chaosagent/report/causes/patterns/(.+?)\.md)\)", DOCS.read_text("utf-8"))

    assert names == {one.id for one in PATTERNS}
    assert [(name, file) for name, _, file in linked] == [(one.name, one.id) for one in PATTERNS]
    assert all((DOCS.parents[1] / path).is_file() for _, path, _ in linked)


def test_the_command_that_is_named_shows_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    (pattern, *_) = PATTERNS

    assert main(pattern.command.split()[1:]) == 0
    shown = capsys.readouterr().out
    assert main(["list", "patterns", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["patterns"]
    assert main(["list", "patterns", "retry-without-keys"]) == 2

    assert all(line in shown for line in pattern.text)
    assert [(one["name"], one["fix"]) for one in listed] == [(one.id, one.fix) for one in PATTERNS]
    assert "Did you mean 'retry-without-key'?" in capsys.readouterr().err

"""The table of extras that can be installed together: who excludes whom, and why."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from chaosagent.experiments import installed_together
from chaosagent.experiments.installed_together import EXTRAS, main, table

TOLD = """error: No solution found when resolving dependencies
  cause: Because crewai>=1.15 depends on mcp>=1.30.0,<2 and chaosagent depends on crewai>=1.15, we can conclude that
         chaosagent depends on mcp>=1.30.0,<2.
"""


def test_a_pair_that_cannot_be_resolved_is_a_no_on_both_sides_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def resolves(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        fails = {"mcp", "crewai"} <= set(command)
        return subprocess.CompletedProcess(command, int(fails), "", TOLD if fails else "")

    monkeypatch.setattr("chaosagent.experiments.installed_together.subprocess.run", resolves)
    names = ("mcp", "crewai", "dojo")

    told = table(names, installed_together.resolved(names, "3.12")).splitlines()

    assert told[2:5] == ["| `mcp` | yes | no | yes |", "| `crewai` | no | yes | yes |", "| `dojo` | yes | yes | yes |"]
    assert told[-1] == "* `crewai` with `mcp`: crewai>=1.15 needs mcp>=1.30.0,<2"
    assert len(asked) == 6
    assert all("all" in command and "3.12" in command for command in asked)


def test_the_page_has_every_extra_and_is_written_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = (Path(__file__).parents[2] / "docs" / "extras.md").read_text("utf-8")
    page = tmp_path / "extras.md"
    page.write_text(stored, "utf-8")
    monkeypatch.setattr(installed_together, "conflict_of", lambda *_: "")

    assert main(["--write", str(page)]) == 0

    written = page.read_text("utf-8")
    assert all(f"| `{extra}` | yes" in written and f"| `{extra}` | " in stored for extra in EXTRAS)
    assert written.partition("<!-- end -->")[2] == stored.partition("<!-- end -->")[2]

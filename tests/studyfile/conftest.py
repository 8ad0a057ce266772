"""A folder with a target and a contract of its own."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

AGENT = '''
from chaosagent import Outcome, SystemConfig, Task, target


@target(tasks=[Task("first"), Task("second")], configs=[SystemConfig("naive"), SystemConfig("hardened")])
async def agent(task, run):
    """Asks once."""
    await run.service("crm", {"get": lambda: 1}, read_only=True)("get")
    return Outcome("done", success=True)
'''
CHECKS = """
from chaosagent import contract


@contract("says-done", at_end=True)
def says_done(end):
    return end.outcome.message == "done"


def plain():
    return None
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Path]]:
    """Write a study file beside a target and return its path; what it imports is forgotten afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "study_checks.py").write_text(CHECKS, encoding="utf-8")
    (tmp_path / "broken_checks.py").write_text("1 / 0", encoding="utf-8")

    def written(text: str) -> Path:
        path = tmp_path / "study.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    yield written
    sys.modules.pop("study_checks", None)

"""`docs/python.md` is true: its files are written and run, one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```python title=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGE = (ROOT / "docs" / "python.md").read_text("utf-8")


@pytest.mark.slow
def test_the_examples_of_the_page_run(python: Callable[..., Any], folder: Path) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    agent = re.search(r"^```python title=refunds/agent\.py\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert agent is not None
    (folder / "agent.py").write_text(agent[1])
    examples = FENCE.findall(PAGE)
    assert [name for name, _ in examples] == ["first.py", "own_study.py", "test_agent.py", "production.py"]

    for name, text in examples:
        (folder / name).write_text(text)
        done = python(*(["-m", "pytest", "-q", name] if name.startswith("test_") else [name]))

        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"


def test_the_first_example_has_at_most_fifteen_lines() -> None:
    assert len(FENCE.findall(PAGE)[0][1].splitlines()) <= 15


@pytest.mark.parametrize("link", re.findall(r"\]\((?!https?:)([^)#]+)", PAGE))
def test_a_link_of_the_page_leads_somewhere(link: str) -> None:
    assert (ROOT / "docs" / link).exists()

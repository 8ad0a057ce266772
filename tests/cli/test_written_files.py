"""A proof has a reservation where the target keeps something in files, which no repeat resets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
AGENT = """
import sqlite3
import tempfile
from pathlib import Path

from chaosagent import Outcome, Task, effect, target


@target(tasks=[Task("t")])
async def agent(task, run):
    folder = {folder}
    bank = run.service("bank", {{"pay": lambda: 1}}, effects={{"pay": effect()}})
    try:
        await bank("pay")
    except Exception:
        with sqlite3.connect(Path(folder, "failed.db")) as failed:
            failed.execute("CREATE TABLE IF NOT EXISTS failed (number)")
            failed.execute("INSERT INTO failed VALUES (1)")
    return Outcome("done", success=True)
"""
STUDY = "target: agent.py:agent\ncontracts: [at-most-once]\nbudget: 1.2\noperators: [service.error_status]\n"


def search(chaosagent: Command, folder: Path, writes_to: str) -> tuple[dict[str, Any], str]:
    """Return the only search, and the page for people."""
    (folder / "agent.py").write_text(AGENT.format(folder=writes_to), encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    page = " ".join(chaosagent("search", "study.yaml").out.split())
    (found,) = chaosagent("search", "study.yaml", "--json").json["searches"]
    return found, page


def test_a_proof_names_the_files_that_the_target_writes_behind_a_fault(chaosagent: Command, folder: Path) -> None:
    found, page = search(chaosagent, folder, "'.'")

    assert found["safe"]
    assert found["written"] == ["failed.db (agent.py:16 in agent)"]
    assert (
        "The target writes failed.db (agent.py:16 in agent), and chaosagent does not reset files between runs"
        in found["certificate"]
    )
    assert "proved, if what the target keeps in files does not matter (listed below)." in page
    assert "The target writes files: `failed.db (agent.py:16 in agent)`." in page
    assert "write to a folder made in the run (`tempfile.mkdtemp()`), or to a store in memory" in page


def test_a_folder_made_in_the_run_needs_no_reservation(chaosagent: Command, folder: Path) -> None:
    found, page = search(chaosagent, folder, "tempfile.mkdtemp()")

    assert found["safe"]
    assert found["written"] == []
    assert "files" not in page


@pytest.mark.parametrize("remedy", [False, True])
def test_the_doctor_names_files_that_are_written_without_a_fault(
    chaosagent: Command, folder: Path, *, remedy: bool
) -> None:
    text = AGENT.format(folder="tempfile.mkdtemp()" if remedy else "'.'")
    text = text.replace('await bank("pay")', "raise KeyError")
    (folder / "agent.py").write_text(text, encoding="utf-8")

    remarks = chaosagent("doctor", "agent.py:agent", "--json").json["remarks"]

    written = [one for one in remarks if one["text"].startswith("writes ")]
    assert [one["text"] for one in written] == (
        [] if remedy else ["writes failed.db (agent.py:16 in agent); no file is reset between runs"]
    )


@pytest.mark.parametrize("executor", ["inline", "process"])
def test_a_database_that_is_opened_when_the_target_is_loaded_is_named_too(
    chaosagent: Command, folder: Path, executor: str
) -> None:
    text = AGENT.format(folder="tempfile.mkdtemp()").replace("\n\n\n@", "\n\nKEPT = sqlite3.connect('kept.db')\n\n\n@")
    (folder / "agent.py").write_text(text, encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")

    (found,) = chaosagent("search", "study.yaml", "--json", "--executor", executor).json["searches"]

    assert found["written"] == ["kept.db (agent.py:8 in <module>)"]


ONCE = """
from pathlib import Path

from chaosagent import Outcome, Task, effect, target

KEPT = Path("kept")


@target(tasks=[Task("t")])
async def agent(task, run):
    bank = run.service("bank", {"pay": lambda: 1}, effects={"pay": effect()})
    failed = ""
    try:
        await bank("pay")
    except Exception:
        failed = "after a fault"
    if failed == WHEN and not KEPT.exists():
        KEPT.MAKE
    return Outcome("done", success=True)
"""


@pytest.mark.parametrize("executor", ["inline", "process"])
@pytest.mark.parametrize("when", ["", "after a fault"])
@pytest.mark.parametrize("make", ["write_text('x')", "mkdir()", "symlink_to('agent.py')"])
def test_what_only_one_run_makes_is_a_reservation_too(
    chaosagent: Command, folder: Path, make: str, when: str, executor: str
) -> None:
    source = ONCE.replace("WHEN", repr(when)).replace("MAKE", make)
    (folder / "agent.py").write_text(source, encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")

    # Of two workers at once, both might find that nothing is there, and one of them would fail to make it.
    workers = ["--workers", "1"] if executor == "process" else []
    (found,) = chaosagent("search", "study.yaml", "--executor", executor, *workers, "--json").json["searches"]

    assert found["safe"]
    assert found["written"] == ["kept (agent.py:18 in agent)"]

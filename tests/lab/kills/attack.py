"""A study that is killed at random moments and resumed each time, and what `chaosagent status` says meanwhile."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from chaosagent.cli.status import look_at
from chaosagent.clock import monotonic, pause
from chaosagent.errors import UsageError
from chaosagent.study.store.progress_file import Snapshot

STUDY = """
target: night-shift
config: naive
seeds: [0, 1]
contracts: [at-most-once, promises-kept]
operators: [service.lost_response, memory.lost_update]
budget: 2.1
"""
ASK_SECONDS = 0.05
ROWS = (
    "SELECT task, seed, contract, trials, certificate, certified, lower_bound, schedule, cost FROM search",
    "SELECT id, task, seed, contract, schedule, cost, signature, certified FROM counterexample ORDER BY id",
    "SELECT schedule, landed, status, cost, digest, ending, success, steps FROM run ORDER BY 1, 5, task, seed",
    "SELECT value FROM study WHERE key = 'digest'",
)


@dataclass(slots=True)
class Watch:
    """What was wrong with what status said.

    Attributes:
        asked: How often it was asked.
        wrong: What was wrong, a line each.
        least: What it must not fall below any more, in any session.
    """

    asked: int = 0
    wrong: list[str] = field(default_factory=list)
    least: dict[str, float] = field(default_factory=dict)

    def ask(self, folder: Path, *, works: int | None) -> None:
        """Ask once.

        Args:
            folder: Of the study.
            works: Number of the process that works on it; `None` after a kill.
        """
        stored = counts_in(folder)
        try:
            told, _ = look_at(folder)
        except UsageError:
            return  # it has only just begun
        self.asked += 1
        now = counts_in(folder)
        if works is None and told.state != "interrupted":
            self.wrong.append(f"after a kill it is {told.state}")
        if told.process == works and told.state == "interrupted":
            self.wrong.append("it works and is called interrupted")
        self._check_counts(told, now)
        if works is None and stored and told.trials < self.least.get("trials", 0):
            self.wrong.append(f"{told.trials} trials after a kill, {self.least['trials']} before")

    def _check_counts(self, told: Snapshot, stored: dict[str, int]) -> None:
        for name, value in (("trials", told.trials), ("executions", told.executions), ("seconds", told.seconds)):
            if value < self.least.get(name, 0):
                self.wrong.append(f"{name} fell from {self.least[name]} to {value}")
            self.least[name] = max(value, self.least.get(name, 0))
        if stored and told.trials > stored["trial"]:
            self.wrong.append(f"{told.trials} trials told, {stored['trial']} committed")
        if stored and told.executions > stored["execution"]:
            self.wrong.append(f"{told.executions} runs told, {stored['execution']} committed")


def counts_in(folder: Path) -> dict[str, int]:
    """Return how many trials and runs are committed; nothing where that cannot be read at this moment."""
    try:
        with contextlib.closing(sqlite3.connect(f"{(folder / 'study.db').as_uri()}?mode=ro", uri=True)) as store:
            return {
                table: int(store.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
                for table in ("trial", "execution")
            }
    except sqlite3.Error:
        return {}


def started(study: Path, folder: Path) -> subprocess.Popen[bytes]:
    """Start or resume the search in a process of its own."""
    resume = ["--resume"] if (folder / "study.db").exists() else []
    command = [sys.executable, "-m", "chaosagent", "search", str(study), "--out", str(folder), *resume]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def killed_study(study: Path, folder: Path, kills: int, seed: int, longest: float) -> Watch:
    """Kill a study and resume it, and let it end at last.

    Args:
        study: The study file.
        folder: Of the study.
        kills: How often it is killed.
        seed: Of the moments.
        longest: Seconds after which it is killed at the latest.
    """
    rng, watch = random.Random(seed), Watch()
    for number in range(kills + 1):
        search, begun = started(study, folder), monotonic()
        lasts = rng.uniform(0.5, longest) if number < kills else float("inf")
        while search.poll() is None and monotonic() - begun < lasts:
            watch.ask(folder, works=search.pid)
            pause(ASK_SECONDS)
        if search.poll() is not None:
            break
        search.kill()
        search.wait()
        watch.ask(folder, works=None)
    return watch


def result_in(folder: Path) -> list[object]:
    """Return what a study has found and proved, row by row, and the content of its records."""
    with contextlib.closing(sqlite3.connect(folder / "study.db")) as store:
        rows: list[object] = [store.execute(query).fetchall() for query in ROWS]
    return [*rows, {path.name: path.read_bytes() for path in sorted((folder / "replays").glob("*.replay"))}]

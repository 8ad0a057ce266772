"""A night in short: one study for an hour and a half, interrupted again and again and resumed each time.

The search runs in a process of its own, as a user starts it, on the agents of a framework, with every operator. Each
session is ended in turn by an interrupt, by SIGTERM and by SIGKILL, and the next one resumes. A row for each session
says how many trials there were, the seconds from the start to the first trial that is new, trials per second, the
peak of its memory, what the store holds for each trial, and how long it took to end. Fails when the store ever holds
fewer runs or trials than before. SIGKILL may take with it what was told in the last second and not yet committed.

Run: python -m chaosagent.experiments.benchmarks.soak [--minutes N] [--sessions N] [--study FILE] [--budget B]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from chaosagent.clock import monotonic, pause
from chaosagent.experiments.benchmarks.measuring import machine

STUDY = Path(__file__).parent / "soak.yaml"
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
HEAD = ("session", "ended by", "trials", "first new, s", "trials/s", "peak MB", "store a trial", "end, s")
ROW = "{:>8}{:>10}{:>10}{:>14}{:>10}{:>10}{:>15}{:>8}"


@dataclass(frozen=True, slots=True)
class Session:
    """What one process of the search did.

    Args:
        trials: In the store at its end.
        runs: In the store at its end.
        ready: Seconds from the start to the first new trial; None if there was none.
        rate: New trials per second after that.
        peak: Bytes of memory that the process held at most.
        ending: Seconds from the signal to the end of the process.
        over: The study ended by itself.
    """

    trials: int
    runs: int
    ready: float | None
    rate: float
    peak: int
    ending: float
    over: bool


def session(arguments: list[str], folder: Path, seconds: float, end: signal.Signals, log: Path) -> Session:
    """Start or resume the search, end it after some seconds, and say what it did.

    Args:
        arguments: Of `chaosagent search`.
        folder: Of the study.
        seconds: After which it is ended.
        end: How.
        log: File for what it prints.
    """
    resume = ["--resume"] if (folder / "study.db").exists() else []
    before = count(folder, "trial") if resume else 0  # the store may hold more than was told before an interrupt
    begun = monotonic()
    ready = None
    with log.open("ab") as output:
        command = [sys.executable, "-m", "chaosagent", "search", *arguments, *resume]
        search = subprocess.Popen(command, stdout=output, stderr=output)
    while not _ended(search) and monotonic() - begun < seconds:
        pause(1.0)
        if ready is None and progress(folder).get("trials", 0) > before:
            ready = monotonic() - begun
    told = monotonic()
    over = _ended(search)
    if not over:
        search.send_signal(end)
    _, _, used = os.wait4(search.pid, 0)
    ending = monotonic() - told
    trials, runs = (count(folder, table) for table in ("trial", "execution"))
    rate = (trials - before) / (told - begun - ready) if ready else 0.0
    return Session(trials, runs, ready, rate, 1024 * used.ru_maxrss, ending, over)


def _ended(process: subprocess.Popen[bytes]) -> bool:
    ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return ended is not None


def count(folder: Path, table: str) -> int:
    """Return how many rows a table of the study's store has."""
    with contextlib.closing(sqlite3.connect(f"{(folder / 'study.db').as_uri()}?mode=ro", uri=True)) as store:
        return int(store.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def progress(folder: Path) -> dict[str, int]:
    """Return what `chaosagent status --json` prints of the folder; nothing where there is no study yet."""
    status = [sys.executable, "-m", "chaosagent", "status", str(folder), "--json"]
    said = subprocess.run(status, capture_output=True, text=True, check=False)
    return json.loads(said.stdout) if said.returncode == 0 else {}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=90, metavar="N", help="in all (default: 90)")
    parser.add_argument("--sessions", type=int, default=9, metavar="N", help="default: 9")
    parser.add_argument("--study", default=STUDY, metavar="FILE")
    parser.add_argument("--budget", default="4.5", metavar="B", help="default: 4.5")
    given = parser.parse_args()
    # A shell that starts this in the background has it ignore interrupts, and the search would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print(machine())
    print(ROW.format(*HEAD), flush=True)
    trials = runs = 0
    with tempfile.TemporaryDirectory() as base:
        folder, log = Path(base) / "study", Path(base) / "log.txt"
        arguments = [str(given.study), "--out", str(folder), "--budget", given.budget, "--trials", "1000000"]
        for number in range(given.sessions):
            end = ENDINGS[number % len(ENDINGS)]
            did = session(arguments, folder, 60 * given.minutes / given.sessions, end, log)
            store = sum(file.stat().st_size for file in folder.glob("study.db*"))
            first = f"{did.ready:.1f}" if did.ready else "none"
            ended = "itself" if did.over else end.name
            cells = (number + 1, ended, did.trials, first, round(did.rate, 1), did.peak // 2**20)
            print(ROW.format(*cells, store // max(1, did.trials), round(did.ending, 1)), flush=True)
            if did.trials < trials or did.runs < runs:
                print(f"Lost: {trials} trials and {runs} runs before, now {did.runs}.\n{log.read_text()[-4000:]}")
                return 1
            trials, runs = did.trials, did.runs
            if did.over:
                print(log.read_text()[-2000:])
                break
    return 0


if __name__ == "__main__":
    sys.exit(main())

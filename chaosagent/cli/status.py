"""`chaosagent status`: how far a study is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chaosagent.cli import output

if TYPE_CHECKING:
    from chaosagent.study.store.progress_file import Snapshot

OK = 0
REFRESH_SECONDS = 1.0
SURE_SECONDS = 10.0
"""A process that was silent for so long may be another one by now, with the same number: then the lock is tried."""
READS_MAX = 10
CLEAR = "\x1b[H\x1b[2J"


@click.command()
@click.argument("path", type=click.Path(path_type=Path), metavar="FOLDER|STUDY.yaml")
@click.option("--watch", is_flag=True, help="Show it again every second until the study ends.")
@click.option("--json", is_flag=True, help="Print one JSON object; with --watch, one a line.")
def status(path: Path, *, watch: bool, json: bool) -> int:
    """Say how far a study is: one that runs, was interrupted, or has ended.

    FOLDER|STUDY.yaml is the folder of a study, or its study file.

    Nothing is run and nothing is written, and the study is not held up: every second it writes how far it is to
    progress.json of its folder.

    Exit code: 0; 2 where there is no study that says how far it is.

    \b
    Examples:
      chaosagent status chaosagent-out/refunds
      chaosagent status study.yaml --watch
      chaosagent status chaosagent-out/refunds --json
    """
    from chaosagent.clock import pause

    folder = folder_of(path)
    while True:
        told, heard = look_at(folder)
        _show(told, heard, json=json, again=watch)
        if not watch or told.state != "running":
            return OK
        pause(REFRESH_SECONDS)


def folder_of(path: Path) -> Path:
    """Return the folder of a study that is named by it, or by its study file.

    Raises:
        UsageError: There is neither.
    """
    from chaosagent.cli.search import OUT
    from chaosagent.errors import UsageError
    from chaosagent.studyfile import load_study

    if path.suffix in (".yaml", ".yml"):
        return OUT / load_study(path).name
    if not path.is_dir():
        what = "is no folder" if path.exists() else "does not exist"
        raise UsageError(f"{path} {what}. Name the folder of a study, such as chaosagent-out/NAME, or its study file.")
    return path


def look_at(folder: Path) -> tuple[Snapshot, float]:
    """Return how far the study in a folder is, and how many seconds ago it said so.

    A study whose process has ended without a word counts as interrupted. One that a later process resumes, but has not
    reported on yet as it still checks the store, runs; its runs, trials and seconds are those of the sessions before.

    Raises:
        UsageError: The folder holds none, or one that does not say how far it is.
    """
    from chaosagent.clock import age
    from chaosagent.errors import UsageError
    from chaosagent.study.store.files import FILE_NAME
    from chaosagent.study.store.progress_file import NAME, read_progress

    if not (folder / NAME).exists():
        if (folder / FILE_NAME).exists():
            what = "a study that does not say how far it is: it has only just begun, or is of an earlier version"
        else:
            what = "no study"
        raise UsageError(f"{folder} holds {what} (there is no {NAME}). Name the folder of a study.")
    told = read_progress(folder)
    for _ in range(READS_MAX):
        heard = age(folder / NAME)
        found = _with_state(folder, told, heard)
        latest = read_progress(folder)
        if latest == told:
            break
        told = latest  # it was written while we looked for its process
    return found, heard


def _with_state(folder: Path, told: Snapshot, heard: float) -> Snapshot:
    """Return what a study said of itself, with the state that its folder is in now."""
    import platform
    from dataclasses import replace

    from chaosagent.execution.workers.memory_limit import resident_megabytes
    from chaosagent.study.store.lock import holder_of

    is_running, is_here = told.state == "running", told.host == platform.node()
    if is_running and is_here and heard <= SURE_SECONDS and _lives(told.process):
        return told
    holder = holder_of(folder)
    if holder is None:
        return replace(told, state="interrupted") if is_running else told
    is_same = holder.process == told.process and holder.since <= told.written  # in a container all may have number 1
    if is_same or not holder.process:
        return told
    return replace(
        told,
        state="running",
        process=holder.process,
        host=holder.host,
        begun=holder.since,
        rate=0.0,
        searches_over=0,  # this and the next five are learned again from the stored runs
        found=0,
        best_cost=None,
        levels=[],
        counterexamples=[],
        lower_bound=0.0,
        current="",
        doing="checking what earlier sessions have stored",
        megabytes=round(resident_megabytes(holder.process) or 0.0, 1),
    )


def _lives(process: int) -> bool:
    import os

    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it is somebody else's
    return True


def _show(told: Snapshot, heard: float, *, json: bool, again: bool) -> None:
    from chaosagent.report.status_page import left_range, status_page

    if json:
        output.answer_json({**told.to_json(), "left_seconds": left_range(told)}, on_one_line=again)
        return
    if again and sys.stdout.isatty():
        sys.stdout.write(CLEAR)
    output.answer(status_page(told, heard))

"""`chaosagent status`: how far a study is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chaosagent.cli import output

if TYPE_CHECKING:
    from chaosagent.study.store.progress_file import Snapshot

OK = 0
REFRESH_SECONDS = 1.0
SURE_SECONDS = 10.0
"""A process that was silent for so long may be another one by now, with the same number: then the lock is tried."""
CLEAR = "\x1b[H\x1b[2J"


def status(
    path: Annotated[
        Path,
        typer.Argument(help="Folder of a study, or its study file.", metavar="FOLDER|STUDY.yaml", show_default=False),
    ],
    *,
    watch: Annotated[bool, typer.Option("--watch", help="Show it again every second until the study ends.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object; with --watch, one a line.")] = False,
) -> int:
    """Say how far a study is: one that runs, was interrupted, or has ended.

    Nothing is run and nothing is written, and the study is not held up: it tells how far it is every second, in
    progress.json of its folder.

    Exit code: 0; 2 where there is no study that says how far it is.

    [bold]Examples[/bold]

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

    A study whose process has ended without a word counts as interrupted.

    Raises:
        UsageError: The folder holds none, or one that does not say how far it is.
    """
    from dataclasses import replace

    from chaosagent.clock import age
    from chaosagent.errors import UsageError
    from chaosagent.study.store.progress_file import NAME, read_progress
    from chaosagent.study.store.study_store import FILE_NAME

    if not (folder / NAME).exists():
        if (folder / FILE_NAME).exists():
            what = "a study that does not say how far it is: it has only just begun, or is of an earlier version"
        else:
            what = "no study"
        raise UsageError(f"{folder} holds {what} (there is no {NAME}). Name the folder of a study.")
    told = read_progress(folder)
    heard = age(folder / NAME)
    if told.state == "running" and not _runs(folder, told, heard):
        told = replace(told, state="interrupted")
    return told, heard


def _runs(folder: Path, told: Snapshot, heard: float) -> bool:
    """Whether the process of a study that says that it runs is alive."""
    import os
    import platform

    from chaosagent.study.store.lock import is_locked

    if told.host != platform.node() or heard > SURE_SECONDS:
        return is_locked(folder)
    try:
        os.kill(told.process, 0)
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

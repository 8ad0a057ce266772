"""What lies where the files of a study belong, and is none of them: nothing of it is opened or replaced."""

from __future__ import annotations

import stat
from pathlib import Path

from chaosagent.errors import UsageError
from chaosagent.study.store.files import ANSWERS_NAME, FILE_NAME
from chaosagent.study.store.lock import LOCK_NAME
from chaosagent.study.store.progress_file import NAME as PROGRESS_NAME

FILES = (FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm", LOCK_NAME, "study.yaml", ANSWERS_NAME, PROGRESS_NAME)
MARKED_FILES = {"records.jsonl": b'{"study": ', "report.html": b"chaosagent</title>"}
"""Files with names that others use, too, and what stands at the beginning of ours."""
FOLDERS = ("replays",)
BEGINNING_BYTES = 8_192


def refuse_foreign_files(folder: Path) -> None:
    """Refuse a folder in which pipes, links or files of others lie where the files of a study belong.

    A link would have files written elsewhere, and to open a pipe can take for ever.

    Raises:
        UsageError: There is one.
    """
    for name in (*FILES, *MARKED_FILES, *FOLDERS):
        path = folder / name
        try:
            mode = path.lstat().st_mode
        except OSError:
            continue
        wanted = stat.S_ISDIR(mode) if name in FOLDERS else stat.S_ISREG(mode)
        if not wanted:
            raise UsageError(
                f"{path} is {_kind_of(mode)}, and {'a folder' if name in FOLDERS else 'a file'} of the study belongs "
                "there. Move it, or choose another --out."
            )
        mark = MARKED_FILES.get(name)
        if mark is not None and not _has(path, mark):
            raise UsageError(f"{path} is no file of a study, and would be replaced. Move it, or choose another --out.")


def _kind_of(mode: int) -> str:
    kinds = {
        stat.S_IFLNK: "a link",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFDIR: "a folder",
        stat.S_IFREG: "a file",
    }
    return kinds.get(stat.S_IFMT(mode), "a device")


def _has(path: Path, mark: bytes) -> bool:
    """Whether a file is empty, or has a mark at its beginning; an unreadable one passes: writing it will fail."""
    try:
        with path.open("rb") as file:
            beginning = file.read(BEGINNING_BYTES)
    except OSError:
        return True
    return not beginning or mark in beginning

"""What lies where the files of a study belong, and is none of them: nothing of it is opened or replaced."""

from __future__ import annotations

import stat
from pathlib import Path

from chaosagent.errors import UsageError

FILES = ("study.db", "study.db-wal", "study.db-shm", "study.lock", "study.yaml", "answers.db", "progress.json")
FILES_OF_OTHERS = {"records.jsonl": b'{"study": ', "report.html": b"chaosagent</title>"}
"""What stands at the beginning of files that others, too, give such names."""
FOLDERS = ("replays",)
BEGINNING_BYTES = 8_192


def refuse_foreign_files(folder: Path) -> None:
    """Refuse a folder in which pipes, links or files of others lie where the files of a study belong.

    A link would have files written elsewhere, and to open a pipe can take for ever.

    Raises:
        UsageError: There is one.
    """
    for name in (*FILES, *FILES_OF_OTHERS, *FOLDERS):
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
        mark = FILES_OF_OTHERS.get(name)
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
    """Whether a file is empty, or has a mark at its beginning; one that cannot be read is told by whoever writes it."""
    try:
        with path.open("rb") as file:
            beginning = file.read(BEGINNING_BYTES)
    except OSError:
        return True
    return not beginning or mark in beginning

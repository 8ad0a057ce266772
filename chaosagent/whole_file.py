"""Writing a file whole or not at all: whoever reads it meanwhile sees the one before."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

PREFIX = ".writing-"


def write_whole(path: Path, data: bytes, *, mode: int = 0o600, durable: bool = False) -> None:
    """Write a file, in place of one that is there; nothing is left where that fails or is interrupted.

    Args:
        path: Of the file; its folder exists.
        data: All that it holds.
        mode: Who may read it.
        durable: Wait until the data is on the disk.

    Raises:
        OSError: It cannot be written.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=PREFIX)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def remove_drafts(*folders: Path) -> None:
    """Delete what writers that were killed have left in folders; nobody else may be writing there."""
    for folder in folders:
        for path in folder.glob(f"{PREFIX}*"):
            if path.is_file() and not path.is_symlink():
                with contextlib.suppress(OSError):
                    path.unlink()

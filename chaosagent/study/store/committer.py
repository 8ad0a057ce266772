"""Commits what is written to a store, twice a second, as long as its files are where they were."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path

COMMIT_SECONDS = 0.5


class Committer:
    """A thread that ends the transaction of a connection now and then, and begins the next.

    A study that waits for a long run would otherwise keep to itself what has finished before.

    Args:
        connection: Made with `check_same_thread=False` and without transactions of its own.
        files: Are not to be deleted or replaced meanwhile: SQLite would go on writing to a file that nobody can find.

    Attributes:
        lock: To be held while the connection is used; what is written under one hold is committed together.
        error: What kept the last commit from happening; then there are no more.
        gone: The first of the files that is no longer where it was; then there are no more commits either.
    """

    def __init__(self, connection: sqlite3.Connection, files: Iterable[Path]) -> None:
        self.lock = threading.RLock()
        self.error: sqlite3.Error | None = None
        self.gone: Path | None = None
        self._files = {path: path.stat() for path in files}
        self._connection = connection
        self._over = threading.Event()
        connection.execute("BEGIN")
        self._thread = threading.Thread(target=self._go_on, name="chaosagent-commit", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; what was written since the last commit is left to the caller."""
        self._over.set()
        self._thread.join()

    def _go_on(self) -> None:
        while not self._over.wait(COMMIT_SECONDS):
            with self.lock:
                self.gone = next((path for path, known in self._files.items() if _is_gone(path, known)), None)
                if self.gone is not None:
                    return
                try:
                    self._connection.execute("COMMIT")
                    self._connection.execute("BEGIN")
                except sqlite3.Error as error:
                    self.error = error
                    return


def _is_gone(path: Path, known: os.stat_result) -> bool:
    """Whether another file lies at a path now, or none; what cannot be looked at now is taken to be there."""
    try:
        return not os.path.samestat(path.stat(), known)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False

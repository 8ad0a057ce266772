"""Commits what is written to a store, twice a second."""

from __future__ import annotations

import sqlite3
import threading

COMMIT_SECONDS = 0.5


class Committer:
    """A thread that ends the transaction of a connection now and then, and begins the next.

    A study that waits for a long run would otherwise keep to itself what has finished before.

    Args:
        connection: Made with `check_same_thread=False` and without transactions of its own.

    Attributes:
        lock: To be held while the connection is used; what is written under one hold is committed together.
        error: What kept the last commit from happening; then there are no more.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.lock = threading.RLock()
        self.error: sqlite3.Error | None = None
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
                try:
                    self._connection.execute("COMMIT")
                    self._connection.execute("BEGIN")
                except sqlite3.Error as error:
                    self.error = error
                    return

"""The connection to a Ray cluster, or to a local Ray that ends, and whose files are removed, with this process."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chaosagent.clock import monotonic
from chaosagent.errors import StudyError
from chaosagent.execution.workers.ray_address import check_answers
from chaosagent.temporary_folder import temporary_folder

OBJECT_STORE_BYTES = 80_000_000
ALARM_SOON = 0.001
"""Seconds until an alarm that was due meanwhile."""

ESSENTIAL = frozenset({"gcs_server", "raylet"})
SOCKET_PLACE_MAX = 14
"""Characters: what Ray and we append makes the 107 of a socket's path."""


class RayConnection:
    """Connects this process to Ray, unless it is connected already.

    Args:
        ray: The package.
        address: Of a running cluster; a local one is started when empty.
    """

    def __init__(self, ray: Any, address: str) -> None:
        self._ray, self._address = ray, address
        self._ours = not ray.is_initialized()
        self._folder = contextlib.ExitStack()

    def open(self, workers: int) -> None:
        """Connect; a local Ray is started with a CPU for each worker.

        Raises:
            KeyboardInterrupt: SIGTERM came meanwhile.
            StudyError: The cluster cannot be reached.
        """
        if not self._ours:
            return
        check_answers(self._address)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")
        local: dict[str, Any] = {}
        if not self._address:  # Ray leaves its folder of logs behind, and a killed driver two processes for a minute
            folder = self._folder.enter_context(temporary_folder(_place_for_sockets(), of_servers=True))
            local = {"num_cpus": workers, "object_store_memory": OBJECT_STORE_BYTES, "include_dashboard": False}
            local["_temp_dir"] = str(folder)
        try:
            with _own_signals():
                self._ray.init(address=self._address or "local", log_to_driver=False, logging_level="ERROR", **local)
        except (ConnectionError, RuntimeError, ValueError) as error:
            first = str(error).strip().partition("\n")[0]
            raise StudyError(f"Ray cannot be reached at {self._address or 'this machine'}: {first}") from error
        except SystemExit as error:  # Ray's own answer to SIGTERM
            raise KeyboardInterrupt from error

    def close(self) -> None:
        """Disconnect; a local Ray ends."""
        if self._ours:
            self._ray.shutdown()
            self._folder.close()

    @property
    def is_broken(self) -> bool:
        """Whether a process has ended without which the Ray that this process has started does no work.

        Ray's own calls do not tell: without its control store they wait for a minute, and then end this process.
        """
        if not self._ours or self._address:
            return False
        worker = getattr(getattr(self._ray, "_private", None), "worker", None)
        dead_processes = getattr(getattr(worker, "_global_node", None), "dead_processes", None)  # not in every Ray
        has_died = dead_processes is not None and any(str(kind) in ESSENTIAL for kind, _ in dead_processes())
        return has_died or not self._ray.is_initialized()


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Take back in the end what Ray takes for itself: what a signal does is for the study to say.

    After a SIGTERM meanwhile Ray's code in C has an alarm abort the process three seconds later.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGALRM)}
    (left, again), begun = signal.getitimer(signal.ITIMER_REAL), monotonic()
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.setitimer(signal.ITIMER_REAL, max(ALARM_SOON, left - (monotonic() - begun)) if left else 0.0, again)


def _place_for_sockets() -> Path:
    """Return where Ray's own folder is made: its sockets need a short path."""
    usual = os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()
    return Path(usual if len(usual) <= SOCKET_PLACE_MAX else "/tmp")  # the folder made there is private

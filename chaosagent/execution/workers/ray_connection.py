"""The connection to a Ray cluster, or to a local Ray that ends, and whose files are removed, with this process."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from chaosagent.clock import monotonic
from chaosagent.errors import StudyError
from chaosagent.execution.workers.ray_address import check_answers
from chaosagent.temporary_folder import temporary_folder

OBJECT_STORE_BYTES = 80_000_000
HELD = (signal.SIGINT, signal.SIGTERM, *([signal.SIGALRM] if hasattr(signal, "SIGALRM") else []))
ALARM_SOON = 0.001
"""Seconds until an alarm that was due meanwhile."""

ESSENTIAL = frozenset({"gcs_server", "raylet"})
SOCKET_PLACE_MAX = 14
"""Characters: what Ray and we append makes the 107 of a socket's path."""


class RayConnection:
    """Connects this process to Ray, unless it is connected already.

    Ray starts and ends in a thread of its own, and the main thread holds back signals until then. An interrupt in the
    middle would leave a Ray that crashes the process later, and in Ray's code in C even the signal can deadlock. The
    thread stays until the end, because the kernel ends Ray's processes with the thread that started them.

    Args:
        ray: The package.
        address: Of a running cluster; a local one is started when empty.
        warn: Tells whoever interrupts that this takes a moment.
    """

    def __init__(self, ray: Any, address: str, warn: Callable[[str], object]) -> None:
        self._ray, self._address, self._warn = ray, address, warn
        self._ours = not ray.is_initialized()
        self._folder = contextlib.ExitStack()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ray")

    def open(self, workers: int) -> None:
        """Connect; a local Ray is started with a CPU for each worker.

        Raises:
            KeyboardInterrupt: An interrupt came meanwhile; nothing is left open.
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
        init = functools.partial(self._ray.init, address=self._address or "local", log_to_driver=False, **local)
        try:
            self._do(functools.partial(init, logging_level="ERROR"))
        except (ConnectionError, RuntimeError, ValueError) as error:
            self.close()
            first = str(error).strip().partition("\n")[0]
            raise StudyError(f"Ray cannot be reached at {self._address or 'this machine'}: {first}") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Disconnect; a local Ray ends."""
        if self._ours:
            try:
                self._do(self._ray.shutdown)
            finally:
                self._folder.close()

    def _do(self, step: Callable[[], object]) -> None:
        """Have Ray's thread do something to its end, whatever signals come meanwhile."""
        with _held_signals(self._warn):
            self._thread.submit(step).result()

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
def _held_signals(warn: Callable[[str], object]) -> Iterator[None]:
    """Let signals that come meanwhile do what they do once the body has ended.

    Ray's code in C puts a handler of its own in place: three seconds after SIGTERM an alarm aborts the process.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    came: list[int] = []

    def hold(number: int, _: object) -> None:
        if number != signal.SIGALRM and not came:
            warn("interrupted while Ray starts or ends: waiting for Ray, which can take some seconds")
        came.append(number)
        signal.setitimer(signal.ITIMER_REAL, 0.0)

    before = {number: handler for number in HELD if (handler := signal.getsignal(number)) is not None}
    (left, again), begun = signal.setitimer(signal.ITIMER_REAL, 0.0), monotonic()
    try:
        for number in before:
            signal.signal(number, hold)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.setitimer(signal.ITIMER_REAL, max(ALARM_SOON, left - (monotonic() - begun)) if left else 0.0, again)
        for held in dict.fromkeys(came):
            signal.raise_signal(held)


def _place_for_sockets() -> Path:
    """Return where Ray's own folder is made: its sockets need a short path."""
    usual = os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()
    return Path(usual if len(usual) <= SOCKET_PLACE_MAX else "/tmp")  # the folder made there is private

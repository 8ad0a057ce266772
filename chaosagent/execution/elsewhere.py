"""Other processes, in each of which sets and hashes come in another order."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping

from chaosagent.execution.process_pool import ProcessExecutor
from chaosagent.execution.workbench import Workbench
from chaosagent.execution.worker_process import HASH_SEED
from chaosagent.limits import RunLimits


def open_elsewhere(
    setup: Callable[[], Workbench],
    number: int = 0,
    *,
    limits: RunLimits | None = None,
    environment: Mapping[str, str] | None = None,
) -> ProcessExecutor:
    """Start one worker process with another hash seed than this process has.

    Args:
        setup: Makes the worker's workbench; pickled, so a function of a module with plain arguments.
        number: Each has another hash seed.
        limits: Of one job: its real time, and the memory of the worker.
        environment: Of the process: that of before any run, as these may change it; today's by default.

    Raises:
        StudyError: The worker cannot be started.
    """
    ours = os.environ.get(HASH_SEED)
    others = [seed for seed in map(str, range(number + 2)) if seed != ours]  # one that was drawn nobody knows
    with contextlib.nullcontext() if environment is None else _environment(environment):
        return ProcessExecutor(setup, workers=1, limits=limits, hash_seed=others[number])


@contextlib.contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Give the processes that are started meanwhile this environment."""
    before = dict(os.environ)
    _set_environment(wanted)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(wanted: Mapping[str, str]) -> None:
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    os.environ.update(wanted)

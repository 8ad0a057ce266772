"""A second process, in which sets and hashes come in another order than here."""

from __future__ import annotations

import os
from collections.abc import Callable

from chaosagent.execution.process_pool import ProcessExecutor
from chaosagent.execution.workbench import Workbench
from chaosagent.execution.worker_process import HASH_SEED
from chaosagent.limits import RunLimits


def open_elsewhere(setup: Callable[[], Workbench], *, limits: RunLimits | None = None) -> ProcessExecutor:
    """Start one worker process with another hash seed than this process has.

    Args:
        setup: Makes the worker's workbench; pickled, so a function of a module with plain arguments.
        limits: Of one job: its real time, and the memory of the worker.

    Raises:
        StudyError: The worker cannot be started.
    """
    other = "1" if os.environ.get(HASH_SEED) == "0" else "0"  # a random seed is never 0
    return ProcessExecutor(setup, workers=1, limits=limits, hash_seed=other)

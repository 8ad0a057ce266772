"""Other processes, in each of which sets and hashes come in another order."""

from __future__ import annotations

import os
from collections.abc import Callable

from chaosagent.execution.process_pool import ProcessExecutor
from chaosagent.execution.workbench import Workbench
from chaosagent.execution.worker_process import HASH_SEED
from chaosagent.limits import RunLimits


def open_elsewhere(
    setup: Callable[[], Workbench], number: int = 0, *, limits: RunLimits | None = None
) -> ProcessExecutor:
    """Start one worker process with another hash seed than this process has.

    Args:
        setup: Makes the worker's workbench; pickled, so a function of a module with plain arguments.
        number: Each has another hash seed.
        limits: Of one job: its real time, and the memory of the worker.

    Raises:
        StudyError: The worker cannot be started.
    """
    ours = os.environ.get(HASH_SEED)
    others = [seed for seed in map(str, range(number + 2)) if seed != ours]  # one that was drawn nobody knows
    return ProcessExecutor(setup, workers=1, limits=limits, hash_seed=others[number])

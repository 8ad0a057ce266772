"""A second process, in which sets and hashes come in another order than here."""

from __future__ import annotations

import os
from collections.abc import Callable

from chaosagent.execution.process_pool import ProcessExecutor
from chaosagent.execution.workbench import Workbench
from chaosagent.limits import RunLimits

_VARIABLE = "PYTHONHASHSEED"


def open_elsewhere(setup: Callable[[], Workbench], *, limits: RunLimits | None = None) -> ProcessExecutor:
    """Start one worker process with another hash seed than this process has.

    Args:
        setup: Makes the worker's workbench; pickled, so a function of a module with plain arguments.
        limits: Of one job: its real time, and the memory of the worker.

    Raises:
        StudyError: The worker cannot be started.
    """
    own = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = "1" if own == "0" else "0"  # a random seed is never 0
    try:
        return ProcessExecutor(setup, workers=1, limits=limits)
    finally:
        if own is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = own

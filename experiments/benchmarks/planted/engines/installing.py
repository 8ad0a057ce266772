"""Imports of what only an engine needs."""

from __future__ import annotations

import importlib
from types import ModuleType

from chaosagent.errors import UsageError

REQUIREMENTS = "experiments/benchmarks/planted/engines/requirements.txt"


def installed(module: str, *, needed_by: str) -> ModuleType:
    """Import a module of a package that is among no extra.

    Args:
        module: Dotted name.
        needed_by: What the user asked for, as the message names it.

    Raises:
        UsageError: The package is not installed; the message says the command that installs it.
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise UsageError(
            f"{needed_by} needs {package}, which is not installed: run `pip install {package}`, or "
            f"`pip install -r {REQUIREMENTS}` in a checkout for all outside engines."
        ) from None

"""Optional packages: imported where they are used, with one sentence when they are missing."""

from __future__ import annotations

import importlib
from types import ModuleType

from chaosagent.errors import MissingExtraError


def require(module: str, *, extra: str, needed_by: str) -> ModuleType:
    """Import an optional module.

    Args:
        module: Dotted name, such as `"matplotlib.pyplot"`.
        extra: The extra of chaosagent that installs it.
        needed_by: What the user asked for, as the message names it.

    Raises:
        MissingExtraError: The package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != package:
            raise
        raise MissingExtraError(package, extra, needed_by) from error

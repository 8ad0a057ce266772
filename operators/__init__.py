"""Built-in operators, one per file, one package per boundary."""

from __future__ import annotations

import functools
import os
import pkgutil
from collections.abc import Mapping
from typing import TYPE_CHECKING

from chaosagent.registry import FileEntries

if TYPE_CHECKING:
    from chaosagent.faults.operator import Operator

__all__ = ["entries"]

# A second import under another name would make a second copy of every class.
if __name__ != "chaosagent.operators":
    raise ImportError(
        f"This package was imported as {__name__!r}; its only name is `chaosagent.operators`. "
        "The folder operators/ just keeps its files. Write `import chaosagent.operators`, "
        "after `pip install -e .` in the checkout."
    )


@functools.cache
def entries() -> Mapping[str, type[Operator]]:
    """Return the class in each file of each folder: `service.delay` is in `service/delay.py`."""
    folders = [module.name for module in pkgutil.iter_modules(__path__) if module.ispkg]
    paths = {folder: [os.path.join(path, folder) for path in __path__] for folder in folders}
    names = (f"{folder}.{file.name}" for folder in folders for file in pkgutil.iter_modules(paths[folder]))
    return FileEntries(__name__, sorted(names))

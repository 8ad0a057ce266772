"""Built-in searchers, one per file."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from typing import TYPE_CHECKING

from chaosagent.registry import FileEntries

if TYPE_CHECKING:
    from chaosagent.study.searcher import SearcherFactory

__all__ = ["drawing", "entries", "seen"]

# A second import under another name would make a second copy of every class.
if __name__ != "chaosagent.searchers":
    raise ImportError(
        f"This package was imported as {__name__!r}; its only name is `chaosagent.searchers`. "
        "The folder searchers/ just keeps its files. Write `import chaosagent.searchers`, "
        "after `pip install -e .` in the checkout."
    )


def entries() -> Mapping[str, SearcherFactory]:
    """Return the searcher in each file: `beam` is in `beam.py`."""
    return FileEntries(__name__, sorted(file.name for file in pkgutil.iter_modules(__path__) if not file.ispkg))

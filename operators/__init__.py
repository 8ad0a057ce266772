"""Built-in operators, one per file, one package per boundary."""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from chaosagent.errors import UsageError

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
    """Return every built-in operator by its registry name; a file is imported on the first look at its class."""
    return _Kinds()


class _Kinds(Mapping[str, "type[Operator]"]):
    """The class in each file of each folder; `service.delay` is in `service/delay.py`."""

    def __init__(self) -> None:
        folders = [module.name for module in pkgutil.iter_modules(__path__) if module.ispkg]
        paths = {folder: [os.path.join(path, folder) for path in __path__] for folder in folders}
        self._names = dict.fromkeys(
            sorted(f"{folder}.{file.name}" for folder in folders for file in pkgutil.iter_modules(paths[folder]))
        )

    def __getitem__(self, name: str) -> type[Operator]:
        if name not in self._names:
            raise KeyError(name)
        return _kind(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


@functools.cache
def _kind(name: str) -> type[Operator]:
    module = importlib.import_module(f"{__name__}.{name}")
    for item in vars(module).values():
        if isinstance(item, type) and getattr(item, "name", None) == name:
            return item
    raise UsageError(f'{module.__file__} has no class with the name of its file. Write `name = "{name}"` in the class.')

"""One registry per kind of plug-in."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Generic, TypeVar

from chaosagent.errors import UnknownNameError, UsageError

T = TypeVar("T")


class Registry(Generic[T]):
    """Names and what they stand for; loaded on first use.

    Built-ins come from the function `entries()` of a module that is imported on first use, plug-ins from entry points.
    A plug-in's name is `package/name` or any name that no one else owns.

    Args:
        kind: What is registered, singular, as messages name it: `"operator"`.
        group: The entry-point group of plug-ins.
        builtins: Dotted name of the module with the built-in entries.
    """

    def __init__(self, kind: str, group: str, builtins: str) -> None:
        self.kind, self.group = kind, group
        self.failures: dict[str, str] = {}
        self._builtins = builtins
        self._entries: MutableMapping[str, T] | None = None

    def register(self, name: str, entry: T) -> None:
        """Add an entry.

        Raises:
            UsageError: The name has another owner already.
        """
        entries = self._load()
        if name in entries and entries[name] is not entry:
            raise UsageError(
                f"{self.kind} {name!r} is registered twice: {_describe(entries[name])} owns the name, "
                f"{_describe(entry)} wants it. Rename one of them, for example to 'yourpackage/{name}'."
            )
        entries[name] = entry

    def get(self, name: str, where: str = "") -> T:
        """Return what a name stands for.

        Raises:
            UnknownNameError: Nobody registered the name; the nearest known one is offered.
        """
        entries = self._load()
        try:
            return entries[name]
        except KeyError:
            if name in self.failures:
                raise UsageError(f"{self.kind} {name!r} failed to load: {self.failures[name]}.") from None
            raise UnknownNameError(self.kind, name, entries, where) from None

    def __contains__(self, name: str) -> bool:
        return name in self._load()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._load()))

    def _load(self) -> MutableMapping[str, T]:
        if self._entries is None:
            # Not copied: a mapping may make its values when they are asked for.
            self._entries = ChainMap({}, importlib.import_module(self._builtins).entries())
            for point in sorted(importlib.metadata.entry_points(group=self.group), key=lambda point: point.name):
                try:
                    entry = point.load()
                except Exception as error:  # plug-in loading is a seam: the failure is kept and named on use
                    self.failures[point.name] = f"{type(error).__name__}: {error} (from {point.value})"
                    continue
                self.register(point.name, entry)
        return self._entries


class FileEntries(Mapping[str, T]):
    """One entry per file of a package; a file is imported on the first look at its entry.

    A file has a class with `name = "<its name>"`, or a function with its name.

    Args:
        package: Dotted name of the package.
        names: Of the files, below the package.
    """

    def __init__(self, package: str, names: Iterable[str]) -> None:
        self._package = package
        self._entries: dict[str, T | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> T:
        found = self._entries[name]
        if found is None:
            found = self._entries[name] = self._load(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def _load(self, name: str) -> T:
        module = importlib.import_module(f"{self._package}.{name}")
        found: T  # what a file defines is for the type checker to say
        for found in vars(module).values():
            if inspect.isclass(found) and getattr(found, "name", None) == name:
                return found
            if inspect.isfunction(found) and found.__name__ == name:
                return found
        function = f", or call the function {name}" if name.isidentifier() else ""
        raise UsageError(
            f'{module.__file__} has no class with the name of its file. Write `name = "{name}"` in the class{function}.'
        )


def _describe(entry: object) -> str:
    module = getattr(entry, "__module__", type(entry).__module__)
    return f"{module}.{getattr(entry, '__qualname__', type(entry).__qualname__)}"

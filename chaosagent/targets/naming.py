"""How another process names an object of this one: the way back from `references.py`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import NamedTuple


class Reference(NamedTuple):
    """How an object is named.

    Attributes:
        text: `module:attribute` or `file.py:attribute`.
        only_here: Why no other process can import it, a clause; empty if one can.
    """

    text: str
    only_here: str = ""


def reference_of(found: object, kind: str, *, defined_in: str, called: str, as_file: bool) -> Reference:
    """Return the reference of an object that stands at the top level of a module.

    Args:
        found: The object.
        kind: What it is, as messages name it: `"target"`.
        defined_in: Name of the module that defines it, as far as is known; it is looked at first.
        called: Its own name, for an object that stands nowhere.
        as_file: Name it by its file where that stands in the working directory and in no package, as study files do.

    Determinism: modules are looked at in the order of their names, so equal programs give equal references.
    """
    first: Reference | None = None
    for module, attribute in _places_of(found, defined_in):
        text = _importable_name(module, attribute, as_file=as_file)
        if text:
            return Reference(text)
        if first is None:
            first = Reference(f"{module.__name__}:{attribute}", f"{kind} {called!r} stands in {_named(module)}")
    if first is not None:
        return first
    why = f"{kind} {called!r} has no name at the top level of a module"
    return Reference(f"{defined_in or '__main__'}:{called}", why)


def _named(module: ModuleType) -> str:
    if module.__name__ == "__main__":
        file = getattr(module, "__file__", None)
        what = "no file" if file is None else f"{Path(file).name}, which is no module"
        return f"the running program, {what} that another process can import"
    return f"module {module.__name__!r}, which no other process can import"


def _places_of(found: object, defined_in: str) -> Iterator[tuple[ModuleType, str]]:
    names = dict.fromkeys((defined_in, "__main__", *sorted(sys.modules)))
    for name in names:
        module = sys.modules.get(name)
        if isinstance(module, ModuleType):
            for attribute, value in list(vars(module).items()):
                if value is found and attribute.isidentifier():
                    yield module, attribute


def _importable_name(module: ModuleType, attribute: str, *, as_file: bool) -> str:
    """Return how another process imports an attribute of a module; empty where it cannot."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        return ""
    path = Path(file).resolve()
    name = _name_of(module, path)
    is_script = as_file and path.suffix == ".py" and path.is_file()
    if is_script and "." not in name and path.is_relative_to(here := Path.cwd().resolve()):
        return f"{path.relative_to(here).as_posix()}:{attribute}"
    if _is_found(name, path):
        return f"{name}:{attribute}"
    return f"{path.as_posix()}:{attribute}" if is_script else ""


def _name_of(module: ModuleType, path: Path) -> str:
    """Return the name under which a module would be imported; the running program has another one than its own."""
    if module.__name__ != "__main__":
        return module.__name__
    spec = getattr(module, "__spec__", None)  # of `python -m package.module`
    return path.stem if spec is None else str(spec.name)


def _is_found(name: str, path: Path) -> bool:
    """Whether importing a name would load the file at a path; nothing is imported for the answer."""
    folders: list[str] | None = None
    spec: ModuleSpec | None = None
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return False
    for end in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:end]), folders)
        if spec is None:
            return False
        folders = list(spec.submodule_search_locations or ())
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve() == path

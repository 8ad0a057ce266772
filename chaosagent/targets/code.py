"""The files that a target is made of, so that runs of yesterday's code are not taken for runs of today's."""

from __future__ import annotations

import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

from chaosagent.targets.target import Target

_INSTALLED = frozenset({"site-packages", "dist-packages"})


def code_of(target: Target, folders: Iterable[Path], without: str = "") -> dict[str, str]:
    """Return the digest of each file of a target's code that is loaded now, by absolute path.

    These are the file that holds the target, all loaded from the folder of that file or below it, and all loaded from
    some further folders; what is installed as a package is not among them, unless the target itself is.

    Args:
        target: The system under test.
        folders: Where the user's own code stands, such as the folder of the study file.
        without: Name of a module on which no run depends, such as that of a searcher; it counts all the same where the
            target stands in it, or another of these files takes something from it.
    """
    own = getattr(sys.modules.get(getattr(inspect.unwrap(target.run), "__module__", "")), "__file__", None)
    roots = [folder.resolve() for folder in folders]
    if own is not None and not Path(own).is_relative_to(sysconfig.get_path("stdlib")):
        roots.append(Path(own).resolve().parent)
    files = {
        Path(file).resolve()
        for module in list(sys.modules.values())
        if (file := getattr(module, "__file__", None)) is not None and file.endswith(".py")
    }
    ours = [
        file
        for file in sorted(files)
        if any(
            file.is_relative_to(root) and not _INSTALLED.intersection(file.relative_to(root).parts) for root in roots
        )
    ]
    spared = _file_of(sys.modules.get(without))
    if spared is not None and spared != _file_of(inspect.getmodule(target.run)) and not _is_used(without, ours):
        ours = [file for file in ours if file != spared]
    named = getattr(target.run, "files", ())  # a command's, which no module tells
    return {str(file): digest for file in [*ours, *named] if (digest := _digest_of(file)) is not None}


def _file_of(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file).resolve()


def _is_used(module: str, files: Iterable[Path]) -> bool:
    """Whether a module of one of some other files holds a module, or something that was made in it."""
    listed, spared = set(files), sys.modules[module]
    return any(
        value is spared or getattr(value, "__module__", None) == module
        for other in list(sys.modules.values())
        if other is not spared and _file_of(other) in listed
        for value in list(vars(other).values())
    )


def changed_code(known: Mapping[str, str]) -> list[str]:
    """Return the files whose code is not what it was, by path; those that are gone, too."""
    return [file for file, digest in known.items() if _digest_of(Path(file)) != digest]


def _digest_of(file: Path) -> str | None:
    try:
        return hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return None

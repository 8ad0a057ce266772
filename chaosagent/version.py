"""The version of the installed package."""

from __future__ import annotations


def version() -> str:
    """Return the version, `"not installed"` where a checkout is only on Python's path."""
    import importlib.metadata

    try:
        return importlib.metadata.version("chaosagent")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"

"""Optional packages: imported where they are used, with one sentence when they are missing."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
from collections.abc import Mapping
from types import ModuleType

from chaosagent.errors import MissingExtraError, UsageError

EXTRAS: Mapping[str, str] = {
    "agentdojo": "dojo",
    "agents": "openai-agents",
    "autogen_agentchat": "autogen",
    "autogen_core": "autogen",
    "crewai": "crewai",
    "deap": "search",
    "httpx": "proxy",
    "hypothesis": "testing",
    "jinja2": "report",
    "langchain": "langgraph",
    "langchain_core": "langgraph",
    "langgraph": "langgraph",
    "llama_cpp": "small-model",
    "llama_index": "llama-index",
    "matplotlib": "report",
    "mcp": "mcp",
    "numpy": "statistics",
    "optuna": "search",
    "pydantic_ai": "pydantic-ai",
    "ray": "ray",
    "scipy": "statistics",
    "smolagents": "smolagents",
    "starlette": "proxy",
    "time_machine": "deterministic",
    "toxiproxy": "network",
    "uvicorn": "proxy",
}
"""The extra of chaosagent that brings a package, by the name under which it is imported."""


def missing_extra(error: ModuleNotFoundError, needed_by: str) -> MissingExtraError | None:
    """Return the error that names the extra of a package that somebody else has failed to import.

    Args:
        error: What Python raised.
        needed_by: Who imports the package, as the message names it.

    Returns:
        `None` where the package is there and only a part of it is missing, or no extra brings it.
    """
    extra = EXTRAS.get(error.name or "")
    return None if extra is None or error.name is None else MissingExtraError(error.name, extra, needed_by)


def require(module: str, *, extra: str, needed_by: str) -> ModuleType:
    """Import an optional module.

    Args:
        module: Dotted name, such as `"matplotlib.pyplot"`.
        extra: The extra of chaosagent that installs it.
        needed_by: What the user asked for, as the message names it.

    Raises:
        MissingExtraError: The package is not installed. A mere folder of its name, as of results, does not count.
    """
    package = module.partition(".")[0]
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] != package:
            raise
        raise MissingExtraError(package, extra, needed_by) from error
    if found.__spec__ is not None and found.__spec__.origin is None:  # a namespace: some folder
        raise MissingExtraError(package, extra, needed_by)
    return found


def require_version(package: str, *, lowest: str, below: str, extra: str, needed_by: str) -> None:
    """Refuse a version of a package that nothing here was tried with.

    Args:
        package: As it is installed, such as `"pydantic-ai-slim"`.
        lowest: The first version that is supported.
        below: The first one after it that is not.
        extra: The extra of chaosagent that installs the package.
        needed_by: What the user asked for, as the message names it.

    Raises:
        MissingExtraError: The package is not installed.
        UsageError: It is of another version.
    """
    try:
        installed = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError as error:
        raise MissingExtraError(package, extra, needed_by) from error
    if not _numbers(lowest) <= _numbers(installed) < _numbers(below):
        raise UsageError(
            f"{needed_by} needs {package} from {lowest} on and below {below}, and {installed} is installed: run "
            f"`pip install 'chaosagent[{extra}]'`."
        )


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: `1.2.0rc1` counts as `1.2.0`."""
    leading = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in leading[0].split(".")) if leading else ()

"""Every adapter says which framework it needs, in which versions, and refuses to work without it."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaosagent.adapters.core import framework
from chaosagent.adapters.core.framework import Framework, check_loop
from chaosagent.errors import MissingExtraError, TargetError, UsageError

ADAPTERS = ["autogen", "crewai", "langgraph", "llama_index", "mcp", "openai_agents", "pydantic_ai", "smolagents"]
PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"

every_adapter = pytest.mark.parametrize("name", ADAPTERS)


@pytest.fixture(autouse=True)
def _nothing_checked_yet() -> Iterator[None]:
    framework._check.cache_clear()
    yield
    framework._check.cache_clear()


def _framework(name: str) -> Framework:
    found: Framework = importlib.import_module(f"chaosagent.adapters.{name}").FRAMEWORK
    return found


def _used(name: str) -> Any:
    """Call what a target calls first, with nothing."""
    through_doors: Any = importlib.import_module(f"chaosagent.adapters.{name}").through_doors
    parameters = inspect.signature(through_doors).parameters.values()
    return through_doors(*(None for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD))


@every_adapter
def test_a_missing_package_is_named_with_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(package: str) -> str:
        raise importlib.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(importlib.metadata, "version", version)

    with pytest.raises(MissingExtraError, match=rf"pip install 'chaosagent\[{_framework(name).extra}\]'"):
        _used(name)


@every_adapter
def test_a_package_that_cannot_be_imported_is_named_with_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = {package: lowest for package, lowest, _ in _framework(name).packages}
    monkeypatch.setattr(importlib.metadata, "version", bounds.__getitem__)
    top = _framework(name).module.partition(".")[0]
    for module in [module for module in sys.modules if module.startswith(f"{top}.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, top, None)

    with pytest.raises(MissingExtraError, match=rf"pip install 'chaosagent\[{_framework(name).extra}\]'"):
        _used(name)


@every_adapter
def test_only_versions_within_the_bounds_are_taken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framework, "require", lambda *_, **__: None)
    package, lowest, below = _framework(name).packages[0]
    for installed in ("0.0.1", below, f"{below}.1"):
        monkeypatch.setattr(importlib.metadata, "version", lambda _, installed=installed: installed)
        told = re.escape(f"needs {package} from {lowest} on and below {below}, and {installed} is installed")
        with pytest.raises(UsageError, match=told):
            _used(name)
    newer = {package: f"{lowest}.1" for package, lowest, _ in _framework(name).packages}
    monkeypatch.setattr(importlib.metadata, "version", newer.__getitem__)
    _framework(name).check()


@every_adapter
def test_the_bounds_are_those_of_the_extra(name: str) -> None:
    extras = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    bounds = {f"{package}>={lowest},<{below}" for package, lowest, below in _framework(name).packages}

    assert bounds == set(extras[_framework(name).extra])
    assert _framework(name).adapter == f"chaosagent.adapters.{name}"


def test_a_target_without_an_event_loop_is_told_what_to_change() -> None:
    with pytest.raises(TargetError, match=r"an event loop: make the target an `async def`\. Await it\."):
        check_loop("Crews", "Await it.")

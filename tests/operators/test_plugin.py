"""A stranger's operator, announced by an entry point."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaosagent.errors import UsageError
from chaosagent.faults.operator import Operator
from chaosagent.operators import entries
from chaosagent.operators.service.delay import Delay
from chaosagent.registry import Registry


def _registry(folder: Path, monkeypatch: pytest.MonkeyPatch, entry_points: str) -> Registry[type[Operator]]:
    """Return a fresh registry that sees an installed package with some entry points."""
    installed = folder / "example_plugin-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: example-plugin\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(f"[chaosagent.operators]\n{entry_points}\n")
    (folder / "example_plugin.py").write_text(
        "from chaosagent.operators.service.delay import Delay\n\nclass Late(Delay):\n    name = 'example/late'\n"
    )
    monkeypatch.syspath_prepend(folder)
    return Registry("operator", "chaosagent.operators", "chaosagent.operators")


def test_an_entry_point_adds_an_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = _registry(tmp_path, monkeypatch, "example/late = example_plugin:Late")

    assert issubclass(registry.get("example/late"), Delay)
    assert set(registry) == {"example/late", *entries()}


def test_an_operator_that_fails_to_load_is_named_on_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = _registry(tmp_path, monkeypatch, "example/late = example_plugin:Missing")

    assert set(registry) == set(entries())
    with pytest.raises(
        UsageError, match=r"operator 'example/late' failed to load: AttributeError.*example_plugin:Missing"
    ):
        registry.get("example/late")


def test_an_entry_point_cannot_take_the_name_of_a_builtin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = _registry(tmp_path, monkeypatch, "service.delay = example_plugin:Late")

    with pytest.raises(UsageError, match=r"operator 'service.delay' is registered twice: .*Delay owns the name"):
        list(registry)

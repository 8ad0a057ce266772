"""One registry per kind: names are given once, unknown ones offer the nearest, broken plug-ins are named."""

import importlib.metadata
import sys
from types import ModuleType
from typing import Any

import pytest

from chaosagent.errors import UnknownNameError, UsageError
from chaosagent.registry import Registry


class Point:
    """An entry point that is not installed."""

    def __init__(self, name: str, value: str, entry: object) -> None:
        self.name, self.value, self.entry = name, value, entry

    def load(self) -> object:
        if isinstance(self.entry, Exception):
            raise self.entry
        return self.entry


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Any:
    def make(builtins: dict[str, object], *points: Point) -> Registry[object]:
        module = ModuleType("builtins_for_a_test")
        module.entries = lambda: builtins  # type: ignore[attr-defined]  # what a registry asks for
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(
            importlib.metadata, "entry_points", lambda *, group: points if group == "some.group" else ()
        )
        return Registry("operator", "some.group", module.__name__)

    return make


def test_built_in_entries_and_plug_ins_are_found_by_name_and_listed_in_order(make: Any) -> None:
    registry = make({"b": 1, "a": 2}, Point("their/c", "their.module:c", 3))

    assert registry.get("a") == 2
    assert registry.get("their/c") == 3
    assert list(registry) == ["a", "b", "their/c"]
    assert "b" in registry
    assert "d" not in registry


def test_an_unknown_name_says_where_it_stands_and_offers_the_nearest(make: Any) -> None:
    registry = make({"service.delay": 1})

    with pytest.raises(UnknownNameError, match=r"study.yaml: unknown operator 'service.dealy'. Did you mean"):
        registry.get("service.dealy", "study.yaml")


def test_a_name_has_one_owner(make: Any) -> None:
    registry = make({"service.delay": Point})

    with pytest.raises(UsageError, match=r"'service.delay' is registered twice: .*Point owns the name.*yourpackage/"):
        registry.register("service.delay", Registry)


def test_the_same_owner_may_register_twice(make: Any) -> None:
    registry = make({})

    registry.register("x", Point)
    registry.register("x", Point)

    assert list(registry) == ["x"]


def test_a_plug_in_that_fails_to_load_is_named_when_it_is_wanted_and_harms_no_other(make: Any) -> None:
    registry = make({"a": 1}, Point("theirs", "their.module:x", ImportError("no module named torch")))

    assert registry.get("a") == 1
    with pytest.raises(UsageError, match=r"'theirs' failed to load: ImportError: no module named torch \(from their"):
        registry.get("theirs")
    assert "theirs" not in registry

"""What runs leave in the user's modules is found by value, and named."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from chaosagent.execution.hidden_state.module_state import changed_between, state_of_modules
from chaosagent.targets.target import Target

MODULE = """
import functools
from collections import OrderedDict

import chaosagent

CACHE = {}
FIXED = {"a": [1, 2], "b": ("c",)}
ORDERED = OrderedDict()


class Shop:
    sold = 0

    def __init__(self):
        self.stock = {"parcels": 3}

    @functools.cache
    def price(self):
        return 1


SHOP = Shop()


def with_default(item, seen=[]):
    seen.append(item)


@functools.lru_cache
def load(name):
    return name


def around():
    inner = []

    def keep(item):
        inner.append(item)

    return keep


KEEP = around()


def system_of():
    calls = []

    @chaosagent.target(tasks=[chaosagent.Task("t")])
    async def agent(task, run):
        calls.append(task)

    agent.run.calls = calls
    return agent


AGENT = system_of()
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Return a module of the user's."""
    (tmp_path / "shop_module.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("shop_module")
    del sys.modules["shop_module"]


def target_of(module: ModuleType) -> Target:
    found: Target = vars(module)["AGENT"]
    return found


def set_sold(module: ModuleType) -> None:
    module.Shop.sold = 1


CHANGES: dict[str, tuple[Callable[[ModuleType], object], str]] = {
    "an entry of a dictionary": (lambda module: module.CACHE.update(a=1), "CACHE"),
    "an entry deep in another": (lambda module: module.FIXED["a"].append(3), "FIXED"),
    "an entry of a class of dictionary": (lambda module: module.ORDERED.update(a=1), "ORDERED"),
    "an attribute of a class": (set_sold, "Shop.sold"),
    "an attribute of an object": (lambda module: module.SHOP.stock.clear(), "SHOP"),
    "a default of a function": (lambda module: module.with_default(1), "with_default"),
    "the cache of a function": (lambda module: module.load("x"), "load (its cache)"),
    "the cache of a method": (lambda module: module.SHOP.price(), "Shop.price (its cache)"),
    "a variable around a function": (lambda module: module.KEEP(1), "KEEP"),
    "a new variable": (lambda module: setattr(module, "LATER", 1), "LATER"),
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_a_change_is_found_and_named(module: ModuleType, change: str) -> None:
    make, name = CHANGES[change]
    before = state_of_modules(target_of(module))

    make(module)

    assert changed_between(before, state_of_modules(target_of(module))) == (f"{name} in shop_module.py",)


def test_a_variable_around_the_function_of_a_target_belongs_to_it(module: ModuleType) -> None:
    before = state_of_modules(target_of(module))

    target_of(module).run.calls.append(1)  # type: ignore[attr-defined]  # the module sets it

    assert changed_between(before, state_of_modules(target_of(module))) == (
        "AGENT in shop_module.py",
        "target agent",
    )


def test_equal_values_are_no_change(module: Any) -> None:
    before = state_of_modules(target_of(module))

    module.CACHE = {}
    module.FIXED = {"b": ("c",), "a": [1, 2]}
    module.FIXED = {"a": [1, 2], "b": ("c",)}

    assert changed_between(before, state_of_modules(target_of(module))) == ()


def test_of_a_variable_that_is_too_large_the_length_is_compared(module: ModuleType) -> None:
    module.CACHE.update(dict.fromkeys(map(str, range(200_000))))
    before = state_of_modules(target_of(module))

    module.CACHE["one more"] = 1

    assert changed_between(before, state_of_modules(target_of(module))) == ("CACHE in shop_module.py",)


@pytest.mark.parametrize("shared", ["sys", "builtins"])
def test_what_the_user_keeps_in_a_module_of_python_is_found(module: ModuleType, shared: str) -> None:
    before = state_of_modules(target_of(module))

    try:
        setattr(sys.modules[shared], "my_counter", 1)  # noqa: B010  # as a user would: mypy knows no such attribute
        assert changed_between(before, state_of_modules(target_of(module))) == (f"{shared}.my_counter",)
    finally:
        delattr(sys.modules[shared], "my_counter")

"""What the user's modules hold between runs: the values of their variables, as far as they can be read.

A run is a function of task, configuration, seed and schedule only if nothing that an earlier run has left in the
process matters to it: no cache, no counter. So the variables of modules are compared before and after a run, by value.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import types
from collections.abc import Iterator, Mapping
from pathlib import PurePath

from chaosagent.execution.crash_location import is_users_module
from chaosagent.execution.hidden_state.value_reader import ValueReader
from chaosagent.targets.target import Target

_SHARED: Mapping[str, frozenset[str]] = {name: frozenset(vars(sys.modules[name])) for name in ("builtins", "sys")}
"""Modules that all code has, with what they hold by themselves."""

_BY_PYTHON = frozenset({"_", "ps1", "ps2", "tracebacklimit", "last_exc", "last_type", "last_value", "last_traceback"})

VALUES_MAX = 400_000
"""Values that are looked at in all; what is found behind them is not compared."""

VALUES_OF_ONE_MAX = 100_000
"""The same in one variable, of which then only the length is compared."""


def state_of_modules(target: Target) -> Mapping[str, bytes]:
    """Return digests of what the user's modules hold, by names such as `CACHE in agent.py` or `Shop.count in agent.py`.

    Args:
        target: The system under test; what its function refers to belongs to it, too.
    """
    reader = ValueReader(values_max=VALUES_MAX, values_of_one_max=VALUES_OF_ONE_MAX)
    for name, value in _of_function(f"target {target.name}", target.run):
        reader.read_whole(name, value)
    for module_name, module in sorted(sys.modules.items()):
        if not is_users_module(vars(module)):
            continue
        file = PurePath(str(module.__file__)).name
        for name, value in list(vars(module).items()):
            for full_name, content in _of_variable(name, value, module_name):
                reader.read_whole(f"{full_name} in {file}", content)
    for module_name, own in _SHARED.items():
        for name, value in list(vars(sys.modules[module_name]).items()):
            if name not in own and name not in _BY_PYTHON:
                reader.read_whole(f"{module_name}.{name}", value)
    reader.read_whole("os.environ", dict(os.environ))
    return reader.digests()


def changed_between(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the names of what has changed between two states, of what was there before or not."""
    return tuple(sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)))


def _of_variable(name: str, value: object, module: str) -> Iterator[tuple[str, object]]:
    """Yield what is to be read of a module's variable: of a class its attributes, of a function what it keeps."""
    if name.startswith("__") or isinstance(value, types.ModuleType):
        return
    if isinstance(value, Target):
        yield from _of_function(name, value.run)
    elif isinstance(value, type):
        if value.__module__ == module:
            for attribute, item in list(vars(value).items()):
                if not attribute.startswith("__") and not inspect.isdatadescriptor(item):
                    yield from _of_function(f"{name}.{attribute}", getattr(item, "__func__", item))
    elif not isinstance(value, _FUNCTIONS) or value.__module__ == module:  # an imported one belongs to its own module
        yield from _of_function(name, value)


_FUNCTIONS = (types.FunctionType, functools._lru_cache_wrapper)


def _of_function(name: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield what a function keeps: its cache, its defaults, its attributes, and the variables around it."""
    if isinstance(value, functools._lru_cache_wrapper):
        yield f"{name} (its cache)", [value.cache_info().misses, value.cache_info().currsize]
        value = value.__wrapped__
    if isinstance(value, types.FunctionType):
        kept = [value.__defaults__, value.__kwdefaults__, value.__dict__, value]
        yield name, [item for item in kept if item]
    else:
        yield name, value

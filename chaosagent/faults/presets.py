"""Presets: names that stand for several operators in `operators:` of a study file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from chaosagent.faults.operator import OPERATORS, searched_by_default


def _injection() -> list[str]:
    """Return the operators that smuggle an instruction into what an agent reads."""
    return [name for name in OPERATORS if "goal" in OPERATORS.get(name).parameters]


def _network() -> list[str]:
    return [name for name in OPERATORS if name.startswith("network.")]


PRESETS: Mapping[str, Callable[[], list[str]]] = {
    "default": searched_by_default,
    "injection": _injection,
    "network": _network,
}
"""What each stands for: what is searched where a study names nothing, smuggled instructions, real connections."""


def operators_of(preset: str) -> list[str]:
    """Return the names of the operators that a preset stands for, sorted as the registry has them."""
    return PRESETS[preset]()


def presets_with(operator: str) -> list[str]:
    """Return the presets that an operator belongs to."""
    return [preset for preset in PRESETS if operator in operators_of(preset)]


def presets_that_try(operators: Iterable[str]) -> list[str]:
    """Return the presets besides `default` with one of some operators, in the order in which they are listed."""
    wanted = set(operators)
    return [preset for preset in PRESETS if preset != "default" and wanted.intersection(operators_of(preset))]

"""The space of schedules that a study file declares."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from typing import cast

from chaosagent.errors import UnknownNameError, UsageError
from chaosagent.faults.operator import OPERATORS, CostModel, ParameterValue, bind
from chaosagent.faults.space import Choices, Space
from chaosagent.studyfile.file import StudyFile
from chaosagent.studyfile.located import Keys, Located, shown
from chaosagent.vocabulary import Boundary


def space_of(study: StudyFile) -> Space:
    """Return the space that a study file declares.

    Raises:
        UsageError: An operator, parameter, level or interface is unknown or not allowed; with file and line.
    """
    cost = study.settings.cost
    model = CostModel(cost.c_tokens, cost.c_hook, cost.c_mag)
    if study.settings.operators is None:
        return Space(model=model)
    choices = [
        choice
        for index, entry in enumerate(study.settings.operators)
        for choice in _choices(entry, ("operators", index), study.located)
    ]
    return Space(choices, model)


def _choices(entry: object, keys: Keys, located: Located) -> list[Choices]:
    """Return what one entry of `operators` allows: a name or glob pattern, or a mapping with levels and places."""
    where = located.where(*keys)
    given: dict[str, object] = dict(entry) if isinstance(entry, dict) else {"operator": entry}
    name = given.pop("operator", None)
    if not isinstance(name, str):
        raise UsageError(
            f"{where}: {shown(entry)} is no operator. Write its name, or a mapping with `operator: <name>`."
        )
    interfaces = _patterns(given.pop("interfaces", ["*"]), (*keys, "interfaces"), located)
    agents = _patterns(given.pop("agents", ["*"]), (*keys, "agents"), located)
    _check_interfaces(interfaces, located.where(*keys, "interfaces"))
    names = fnmatch.filter(OPERATORS, name) if "*" in name else [name]
    if not names:
        patterns = {"*", *(f"{known.partition('.')[0]}.*" for known in OPERATORS)}
        raise UnknownNameError("operator", name, patterns, where)
    if given and len(names) > 1:
        raise UsageError(f"{where}: {name!r} stands for {len(names)} operators; parameters go to one. Name it.")
    named = "*" not in name
    return [Choices(one, _levels(one, given, keys, located), interfaces, agents, named=named) for one in names]


def _levels(
    operator: str, given: Mapping[str, object], keys: Keys, located: Located
) -> dict[str, tuple[ParameterValue, ...]]:
    kind = OPERATORS.get(operator, located.where(*keys))
    levels: dict[str, tuple[ParameterValue, ...]] = {}
    for parameter, value in given.items():
        where = located.where(*keys, parameter)
        if parameter not in kind.parameters:
            known = [*kind.parameters, "interfaces", "agents"]
            raise UnknownNameError(f"parameter of {operator}:", parameter, known, where)
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(level, bool | int | float | str) for level in values):
            raise UsageError(f"{where}: {operator}({parameter}={shown(value)}): give one level or a list of levels.")
        checked = cast("list[ParameterValue]", values)
        for level in checked:
            try:
                bind(operator, ((parameter, level),))
            except UsageError as error:
                raise UsageError(f"{where}: {error}") from None
        levels[parameter] = tuple(dict.fromkeys(checked))
    return levels


def _patterns(value: object, keys: Keys, located: Located) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not values or not all(isinstance(pattern, str) for pattern in values):
        raise UsageError(f"{located.where(*keys)}: {keys[-1]} is {shown(value)}; it must be a list of glob patterns.")
    return tuple(values)


def _check_interfaces(patterns: Iterable[str], where: str) -> None:
    """Refuse patterns that can match no interface: a space that is empty by mistake finds nothing, and proves it."""
    boundaries = [boundary.value for boundary in Boundary]
    for pattern in patterns:
        boundary, colon, _ = pattern.partition(":")
        if not colon and "*" not in pattern:
            raise UsageError(f"{where}: interface {pattern!r} has no boundary. Write for example 'service:{pattern}'.")
        if colon and not any(fnmatch.fnmatchcase(known, boundary) for known in boundaries):
            raise UnknownNameError("boundary", boundary, boundaries, where)

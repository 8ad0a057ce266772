"""The smallest set of records that covers what many records show; needs the extra `statistics`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

from chaosagent.extras import require

NAME = TypeVar("NAME", bound=Hashable)
ELEMENT = TypeVar("ELEMENT", bound=Hashable)


def smallest_cover(shown: Mapping[NAME, AbstractSet[ELEMENT]]) -> list[NAME]:
    """Return the fewest names that together show every element; of several such sets, one of early names.

    Args:
        shown: What each name shows; the order of the names is that of preference.

    Returns:
        The chosen names, in that order. The sum of their places, from 0, is least among the smallest sets.

    Raises:
        MissingExtraError: scipy is not installed.

    Source: set cover as an integer program, solved by `scipy.optimize.milp`.
    """
    kept = _undominated(shown)
    elements = sorted(set().union(*(shown[name] for name in kept)), key=repr) if kept else []
    if not elements:
        return []
    if len(kept) == 1:
        return kept
    numpy = require("numpy", extra="statistics", needed_by="the smallest suite")
    optimize = require("scipy.optimize", extra="statistics", needed_by="the smallest suite")
    places = {name: place for place, name in enumerate(shown)}
    ranks = [places[name] for name in kept]
    row = {element: number for number, element in enumerate(elements)}
    covers = numpy.zeros((len(elements), len(kept)))
    for column, name in enumerate(kept):
        for element in shown[name]:
            covers[row[element], column] = 1
    every = numpy.ones(len(kept))

    def solve(weights: Any, *constraints: Any) -> Any:
        solved = optimize.milp(
            weights,
            integrality=every,
            bounds=optimize.Bounds(0, 1),
            constraints=[optimize.LinearConstraint(covers, lb=1), *constraints],
            options={"mip_rel_gap": 0.0},
        )
        assert solved.x is not None, solved.message  # all of them together are a solution
        return numpy.round(solved.x)

    count = solve(every).sum()
    taken = solve(numpy.array(ranks, dtype=float), optimize.LinearConstraint(every, lb=count, ub=count))
    return [name for name, one in zip(kept, taken, strict=True) if one]


def _undominated(shown: Mapping[NAME, AbstractSet[ELEMENT]]) -> list[NAME]:
    """Return the names that show something which no earlier name shows as well."""
    kept: list[NAME] = []
    for name, some in shown.items():
        if some and not any(some <= shown[other] for other in kept):
            kept.append(name)
    return kept

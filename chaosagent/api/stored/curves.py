"""R(B) and the survival of contracts, from stored studies: what their searches found and proved, without a run."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chaosagent.api.load_study import load
from chaosagent.api.stored.categories import categories_of
from chaosagent.api.stored.comparing import outcomes_of
from chaosagent.canonical import Plain
from chaosagent.errors import UsageError
from chaosagent.metrics.comparison import SearchKey, SearchOutcome
from chaosagent.metrics.robustness import Curve, Survival, curve_of
from chaosagent.report.page import Cell, Page, faint, notice, strong
from chaosagent.report.printable import printable
from chaosagent.report.story import quantity
from chaosagent.study.plan import OBJECTIVE

NAMES_MAX = 3


@dataclass(frozen=True, slots=True)
class StudyCurves:
    """The curves of one study.

    Attributes:
        name: For a legend: the folder, and the configuration.
        folder: Of the study.
        robustness: R(B), the share of tasks and seeds that meet their objective under every schedule of cost up to B.
        survival: The share of searches whose contract no schedule of cost up to B breaks; the objective is not among
            the contracts. `None` where there is no other.
        contracts: The same for each contract alone.
        breaks: By budget, the tasks that stop meeting their objective there; with a seed where other seeds do not.
        categories: R(B) of the tasks of each category, by name; empty where that was not asked for.
        stochastic: Answers come by chance, so nothing is proved.
    """

    name: str
    folder: Path
    robustness: Curve | None
    survival: Curve | None
    contracts: dict[str, Curve]
    breaks: dict[float, tuple[str, ...]]
    categories: dict[str, Curve]
    stochastic: bool


def curves_of(folder: Path, *, by_category: bool = False) -> StudyCurves:
    """Return the curves of a stored study.

    Args:
        folder: Of the study.
        by_category: Also R(B) of each category of tasks. The store does not hold categories, so this loads the target.

    Raises:
        UsageError: The folder holds no study that can be read, or one without a search; or its target is code outside
            the working directory, or no longer has one of the tasks.
        TargetError: The target cannot be loaded.
    """
    result = load(folder)
    outcomes, budget = outcomes_of(result), result.budget
    if not outcomes:
        raise UsageError(f"{folder}: no search of this study has ended, so there is no curve. Continue with --resume.")
    against = {key: one for key, one in outcomes.items() if key.contract == OBJECTIVE}
    others = {key: one for key, one in outcomes.items() if key.contract != OBJECTIVE}
    categories = categories_of(result.target, folder, {key.task for key in against}) if by_category else {}
    return StudyCurves(
        name=f"{folder.name} ({result.config})",
        folder=folder,
        robustness=curve_of(_survivals(against), budget) if against else None,
        survival=curve_of(_survivals(others), budget) if others else None,
        contracts={
            contract: curve_of(
                _survivals({key: one for key, one in others.items() if key.contract == contract}), budget
            )
            for contract in dict.fromkeys(key.contract for key in others)
        },
        breaks=_breaks(against, budget),
        categories={
            category: curve_of(
                _survivals({key: one for key, one in against.items() if categories[key.task] == category}), budget
            )
            for category in sorted(set(categories.values()))
        },
        stochastic=any(one.level == "S" for one in result.certificates),
    )


def _breaks(against: dict[SearchKey, SearchOutcome], budget: float) -> dict[float, tuple[str, ...]]:
    """Return what breaks at which cost: a task, with its seed where another seed of it does not break there."""
    seeds: Counter[str] = Counter(key.task for key in against)
    broken: dict[float, dict[str, list[int]]] = {}
    for key, one in against.items():
        if one.cost is not None and one.cost <= budget:
            broken.setdefault(one.cost, {}).setdefault(key.task, []).append(key.seed)
    return {
        cost: tuple(
            name
            for task, theirs in sorted(tasks.items())
            for name in ([task] if len(theirs) == seeds[task] else [f"{task}, seed {seed}" for seed in sorted(theirs)])
        )
        for cost, tasks in sorted(broken.items())
    }


def _survivals(outcomes: dict[SearchKey, SearchOutcome]) -> list[Survival]:
    return [
        Survival(key.task, key.seed, math.inf if one.proved_up_to is not None else one.proved_below, one.cost)
        for key, one in outcomes.items()
    ]


def curves_page(studies: Sequence[StudyCurves]) -> Page:
    """Return the curves as tables."""
    page = Page()
    for study in studies:
        curve = study.robustness
        page.line(strong(str(study.folder)), f": {study.name}")
        if curve is None:
            page.line(
                notice("No R(B): "), f"{study.folder} did not search the contract {OBJECTIVE!r}. {REMEDY}", indent=2
            )
        else:
            rows = [_row(curve, budget, study.breaks.get(budget, ())) for budget in _budgets(curve)]
            page.table(("budget from", "R(B)", "breaks there"), rows)
            page.line(
                f"mean of R over all budgets {_between(*curve.area)}; at {curve.budget_max:g}: {_at_end(curve)}; "
                f"{quantity(curve.samples, 'pair')} of task and seed",
                indent=2,
            )
        if study.categories and curve is not None:
            rows = [
                (printable(category), quantity(one.samples, "pair"), _at_end(one), _between(*one.area))
                for category, one in study.categories.items()
            ]
            page.table((f"R(B) by category, up to {curve.budget_max:g}", "of", "at the end", "mean"), rows)
        if study.survival is not None:
            rows = [(name, _at_end(one), _between(*one.area)) for name, one in study.contracts.items()]
            rows.append(("all of them", _at_end(study.survival), _between(*study.survival.area)))
            page.table((f"survival up to {study.survival.budget_max:g}", "at the end", "mean"), rows)
        page.gap()
    page.line(faint(NOTE_BY_CHANCE if any(study.stochastic for study in studies) else NOTE))
    return page


REMEDY = "Add `objective` to its contracts and search with --resume: no run is made again."
UNSEARCHED = f"the contract {OBJECTIVE!r} was not searched, so there is no R(B). {REMEDY}"
NOTE = (
    "Where two values stand, R is at least the first, as proved, and at most the second, by what was found. There is "
    "no interval, as nothing is estimated: the values hold for these tasks and seeds, and say nothing of others."
)
NOTE_BY_CHANCE = f"{NOTE} Where answers come by chance, nothing is proved, so the first value is 0."


def _budgets(curve: Curve) -> list[float]:
    return [level.budget for level in curve.levels]


def _row(curve: Curve, budget: float, tasks: Sequence[str]) -> Sequence[Cell]:
    level = curve.at(budget)
    return f"{budget:g}", _between(level.lower, level.upper), named(tasks)


def named(tasks: Sequence[str]) -> str:
    """Return the names of some tasks, and how many more there are."""
    shown = ", ".join(tasks[:NAMES_MAX])
    return f"{shown} and {len(tasks) - NAMES_MAX} more" if len(tasks) > NAMES_MAX else shown


def _at_end(curve: Curve) -> str:
    return _between(curve.levels[-1].lower, curve.levels[-1].upper)


def _between(low: float, high: float) -> str:
    return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"


def curves_json(studies: Sequence[StudyCurves]) -> dict[str, Plain]:
    """Return the curves as plain data."""
    return {
        "studies": [
            {
                "folder": str(study.folder),
                "name": study.name,
                "stochastic": study.stochastic,
                "robustness": None if study.robustness is None else _curve_json(study.robustness),
                "breaks": [{"budget": budget, "tasks": list(tasks)} for budget, tasks in study.breaks.items()],
                "categories": {name: _curve_json(curve) for name, curve in study.categories.items()},
                "survival": None if study.survival is None else _curve_json(study.survival),
                "contracts": {name: _curve_json(curve) for name, curve in study.contracts.items()},
            }
            for study in studies
        ]
    }


def _curve_json(curve: Curve) -> dict[str, Plain]:
    area = curve.area
    return {
        "budget_max": curve.budget_max,
        "samples": curve.samples,
        "area": [area.low, area.high],
        "levels": [{"budget": one.budget, "lower": one.lower, "upper": one.upper} for one in curve.levels],
    }


def curves_csv(studies: Sequence[StudyCurves]) -> str:
    """Return the curves as CSV, a row for each step: folder, curve, budget, lower, upper, and the tasks that break."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("folder", "curve", "budget", "lower", "upper", "breaks"))
    for study in studies:
        by_category = {f"R(B), category {name}": curve for name, curve in study.categories.items()}
        curves = {"R(B)": study.robustness, **by_category, "survival": study.survival, **study.contracts}
        for name, curve in curves.items():
            for level in () if curve is None else curve.levels:
                tasks = "; ".join(study.breaks.get(level.budget, ())) if curve is study.robustness else ""
                cells = (_cell(str(study.folder)), _cell(name), level.budget, level.lower, level.upper, _cell(tasks))
                writer.writerow(cells)
    return text.getvalue()


def _cell(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text

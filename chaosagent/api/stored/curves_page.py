"""The curves of stored studies as tables, as plain data, and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from chaosagent.api.stored.curves import StudyCurves
from chaosagent.canonical import Plain
from chaosagent.metrics.robustness import Curve
from chaosagent.report.page import Cell, Page, bad, faint, notice, strong
from chaosagent.report.printable import printable
from chaosagent.report.story import quantity
from chaosagent.study.plan import OBJECTIVE

NAMES_MAX = 3


def curves_page(studies: Sequence[StudyCurves]) -> Page:
    """Return the curves as tables."""
    page = Page()
    for study in studies:
        page.line(strong(str(study.folder)), f": {study.name}")
        for text in study.contradictions:
            page.line(bad("What was proved is wrong: "), f"a random schedule breaks it. {text}. {REPORT_IT}", indent=2)
        for remark in study.remarks:
            page.line(notice("Remark: "), f"{remark}.", indent=2)
        if study.robustness is None:
            page.line(notice("No R(B): "), f"{study.folder} did not search the contract {OBJECTIVE!r}.", indent=2)
        _add_robustness(page, study)
        _add_categories(page, study)
        if study.survival is not None:
            rows = [(name, at_end(one), between(*one.area)) for name, one in study.contracts.items()]
            rows.append(("all of them", at_end(study.survival), between(*study.survival.area)))
            page.table((f"survival up to {study.survival.budget_max:g}", "at the end", "mean"), rows)
        page.gap()
    page.line(faint(NOTE_BY_CHANCE if any(study.stochastic for study in studies) else NOTE))
    if any(study.random is not None for study in studies):
        page.line(faint(NOTE_RANDOM))
    return page


def _add_robustness(page: Page, study: StudyCurves) -> None:
    curve, random = study.robustness, study.random
    shown = [one for one in (curve, random) if one is not None]
    if not shown:
        return
    budgets = sorted({level.budget for one in shown for level in one.levels})
    header = ["budget from", *(["R(B)"] if curve else []), *(["random schedules"] if random else []), "breaks there"]
    rows = []
    for budget in budgets:
        cells: list[Cell] = [f"{budget:g}"]
        if curve is not None:
            cells.append(between(curve.at(budget).lower, curve.at(budget).upper))
        if random is not None:
            cells.append(_estimate(random, budget))
        rows.append((*cells, named(study.breaks.get(budget, ()))))
    page.table(tuple(header), rows)
    if curve is not None:
        page.line(
            f"mean of R over all budgets {between(*curve.area)}; at {curve.budget_max:g}: {at_end(curve)}; "
            f"{quantity(curve.samples, 'pair')} of task and seed",
            indent=2,
        )
    if random is not None:
        page.line(
            f"under random schedules: mean {between(*random.area)}; at {random.budget_max:g}: {at_end(random)}; at "
            f"most {quantity(random.samples, 'run')} for a budget",
            indent=2,
        )


def _estimate(curve: Curve, budget: float) -> str:
    level = curve.at(budget)
    interval = level.interval
    is_told = interval != (0.0, 1.0) and interval.low < interval.high
    told = f" ({interval.low:.2f} to {interval.high:.2f})" if is_told else ""
    return f"{between(level.lower, level.upper)}{told}"


def _add_categories(page: Page, study: StudyCurves) -> None:
    for title, curves in (("R(B)", study.categories), ("random schedules", study.random_categories)):
        if curves:
            rows = [
                (printable(category), quantity(one.samples, SAMPLES[one.kind]), at_end(one), between(*one.area))
                for category, one in curves.items()
            ]
            most = max(one.budget_max for one in curves.values())
            page.table((f"{title} by category, up to {most:g}", "of", "at the end", "mean"), rows)


SAMPLES = {"adversarial": "pair", "random": "run"}
REPORT_IT = "Nothing is taken for proved in that search here. Please report this: it is an error of chaosagent."
NOTE_RANDOM = (
    "Random schedules: the mean success of schedules that were drawn within each budget. In brackets: the 95 % "
    "interval for more tasks like these, at that budget alone. It is left out for fewer than five tasks, which say too "
    "little about others."
)
NOTE = (
    "Where two values stand, R is at least the first, as proved, and at most the second, by what was found. There is "
    "no interval, as nothing is estimated: the values hold for these tasks and seeds, and say nothing of others."
)
NOTE_BY_CHANCE = f"{NOTE} Where answers come by chance, nothing is proved, so the first value is 0."


def named(tasks: Sequence[str]) -> str:
    """Return the names of some tasks, and how many more there are."""
    shown = ", ".join(tasks[:NAMES_MAX])
    return f"{shown} and {len(tasks) - NAMES_MAX} more" if len(tasks) > NAMES_MAX else shown


def at_end(curve: Curve) -> str:
    """Return the share at the end of a curve."""
    return between(curve.levels[-1].lower, curve.levels[-1].upper)


def between(low: float, high: float) -> str:
    """Return one share, or two where they differ."""
    return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"


def curves_json(studies: Sequence[StudyCurves]) -> dict[str, Plain]:
    """Return the curves as plain data."""
    return {
        "studies": [
            {
                "folder": str(study.folder),
                "name": study.name,
                "stochastic": study.stochastic,
                "robustness": None if study.robustness is None else curve_json(study.robustness),
                "random": None if study.random is None else study.random.to_json(),
                "breaks": [{"budget": budget, "tasks": list(tasks)} for budget, tasks in study.breaks.items()],
                "categories": {name: curve_json(curve) for name, curve in study.categories.items()},
                "random_categories": {name: curve.to_json() for name, curve in study.random_categories.items()},
                "survival": None if study.survival is None else curve_json(study.survival),
                "contracts": {name: curve_json(curve) for name, curve in study.contracts.items()},
                "remarks": list(study.remarks),
                "contradictions": list(study.contradictions),
            }
            for study in studies
        ]
    }


def curve_json(curve: Curve) -> dict[str, Plain]:
    """Return a curve without intervals as plain data."""
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
    writer.writerow(("folder", "curve", "budget", "lower", "upper", "breaks", "interval low", "interval high"))
    for study in studies:
        for name, curve in _curves_by_name(study).items():
            for level in curve.levels:
                breaks = "; ".join(study.breaks.get(level.budget, ())) if curve is study.robustness else ""
                interval = level.interval if curve.kind == "random" else ("", "")
                cells = cell(str(study.folder)), cell(name), level.budget, level.lower, level.upper, cell(breaks)
                writer.writerow((*cells, *interval))
    return text.getvalue()


def _curves_by_name(study: StudyCurves) -> Mapping[str, Curve]:
    curves = {
        "R(B)": study.robustness,
        "random": study.random,
        **{f"R(B), category {name}": curve for name, curve in study.categories.items()},
        **{f"random, category {name}": curve for name, curve in study.random_categories.items()},
        "survival": study.survival,
        **study.contracts,
    }
    return {name: curve for name, curve in curves.items() if curve is not None}


def cell(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text

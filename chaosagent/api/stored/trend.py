"""How R(B) and the survival of contracts went from one stored study to the next."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from chaosagent.api.stored.curves import StudyCurves, survivals_of
from chaosagent.api.stored.curves_page import at_end, between, cell, curve_json
from chaosagent.canonical import Plain
from chaosagent.errors import UsageError
from chaosagent.metrics.comparison import SearchKey
from chaosagent.metrics.robustness import Curve, curve_of
from chaosagent.report.page import Page, faint, strong
from chaosagent.report.printable import printable
from chaosagent.report.story import quantity
from chaosagent.study.plan import OBJECTIVE


@dataclass(frozen=True, slots=True)
class Moment:
    """One study of several, in what all of them have searched.

    Attributes:
        study: With its own curves.
        robustness: R(B) of the tasks and seeds that all have searched against the objective; `None` without any.
        survival: Of the other contracts, in the searches that all have; `None` without any.
        broken: How many of all these searches know a counterexample.
    """

    study: StudyCurves
    robustness: Curve | None
    survival: Curve | None
    broken: int


@dataclass(frozen=True, slots=True)
class Trend:
    """Several studies in the order in which they were begun.

    Attributes:
        moments: One for each study.
        budget: Up to which all of them have searched.
        searches: How many all of them have.
        left_out: How many only some of them have.
    """

    moments: tuple[Moment, ...]
    budget: float
    searches: int
    left_out: int


def trend_of(studies: Sequence[StudyCurves]) -> Trend:
    """Compare studies in the searches that all of them have, up to the least of their budgets.

    Raises:
        UsageError: There is only one study, or no search that all have.
    """
    if len(studies) < 2:
        raise UsageError(f"{studies[0].folder}: a trend needs two studies or more. Name the folders of several nights.")
    ordered = sorted(studies, key=lambda study: (study.begun, str(study.folder)))
    budget = min(study.budget for study in ordered)
    every = set().union(*(study.outcomes for study in ordered))
    shared = [key for key in sorted(every) if all(key in study.outcomes for study in ordered)]
    if not shared:
        raise UsageError(
            f"{ordered[0].folder} and the others have searched no task, seed and contract that is the same in all of "
            "them. Name studies of one target."
        )
    return Trend(
        tuple(
            Moment(
                study,
                _curve(study, [key for key in shared if key.contract == OBJECTIVE], budget),
                _curve(study, [key for key in shared if key.contract != OBJECTIVE], budget),
                sum((cost := study.outcomes[key].cost) is not None and cost <= budget for key in shared),
            )
            for study in ordered
        ),
        budget,
        len(shared),
        len(every) - len(shared),
    )


def _curve(study: StudyCurves, keys: Sequence[SearchKey], budget: float) -> Curve | None:
    return curve_of(survivals_of({key: study.outcomes[key] for key in keys}), budget) if keys else None


def trend_page(trend: Trend) -> Page:
    """Return the trend as a table."""
    page = Page().line(strong(f"From {trend.moments[0].study.begun} to {trend.moments[-1].study.begun}"))
    rows = [
        (
            moment.study.begun,
            printable(str(moment.study.folder)),
            *_shares(moment.robustness),
            *_shares(moment.survival),
            f"{moment.broken} of {trend.searches}",
        )
        for moment in trend.moments
    ]
    most = f"{trend.budget:g}"
    page.table(
        ("begun", "study", "mean of R", f"R at {most}", "mean survival", f"survival at {most}", "searches broken"), rows
    )
    told = f"Only what all of them have is compared: {quantity(trend.searches, 'search', 'searches')}, up to {most}."
    if trend.left_out:
        told += f" {quantity(trend.left_out, 'search', 'searches').capitalize()} of only some of them are left out."
    return page.line(faint(f"{told} Where two values stand, the searches leave open where between them it lies."))


def _shares(curve: Curve | None) -> tuple[str, str]:
    return ("-", "-") if curve is None else (between(*curve.area), at_end(curve))


def trend_json(trend: Trend) -> dict[str, Plain]:
    """Return the trend as plain data."""
    return {
        "budget": trend.budget,
        "searches": trend.searches,
        "left_out": trend.left_out,
        "studies": [
            {
                "folder": str(moment.study.folder),
                "name": moment.study.name,
                "begun": moment.study.begun,
                "robustness": None if moment.robustness is None else curve_json(moment.robustness),
                "survival": None if moment.survival is None else curve_json(moment.survival),
                "broken": moment.broken,
            }
            for moment in trend.moments
        ],
    }


def trend_csv(trend: Trend) -> str:
    """Return the trend as CSV, a row for each study: the means and what is left at the end, at least and at most."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    parts = ("mean low", "mean high", "end low", "end high")
    writer.writerow(("folder", "begun", *(f"{one} {part}" for one in ("R", "survival") for part in parts), "broken"))
    for moment in trend.moments:
        numbers = [number for curve in (moment.robustness, moment.survival) for number in _numbers(curve)]
        writer.writerow((cell(str(moment.study.folder)), cell(moment.study.begun), *numbers, moment.broken))
    return text.getvalue()


def _numbers(curve: Curve | None) -> Sequence[float | str]:
    if curve is None:
        return ("",) * 4
    return (*curve.area, curve.levels[-1].lower, curve.levels[-1].upper)

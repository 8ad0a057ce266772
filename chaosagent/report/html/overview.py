"""Several studies at a glance: how each of them ended, their curves in one picture, and which cause breaks which."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from chaosagent.report.html.curve import Point, Tick, marks_of, path_of, points_of
from chaosagent.report.html.view import View

CURVES_MAX, CAUSES_MAX = 6, 40


class StudyRow(NamedTuple):
    """One study in the table: its verdict, and its numbers as texts."""

    name: str
    prefix: str
    verdict: str
    tone: str
    at_end: str
    counterexamples: int
    causes: int
    proved: str
    trials: int


class CurveLine(NamedTuple):
    """One curve: its path, its number among the colours from 1, and whose it is."""

    path: str
    number: int
    name: str


class Overview(NamedTuple):
    """Several studies, ready for the template.

    Attributes:
        title: In a few words.
        studies: One row for each.
        lines: Of those that have a curve, the first six.
        meaning: What the curves show; empty without any.
        across: Marks on the horizontal axis.
        upright: Marks on the other.
        causes: What a cause does, and for each study what its cheapest counterexample costs; empty where it has none.
        causes_left: How many more there are.
    """

    title: str
    studies: Sequence[StudyRow]
    lines: Sequence[CurveLine]
    meaning: str
    across: Sequence[Tick]
    upright: Sequence[Tick]
    causes: Sequence[tuple[str, Sequence[str]]]
    causes_left: int


def overview_of(views: Sequence[View]) -> Overview:
    """Return several studies at a glance.

    Curves are of R(B) where every study has searched the objective, else of the searches whose contract holds.
    """
    is_objective = all(view.facts.objective for view in views)
    most = max(view.facts.budget for view in views)
    lines, rows = [], []
    for number, view in enumerate(views, 1):
        facts = view.facts
        searches = facts.objective if is_objective else facts.searches
        points = points_of(searches, facts.budget, stochastic=facts.stochastic) if searches and most > 0 else []
        if points and number <= CURVES_MAX:
            lines.append(CurveLine(path_of(points, facts.budget, most), number, str(facts.folder)))
        standings = dict(view.standings)
        rows.append(
            StudyRow(
                str(facts.folder),
                f"s{number}-",
                view.conclusion.verdict,
                view.conclusion.tone,
                _share(points[-1]) if points else "-",
                len(facts.counterexamples),
                len(view.causes),
                f"{standings.get('proved', 0)} of {facts.search_count}",
                facts.trials,
            )
        )
    causes = _causes(views)
    across, upright = marks_of(most)
    broken = sum(view.conclusion.tone == "bad" for view in views)
    title = f"{len(views)} studies, and no failure is known in any of them"
    if broken:
        title = (
            f"{broken} of {len(views)} studies {'is' if broken == 1 else 'are'} broken by faults within their budget"
        )
    return Overview(
        title,
        rows,
        lines,
        ("tasks that meet their objective" if is_objective else "searches whose contract holds") if lines else "",
        across,
        upright,
        causes[:CAUSES_MAX],
        max(0, len(causes) - CAUSES_MAX),
    )


def _share(point: Point) -> str:
    low, high = f"{point.lower:.0%}", f"{point.upper:.0%}"
    return high if low == high else f"{low} to {high}"


def _causes(views: Sequence[View]) -> list[tuple[str, Sequence[str]]]:
    """Return the causes of all studies: one cause where faults are at the same hooks, and the same call differs."""
    costs: dict[tuple[frozenset[str], str], dict[int, float]] = {}
    headlines: dict[tuple[frozenset[str], str], str] = {}
    for number, view in enumerate(views):
        for cause in view.causes:
            key = (cause.hooks, cause.differs_at)
            known = costs.setdefault(key, {})
            known[number] = min(cause.lead.cost, known.get(number, math.inf))
            headlines.setdefault(key, cause.headline)
    ordered = sorted(costs, key=lambda key: (min(costs[key].values()), sorted(key[0]), key[1]))
    return [
        (headlines[key], [f"{costs[key][number]:g}" if number in costs[key] else "" for number in range(len(views))])
        for key in ordered
    ]

"""R(B) for the page: how many tasks keep a contract when faults may cost up to B, as far as searches tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from chaosagent.metrics.robustness import Curve
from chaosagent.report.html.study_facts import SearchFact, StudyFacts
from chaosagent.report.printable import printable

LABELS_MAX, NAME_MAX = 6, 24
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640.0, 240.0, 52.0, 16.0, 14.0, 44.0


class Point(NamedTuple):
    """From a budget on: the shares not known to break and proved to hold, and the tasks that break there."""

    budget: float
    upper: float
    lower: float
    breaks: tuple[str, ...] = ()


class Tick(NamedTuple):
    """A mark on an axis: where, and what it says."""

    at: float
    text: str


class Label(NamedTuple):
    """The tasks that break at a step: where it is written, and at which side of that point."""

    at: float
    height: float
    anchor: str
    text: str


class Estimate(NamedTuple):
    """A mean under random schedules: where it is drawn, with its interval, and what it says."""

    at: float
    height: float
    low: float
    high: float
    budget: float
    text: str

    @property
    def is_estimate(self) -> bool:
        """Whether it has an interval: what is proved, and what few tasks tell, has none."""
        return self.low != self.high


class CurveView(NamedTuple):
    """A curve ready to be drawn.

    Attributes:
        title: What it shows.
        is_objective: It is R(B), and not the survival of contracts.
        points: By budget.
        upper: Path of the share that is not known to break.
        band: Path around what is neither known to break nor proved to hold; empty where there is nothing of it.
        across: Marks on the horizontal axis.
        upright: Marks on the other.
        labels: The tasks that break at its steps; none where there are many steps.
        pairs: How many searches stand behind it.
        random: The means under random schedules, by budget; none where none were run.
        earlier: Path of the curve of an earlier study; empty without one.
    """

    title: str
    is_objective: bool
    points: Sequence[Point]
    upper: str
    band: str
    across: Sequence[Tick]
    upright: Sequence[Tick]
    labels: Sequence[Label]
    pairs: int
    random: Sequence[Estimate]
    earlier: str


def curve_of(facts: StudyFacts, earlier: StudyFacts | None = None) -> CurveView | None:
    """Return the curve of a study; `None` where no search is over.

    Args:
        facts: Of the study.
        earlier: Another study, whose curve is drawn with it where both have one of the same kind.

    Where the objective was searched, it is R(B): the share of tasks and seeds that still meet it. Elsewhere it is the
    share of all searches whose contract still holds.
    """
    is_objective = bool(facts.objective)
    searches = facts.objective or facts.searches
    if not searches or facts.budget <= 0:
        return None
    points = points_of(searches, facts.budget, stochastic=facts.stochastic)
    band = _band(points, facts.budget) if any(point.upper > point.lower for point in points) else ""
    across, upright = marks_of(facts.budget)
    title = "tasks that meet their objective" if is_objective else "searches whose contract holds"
    return CurveView(
        title,
        is_objective,
        points,
        path_of(points, facts.budget, facts.budget),
        band,
        across,
        upright,
        _labels(points, facts.budget) if is_objective else (),
        len(searches),
        _estimates(facts.random, facts.budget) if is_objective and facts.random is not None else (),
        "" if earlier is None else _earlier(earlier, facts.budget, is_objective=is_objective),
    )


def _earlier(facts: StudyFacts, most: float, *, is_objective: bool) -> str:
    searches = facts.objective if is_objective else () if facts.objective else facts.searches
    if not searches:
        return ""
    points = points_of(searches, min(facts.budget, most), stochastic=facts.stochastic)
    return path_of(points, min(facts.budget, most), most)


def marks_of(most: float) -> tuple[list[Tick], list[Tick]]:
    """Return the marks on the axes of a curve: budgets up to the most, and shares."""
    step = max(1, math.ceil(most / 6))
    return (
        [Tick(_x(mark, most), f"{mark}") for mark in range(0, int(most) + 1, step)],
        [Tick(_y(share), f"{share:.0%}") for share in (0.0, 0.5, 1.0)],
    )


def path_of(points: Sequence[Point], end: float, most: float) -> str:
    """Return the path of the share that is not known to break.

    Args:
        points: By budget.
        end: Up to where it is known.
        most: The budget at the right end of the picture.
    """
    return "M" + " L".join(f"{x:g} {y:g}" for x, y in _corners(points, end, most, upper=True))


def _estimates(random: Curve, most: float) -> list[Estimate]:
    estimates = []
    for level in random.levels:
        low, high = level.interval if level.interval != (0.0, 1.0) else (level.upper, level.upper)
        told = f" ({low:.0%} to {high:.0%})" if low < high else ""
        place = _x(level.budget, most), _y(level.upper), _y(low), _y(high)
        estimates.append(Estimate(*place, level.budget, f"{level.upper:.0%}{told}"))
    return estimates


def points_of(searches: Sequence[SearchFact], budget: float, *, stochastic: bool) -> list[Point]:
    """Return the steps of the curve, the first at 0."""
    broken = [0.0 if one.violated_nominally else one.cost for one in searches]
    kept = [one.proved_below(stochastic=stochastic) for one in searches]
    changes = {0.0, *(cost for cost in broken if cost is not None), *kept}
    count = len(searches)
    return [
        Point(
            change,
            sum(cost is None or cost > change for cost in broken) / count,
            sum(change < bound for bound in kept) / count,
            tuple(sorted({one.task for one, cost in zip(searches, broken, strict=True) if cost == change})),
        )
        for change in sorted(changes)
        if change <= budget
    ]


def _labels(points: Sequence[Point], most: float) -> list[Label]:
    """Return a label for each step, in the middle of its fall; beside it where there is room."""
    labels = []
    for before, point in pairwise(points):
        if point.breaks:
            others = len(point.breaks) - 1
            name = printable(point.breaks[0], characters_max=NAME_MAX)
            text = f"{name} and {others} more" if others else name
            is_left = point.budget > most / 2
            at = _x(point.budget, most) + (-6 if is_left else 6)
            height = (_y(before.upper) + _y(point.upper)) / 2 + 4
            labels.append(Label(at, height, "end" if is_left else "start", text))
    return labels if len(labels) <= LABELS_MAX else []


def _x(budget: float, most: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * budget / most, 1)


def _y(share: float) -> float:
    return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - share), 1)


def _corners(points: Sequence[Point], end: float, most: float, *, upper: bool) -> list[tuple[float, float]]:
    corners: list[tuple[float, float]] = []
    for place, point in enumerate(points):
        until = points[place + 1].budget if place + 1 < len(points) else end
        height = _y(point.upper if upper else point.lower)
        corners += [(_x(point.budget, most), height), (_x(until, most), height)]
    return corners


def _band(points: Sequence[Point], most: float) -> str:
    around = [*_corners(points, most, most, upper=True), *reversed(_corners(points, most, most, upper=False))]
    return "M" + " L".join(f"{x:g} {y:g}" for x, y in around) + " Z"


def progress_path(runs: Sequence[int], last: int) -> str:
    """Return the path of how many searches knew a violation after so many runs; empty where none did."""
    if not runs or last <= 0:
        return ""
    corners = [(_x(0, last), _y(0))]
    for number, run in enumerate(min(run, last) for run in runs):
        corners += [(_x(run, last), _y(number / len(runs))), (_x(run, last), _y((number + 1) / len(runs)))]
    corners.append((_x(last, last), _y(1)))
    return "M" + " L".join(f"{x:g} {y:g}" for x, y in corners)


class CostsView(NamedTuple):
    """The cheapest violation known, and the bound below which there is none, over the runs of a study.

    Attributes:
        best: Path of the cheapest violation; empty where none is known.
        bound: Path of the bound; empty where nothing is proved.
        upright: Marks of cost.
    """

    best: str
    bound: str
    upright: Sequence[Tick]


def costs_of(facts: StudyFacts) -> CostsView | None:
    """Return how what was found and what was proved came closer; `None` where there is neither, or no budget."""
    last, most = facts.executions, facts.budget
    if last <= 0 or most <= 0:
        return None
    is_proved = facts.is_over and facts.proved_below() > 0
    bounds = [(min(run, last), min(bound, most)) for run, bound in facts.bounds] if is_proved else []
    if bounds:
        bounds.append((last, max(bounds[-1][1], min(facts.proved_below(), most))))
    found = [(min(run, last), min(cost, most)) for run, cost in facts.best_costs]
    cheapest = min((one.record.cost for one in facts.counterexamples), default=math.inf)
    if found and cheapest < found[-1][1]:  # a violation is reduced at the end, by runs that are no trials
        found.append((last, cheapest))
    best = _stairs(found, last, most)
    bound = _stairs(bounds, last, most)
    if not best and not bound:
        return None
    step = max(1, math.ceil(most / 4))
    marks = [Tick(_y(mark / most), f"{mark}") for mark in range(0, int(most) + 1, step)]
    return CostsView(best, bound, marks)


def _stairs(points: Sequence[tuple[int, float]], last: int, most: float) -> str:
    """Return the path of a value that holds from each point on."""
    if not points:
        return ""
    corners = [(_x(points[0][0], last), _y(points[0][1] / most))]
    for (_, before), (run, value) in pairwise(points):
        corners += [(_x(run, last), _y(before / most)), (_x(run, last), _y(value / most))]
    corners.append((_x(last, last), _y(points[-1][1] / most)))
    return "M" + " L".join(f"{x:g} {y:g}" for x, y in corners)

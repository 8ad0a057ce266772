"""R(B) and the survival of contracts as a figure."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaosagent.api.stored.curves import StudyCurves
from chaosagent.api.stored.trend import Trend
from chaosagent.extras import require
from chaosagent.metrics.robustness import Curve
from chaosagent.report.plots import COLOURS, HATCHES, INK, MARKERS, SETTINGS
from chaosagent.report.printable import printable
from chaosagent.report.story import quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS_MAX, LABEL_CHARACTERS_MAX = 6, 40
CATEGORIES_MAX = 8
DATES_MAX, DATE_CHARACTERS = 6, 16
ROW_INCHES, ROW_INCHES_SMALL = 3.7, 2.2
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (3, 1)), (0, (8, 2)))
PAPER = "white"
FIGURES = (".svg", ".png", ".pdf")
METADATA = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}, "pdf": {"CreationDate": None}}


def draw_curves(studies: Sequence[StudyCurves], paths: Sequence[Path]) -> None:
    """Draw R(B) of several studies above the survival of contracts; the ground is white, also on a dark page.

    Args:
        studies: At most six can be told apart.
        paths: Files, ending in `.svg`, `.png` or `.pdf`.

    Raises:
        MissingExtraError: matplotlib is not installed.

    Determinism: equal curves give equal SVG bytes with the same matplotlib.
    """
    above = any(study.robustness is not None or study.random is not None for study in studies)
    below = any(study.survival is not None for study in studies)
    categories = sorted({name for study in studies for name in study.categories})
    drawn = categories[:CATEGORIES_MAX]
    small = -(-len(drawn) // 2)
    with _written(ROW_INCHES * (above + below) + ROW_INCHES_SMALL * small, paths) as figure:
        heights = [ROW_INCHES] * above + [ROW_INCHES_SMALL] * small + [ROW_INCHES] * below
        grid = figure.add_gridspec(len(heights), 2, height_ratios=heights)
        rows = [
            figure.add_subplot(grid[row, :]) for row in ([0] if above else []) + ([len(heights) - 1] if below else [])
        ]
        for place, category in enumerate(drawn):
            left = len(categories) - len(drawn) if place + 1 == len(drawn) else 0
            _draw_category(figure.add_subplot(grid[above + place // 2, place % 2]), studies, category, left)
        if above:
            _draw_robustness(rows[0], studies)
        if below:
            _draw_survival(rows[-1], studies)
        rows[-1].set_xlabel(
            "budget B: what the faults may cost together\nhatched: not decided by the searches", color=INK
        )
        _explain(figure, rows)


def draw_trend(trend: Trend, paths: Sequence[Path]) -> None:
    """Draw how R(B) and the survival of contracts went, a point for each study.

    Args:
        trend: Of several studies.
        paths: Files, ending in `.svg`, `.png` or `.pdf`.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    parts = [
        (title, [getattr(moment, name) for moment in trend.moments])
        for name, title in (
            ("robustness", "R(B): tasks that meet their objective under the cheapest faults"),
            ("survival", "Survival: contracts that no faults within B break"),
        )
    ]
    drawn = [(title, curves) for title, curves in parts if curves[0] is not None]
    with _written(ROW_INCHES * len(drawn), paths) as figure:
        rows = [figure.add_subplot(len(drawn), 1, row + 1) for row in range(len(drawn))]
        for axes, (title, curves) in zip(rows, drawn, strict=True):
            most = f"{trend.budget:g}"
            _draw_values(axes, [curve.area for curve in curves], 0, f"mean over budgets up to {most}")
            _draw_values(axes, [(curve.levels[-1].lower, curve.levels[-1].upper) for curve in curves], 1, f"at {most}")
            _dress(axes, title, "share")
            step = -(-len(curves) // DATES_MAX)
            places = range(0, len(curves), step)
            axes.set_xlim(-0.3, len(curves) - 0.7)
            axes.set_xticks(list(places), [trend.moments[place].study.begun[:DATE_CHARACTERS] for place in places])
        rows[-1].set_xlabel("study, by when it was begun\nbars: what the searches leave open", color=INK)
        _explain(figure, rows)


def _draw_values(axes: Axes, values: Sequence[tuple[float, float]], place: int, name: str) -> None:
    """Draw the upper ends as points, and a bar down to what is proved."""
    upper = [high for _, high in values]
    axes.errorbar(
        range(len(values)), upper, yerr=[[high - low for low, high in values], [0.0] * len(values)],
        color=COLOURS[place], linestyle=DASHES[place], linewidth=1.6, marker=MARKERS[place], markersize=5,
        elinewidth=0.8, capsize=3, label=name,
    )  # fmt: skip


@contextlib.contextmanager
def _written(height: float, paths: Sequence[Path]) -> Iterator[Figure]:
    """Yield a figure that is written to some files in the end."""
    matplotlib = require("matplotlib", extra="report", needed_by="a figure of R(B)")
    matplotlib.use("agg")
    pyplot = require("matplotlib.pyplot", extra="report", needed_by="a figure of R(B)")
    with matplotlib.rc_context({**SETTINGS, "figure.facecolor": PAPER, "axes.facecolor": PAPER}):
        figure = pyplot.figure(figsize=(7.2, height), layout="constrained")
        try:
            yield figure
            for path in paths:
                figure.savefig(path, dpi=160, metadata=METADATA[path.suffix[1:].lower()], facecolor=PAPER)
        finally:
            pyplot.close(figure)


def _explain(figure: Figure, rows: Sequence[Axes]) -> None:
    """Add one legend for all parts."""
    named = {label: handle for axes in rows for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=2, frameon=False, fontsize=8)


def _draw_robustness(axes: Axes, studies: Sequence[StudyCurves]) -> None:
    for place, study in enumerate(studies):  # the place among all, so that a study keeps its colour in each part
        if study.robustness is not None:
            _draw(axes, study.robustness, place, printable(study.name))
        if study.random is not None:
            _draw_random(axes, study.random, place, f"{printable(study.name)}, random schedules")
    drawn = [study for study in studies if study.robustness is not None]
    if len(drawn) == 1:
        _label_steps(axes, drawn[0])
    _dress(axes, "R(B): tasks that meet their objective under the cheapest faults", "share of tasks and seeds")


def _draw_survival(axes: Axes, studies: Sequence[StudyCurves]) -> None:
    for place, study in enumerate(studies):
        if study.survival is not None:
            _draw(axes, study.survival, place, printable(study.name))
    _dress(axes, "Survival: contracts that no faults within B break", "share of searches")


def _draw_category(axes: Axes, studies: Sequence[StudyCurves], category: str, left: int) -> None:
    """Draw R(B) of one category in the colours of its studies; `left` more have no room in the figure."""
    for place, study in enumerate(studies):
        if category in study.categories:
            _draw(axes, study.categories[category], place, "")
        if category in study.random_categories:
            _draw_random(axes, study.random_categories[category], place, "")
    count = max(study.categories[category].samples for study in studies if category in study.categories)
    title = f"R(B), {printable(category, characters_max=LABEL_CHARACTERS_MAX)} ({quantity(count, 'pair')})"
    _dress(axes, f"{title}; {left} more in the table" if left else title, "", size=9)


def _draw(axes: Axes, curve: Curve, place: int, name: str) -> None:
    """Draw what nothing known breaks as a line, and what is not decided below it as a hatched area."""
    colour, dashes = COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)]
    levels = [*curve.levels, curve.levels[-1]]
    budgets = [*(level.budget for level in curve.levels), curve.budget_max]
    upper, lower = [level.upper for level in levels], [level.lower for level in levels]
    axes.step(budgets, upper, where="post", color=colour, linestyle=dashes, linewidth=2.2, label=name)
    if upper != lower:
        axes.fill_between(
            budgets, lower, upper, step="post", facecolor="none", edgecolor=colour, alpha=0.55, linewidth=0,
            hatch=HATCHES[place % len(HATCHES)],
        )  # fmt: skip


def _draw_random(axes: Axes, curve: Curve, place: int, name: str) -> None:
    """Draw means under random schedules as points, each with where it lies for more tasks like these."""
    means = [level.upper for level in curve.levels]
    known = [level.interval if level.interval != (0.0, 1.0) else (level.upper, level.upper) for level in curve.levels]
    errors = [
        [mean - low for mean, (low, _) in zip(means, known, strict=True)],
        [high - mean for mean, (_, high) in zip(means, known, strict=True)],
    ]
    axes.errorbar(
        [level.budget for level in curve.levels], means, yerr=errors, color=COLOURS[place % len(COLOURS)],
        linestyle=(0, (1, 2)), linewidth=1.0, marker=MARKERS[place % len(MARKERS)], markersize=3.5, elinewidth=0.7,
        capsize=2, label=name,
    )  # fmt: skip


def _label_steps(axes: Axes, study: StudyCurves) -> None:
    """Name the tasks that break at each step, where there are few steps."""
    assert study.robustness is not None
    if len(study.breaks) > LABELS_MAX:
        return
    for place, (budget, tasks) in enumerate(study.breaks.items()):
        more = f" and {len(tasks) - 1} more" if len(tasks) > 1 else ""
        text = printable(tasks[0], characters_max=LABEL_CHARACTERS_MAX) + more
        late = budget > 0.6 * study.robustness.budget_max
        axes.annotate(
            text, (budget, study.robustness.at(budget).upper), (-6 if late else 6, 4 + 11 * (place % 2)),
            textcoords="offset points", ha="right" if late else "left", fontsize=8, color=INK,
        )  # fmt: skip


def _dress(axes: Axes, title: str, meaning: str, *, size: int = 11) -> None:
    axes.set_xlim(left=0)
    axes.set_ylim(-0.04, 1.08)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.set_title(title, loc="left", fontsize=size, fontweight="bold", color=INK)
    axes.set_ylabel(meaning, color=INK)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)

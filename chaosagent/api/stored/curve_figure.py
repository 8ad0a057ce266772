"""R(B) and the survival of contracts as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaosagent.api.stored.curves import StudyCurves, named
from chaosagent.extras import require
from chaosagent.metrics.robustness import Curve
from chaosagent.report.plots import COLOURS, HATCHES, INK, SETTINGS
from chaosagent.report.printable import printable
from chaosagent.report.story import quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS_MAX, LABEL_CHARACTERS_MAX = 6, 40
CATEGORIES_MAX = 8
ROW_INCHES, ROW_INCHES_SMALL = 3.7, 2.2
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (3, 1)), (0, (8, 2)))
PAPER = "white"
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
    matplotlib = require("matplotlib", extra="report", needed_by="a figure of R(B)")
    matplotlib.use("agg")
    pyplot = require("matplotlib.pyplot", extra="report", needed_by="a figure of R(B)")
    above = any(study.robustness is not None for study in studies)
    below = any(study.survival is not None for study in studies)
    with matplotlib.rc_context({**SETTINGS, "figure.facecolor": PAPER, "axes.facecolor": PAPER}):
        categories = sorted({name for study in studies for name in study.categories})
        drawn = categories[:CATEGORIES_MAX]
        small = -(-len(drawn) // 2)
        height = ROW_INCHES * (above + below) + ROW_INCHES_SMALL * small
        figure = pyplot.figure(figsize=(7.2, height), layout="constrained")
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
        for path in paths:
            kind = path.suffix[1:].lower()
            figure.savefig(path, dpi=160, metadata=METADATA[kind], facecolor=PAPER)
        pyplot.close(figure)


def _draw_robustness(axes: Axes, studies: Sequence[StudyCurves]) -> None:
    drawn = [study for study in studies if study.robustness is not None]
    for place, study in enumerate(studies):  # the place among all, so that a study keeps its colour in each part
        if study.robustness is not None:
            _draw(axes, study.robustness, place, printable(study.name))
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


def _label_steps(axes: Axes, study: StudyCurves) -> None:
    """Name the tasks that break at each step, where there are few steps."""
    assert study.robustness is not None
    if len(study.breaks) > LABELS_MAX:
        return
    for place, (budget, tasks) in enumerate(study.breaks.items()):
        text = printable(named(tasks), characters_max=LABEL_CHARACTERS_MAX)
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
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="lower left", fontsize=8, frameon=True, framealpha=0.9, edgecolor="none")

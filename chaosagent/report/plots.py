"""R(B) as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from chaosagent.extras import require
from chaosagent.metrics.robustness import Curve, Level
from chaosagent.report.page import Page, page_html, strong

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito 2008: told apart with every common colour blindness, and in grey.
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P")
INK, GREY = "#222222", "#767676"
LINE_WIDTH, LINE_WIDTH_STEP, LINE_WIDTH_MAX = 2.4, 2.2, 9.0
MARKER_SIZE = 3.5
NOTE_COLUMNS = 112
NOTE_LINE_INCHES = 0.14
NOTE_POINTS_BELOW = 42  # below the axes: the numbers and the name of the axis stand between
UNDECIDED = (0, (4, 1.5))
HATCHES = ("////", r"\\\\", "||||", "----", "xxxx", "....")
FORMATS = ("png", "svg")
SETTINGS: Mapping[str, object] = {
    "svg.hashsalt": "chaosagent",  # element ids in SVG files are random without it
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",  # comes with matplotlib, so the picture is the same everywhere
    "font.size": 10,
    "hatch.linewidth": 0.6,
}


@dataclass(frozen=True, slots=True)
class _Pen:
    """How the curves of one configuration are drawn.

    Of curves that are equal, those drawn earlier are wider, and stand out on both sides of the later ones. The hatches
    of equal areas run in other directions.

    Attributes:
        colour: Of everything.
        marker: Of the random ones.
        width: Of the line, in points.
        marker_size: In points.
        level: What has more of it lies on top.
        hatch: Of what is not decided.
    """

    colour: str
    marker: str
    width: float
    marker_size: float
    level: float
    hatch: str


@dataclass(frozen=True, slots=True, repr=False)
class Robustness:
    """The curves of one configuration; `print` and `rich.print` show them as a table.

    Attributes:
        name: Of the configuration.
        adversarial: Under the cheapest schedules.
        random: Under random ones; `None` when they were not run.
    """

    name: str
    adversarial: Curve
    random: Curve | None = None

    def __rich__(self) -> Page:
        budget_max = self.adversarial.budget_max
        random = self.random
        budgets = {level.budget for level in (*self.adversarial.levels, *(random.levels if random else ()))}
        page = Page().line(strong(f"R(B) of configuration {self.name}"), f", up to cost {budget_max:g}")
        rows = [
            (f"{budget:g}", _share(self.adversarial, budget), "-" if random is None else _share(random, budget))
            for budget in sorted(budgets)
            if budget <= budget_max
        ]
        page.table(("budget from", "under cheapest faults", "under random faults"), rows)
        area = self.adversarial.area
        page.line(f"Mean over all budgets, under cheapest faults: {_between(area.low, area.high)}", indent=2)
        if self.adversarial.shown is not None:
            page.line(str(self.adversarial.shown), indent=2)
        return page

    def __str__(self) -> str:
        return self.__rich__().text().rstrip("\n")

    def __repr__(self) -> str:
        area = self.adversarial.area
        return f"<Robustness {self.name}: mean {_between(area.low, area.high)} up to {self.adversarial.budget_max:g}>"

    def _repr_html_(self) -> str:
        return page_html(self.__rich__())


def _share(curve: Curve, budget: float) -> str:
    if budget > curve.budget_max:
        return "-"
    level = curve.at(budget)
    return _between(level.lower, level.upper)


def _between(low: float, high: float) -> str:
    return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"


def plot_robustness(curves: Sequence[Robustness], title: str, stem: Path) -> tuple[Path, ...]:
    """Draw R(B) of several configurations, as PNG and SVG.

    Args:
        curves: One entry a configuration, at most six.
        title: Above the picture.
        stem: The files' path without an ending; its folder exists.

    Returns:
        The paths of the files.

    Raises:
        MissingExtraError: matplotlib is not installed.

    Determinism: equal curves give equal SVG bytes with the same matplotlib.
    """
    require("matplotlib", extra="report", needed_by="a plot of R(B)").use("agg")
    matplotlib = require("matplotlib", extra="report", needed_by="a plot of R(B)")
    pyplot = require("matplotlib.pyplot", extra="report", needed_by="a plot of R(B)")
    with matplotlib.rc_context(dict(SETTINGS)):
        height = 4.8 + NOTE_LINE_INCHES * len(_note_lines(curves))
        figure, axes = pyplot.subplots(figsize=(7.2, height), layout="constrained")
        for robustness, pen in zip(curves, _pens(len(curves)), strict=False):
            _draw(axes, robustness, pen)
        _dress(axes, curves, title)
        paths = tuple(stem.with_name(f"{stem.name}.{ending}") for ending in FORMATS)
        for path, ending in zip(paths, FORMATS, strict=True):
            metadata = {"Date": None, "Creator": None} if ending == "svg" else {"Software": None}
            figure.savefig(path, dpi=160, metadata=metadata)
        pyplot.close(figure)
    return paths


def _pens(count: int) -> list[_Pen]:
    """Return a pen for each of so many configurations, at most six."""
    drawn = min(count, len(COLOURS))
    step = min(LINE_WIDTH_STEP, (LINE_WIDTH_MAX - LINE_WIDTH) / max(1, drawn - 1))
    return [
        _Pen(
            colour,
            marker,
            width=LINE_WIDTH + step * after,
            marker_size=MARKER_SIZE + step * after,
            level=3 + position / 10,
            hatch=HATCHES[position],
        )
        for position, (colour, marker) in enumerate(zip(COLOURS[:drawn], MARKERS, strict=False))
        for after in [drawn - 1 - position]
    ]


def _draw(axes: Axes, robustness: Robustness, pen: _Pen) -> None:
    curve, colour = robustness.adversarial, pen.colour
    budgets, levels = _steps(curve)
    upper = [level.upper for level in levels]
    lower = [level.lower for level in levels]
    axes.fill_between(
        budgets, lower, upper, step="post", facecolor="none", edgecolor=colour, alpha=0.6, hatch=pen.hatch, linewidth=0
    )
    known = [level.upper == level.lower for level in levels]
    for begin in range(len(budgets) - 1):
        style: Any = "-" if known[begin] else UNDECIDED
        end = begin + 1
        axes.plot(
            [budgets[begin], budgets[end], budgets[end]],
            [upper[begin], upper[begin], upper[end]],
            color=colour, linewidth=pen.width, linestyle=style, solid_capstyle="butt", zorder=pen.level,
        )  # fmt: skip
    if robustness.random is not None:
        _draw_random(axes, robustness.random, pen)


def _draw_random(axes: Axes, curve: Curve, pen: _Pen) -> None:
    levels = [level for level in curve.levels if level.budget > 0]
    means = [level.upper for level in levels]
    errors = [
        [level.upper - level.interval.low for level in levels],
        [level.interval.high - level.upper for level in levels],
    ]
    axes.errorbar(
        [level.budget for level in levels], means, yerr=errors,
        color=pen.colour, linewidth=1.1, linestyle=":", marker=pen.marker, markersize=pen.marker_size,
        elinewidth=0.8, capsize=2, zorder=1 + pen.level,
    )  # fmt: skip


def _steps(curve: Curve) -> tuple[list[float], list[Level]]:
    """Return the corners of a curve, with its end."""
    budgets = [level.budget for level in curve.levels]
    levels = list(curve.levels)
    if budgets[-1] < curve.budget_max:
        budgets.append(curve.budget_max)
        levels.append(levels[-1])
    return budgets, levels


def _dress(axes: Axes, curves: Sequence[Robustness], title: str) -> None:
    budget_max = max(robustness.adversarial.budget_max for robustness in curves)
    axes.set_xlim(0, budget_max * 1.01)
    axes.set_ylim(-0.03, 1.05)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlabel("budget B: what the injected schedule may cost", color=INK)
    notes = _note_lines(curves)
    axes.set_ylabel(
        "R(B): share of tasks not confirmed broken" if notes else "R(B): share of tasks still done", color=INK
    )
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    figure = axes.get_figure()
    assert figure is not None
    if notes:
        axes.annotate(
            "\n".join(notes), (0, 0), (0, -NOTE_POINTS_BELOW), "axes fraction", "offset points",
            va="top", fontsize=8, color=INK,
        )  # fmt: skip
    figure.legend(handles=_handles(curves), loc="outside lower center", ncols=3, frameon=False, fontsize=9)


def chance_notes(curves: Sequence[Robustness]) -> list[str]:
    """Return what is to be said below R(B) where answers come by chance, for people; empty where they do not."""
    names: dict[str, list[str]] = {}
    for one in curves:
        if one.adversarial.shown is not None:
            names.setdefault(str(one.adversarial.shown), []).append(one.name)
    return [note if len(theirs) == len(curves) else f"{', '.join(theirs)}: {note}" for note, theirs in names.items()]


def _note_lines(curves: Sequence[Robustness]) -> list[str]:
    return [line for note in chance_notes(curves) for line in wrap(note, NOTE_COLUMNS)]


def _handles(curves: Sequence[Robustness]) -> list[Any]:
    """Return what the legend explains: the configurations by colour, the kinds of curve in grey."""
    line = require("matplotlib.lines", extra="report", needed_by="a plot of R(B)").Line2D
    patch = require("matplotlib.patches", extra="report", needed_by="a plot of R(B)").Patch
    with_random = any(robustness.random is not None for robustness in curves)
    handles = [
        line(
            [], [], color=pen.colour, linewidth=pen.width, label=_label(robustness),
            marker=pen.marker if with_random else "", markersize=LINE_WIDTH_MAX,
        )
        for robustness, pen in zip(curves, _pens(len(curves)), strict=False)
    ]  # fmt: skip
    worst = "the worst confirmed within B" if chance_notes(curves) else "the worst within B (search)"
    handles.append(line([], [], color=GREY, linewidth=LINE_WIDTH, label=worst))
    if any(level.upper != level.lower for robustness in curves for level in robustness.adversarial.levels):
        best = "at best (not decided)"
        handles.append(line([], [], color=GREY, linewidth=LINE_WIDTH, linestyle=UNDECIDED, label=best))
        handles.append(
            patch(facecolor="none", edgecolor=GREY, hatch="////", linewidth=0, label="not decided by the search")
        )
    if with_random:
        drawn = "live runs done, random within B" if chance_notes(curves) else "random ones within B"
        handles.append(line([], [], color=GREY, linewidth=1.1, linestyle=":", label=f"{drawn}, 95 % interval"))
    return handles


def _label(robustness: Robustness) -> str:
    area = robustness.adversarial.area
    mean = f"{area.high:.2f}" if area.high - area.low < 0.005 else f"{area.low:.2f} to {area.high:.2f}"
    return f"{robustness.name}, mean R {mean}"

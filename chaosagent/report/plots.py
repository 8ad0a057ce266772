"""R(B) as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaosagent.extras import require
from chaosagent.metrics.robustness import Curve, Level

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito 2008: told apart with every common colour blindness, and in grey.
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
INK, GREY = "#222222", "#767676"
FORMATS = ("png", "svg")
SETTINGS: Mapping[str, object] = {
    "svg.hashsalt": "chaosagent",  # element ids in SVG files are random without it
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",  # comes with matplotlib, so the picture is the same everywhere
    "font.size": 10,
    "hatch.linewidth": 0.6,
}


@dataclass(frozen=True, slots=True)
class Robustness:
    """The curves of one configuration.

    Attributes:
        name: Of the configuration.
        adversarial: Under the cheapest schedules.
        random: Under random ones; `None` when they were not run.
    """

    name: str
    adversarial: Curve
    random: Curve | None = None


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
        figure, axes = pyplot.subplots(figsize=(7.2, 4.8), layout="constrained")
        for robustness, colour in zip(curves, COLOURS, strict=False):
            _draw(axes, robustness, colour)
        _dress(axes, curves, title)
        paths = tuple(stem.with_name(f"{stem.name}.{ending}") for ending in FORMATS)
        for path, ending in zip(paths, FORMATS, strict=True):
            metadata = {"Date": None, "Creator": None} if ending == "svg" else {"Software": None}
            figure.savefig(path, dpi=160, metadata=metadata)
        pyplot.close(figure)
    return paths


def _draw(axes: Axes, robustness: Robustness, colour: str) -> None:
    curve = robustness.adversarial
    budgets, levels = _steps(curve)
    upper = [level.upper for level in levels]
    lower = [level.lower for level in levels]
    low = [level.interval.low for level in levels]
    high = [level.interval.high for level in levels]
    axes.fill_between(budgets, low, high, step="post", color=colour, alpha=0.10, linewidth=0)
    axes.fill_between(
        budgets, lower, upper, step="post", facecolor="none", edgecolor=colour, alpha=0.6, hatch="////", linewidth=0
    )
    known = [level.upper == level.lower for level in levels]
    for begin in range(len(budgets) - 1):
        style: Any = "-" if known[begin] else (0, (4, 1.5))
        end = begin + 1
        axes.plot(
            [budgets[begin], budgets[end], budgets[end]],
            [upper[begin], upper[begin], upper[end]],
            color=colour, linewidth=2.4, linestyle=style, solid_capstyle="butt", zorder=3,
        )  # fmt: skip
    if robustness.random is not None:
        _draw_random(axes, robustness.random, colour)


def _draw_random(axes: Axes, curve: Curve, colour: str) -> None:
    levels = [level for level in curve.levels if level.budget > 0]
    means = [level.upper for level in levels]
    errors = [
        [level.upper - level.interval.low for level in levels],
        [level.interval.high - level.upper for level in levels],
    ]
    axes.errorbar(
        [level.budget for level in levels], means, yerr=errors,
        color=colour, linewidth=1.1, linestyle=":", marker="o", markersize=3.5, elinewidth=0.8, capsize=2, zorder=4,
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
    axes.set_ylabel("R(B): share of tasks still done", color=INK)
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    figure = axes.get_figure()
    assert figure is not None
    figure.legend(handles=_handles(curves), loc="outside lower center", ncols=3, frameon=False, fontsize=9)


def _handles(curves: Sequence[Robustness]) -> list[Any]:
    """Return what the legend explains: the configurations by colour, the kinds of curve in grey."""
    line = require("matplotlib.lines", extra="report", needed_by="a plot of R(B)").Line2D
    patch = require("matplotlib.patches", extra="report", needed_by="a plot of R(B)").Patch
    handles = [
        line([], [], color=colour, linewidth=2.4, label=_label(robustness))
        for robustness, colour in zip(curves, COLOURS, strict=False)
    ]
    handles.append(line([], [], color=GREY, linewidth=2.4, label="the worst within B (search)"))
    if any(robustness.random is not None for robustness in curves):
        handles.append(
            line(
                [],
                [],
                color=GREY,
                linewidth=1.1,
                linestyle=":",
                marker="o",
                markersize=3.5,
                label="random ones within B",
            )
        )
    if any(level.upper != level.lower for robustness in curves for level in robustness.adversarial.levels):
        handles.append(
            patch(facecolor="none", edgecolor=GREY, hatch="////", linewidth=0, label="not decided by the search")
        )
    handles.append(patch(facecolor=GREY, alpha=0.2, linewidth=0, label="95 % interval (Wilson)"))
    return handles


def _label(robustness: Robustness) -> str:
    area = robustness.adversarial.area
    mean = f"{area.high:.2f}" if area.high - area.low < 0.005 else f"{area.low:.2f} to {area.high:.2f}"
    return f"{robustness.name}, mean R {mean}"

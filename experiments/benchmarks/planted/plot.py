"""Measurements as a picture: executions to the first violation, to the minimum, to the certificate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from chaosagent.experiments.benchmarks.planted.results import MILESTONES, NEVER, Results, middle_of, share_of
from chaosagent.extras import require
from chaosagent.report.plots import COLOURS, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The marker changes with the colour, too.
LOOKS = (*COLOURS, INK)
MARKERS = "osD^vPpX"
TITLES = {"first": "first violation", "minimum": "true minimum", "certificate": "certificate"}
SIZE = 5.5
INCHES_OF_MARK = 0.085
NEVER_LEFT, NEVER_FACTOR = 1.35, 1.9
"""Where the strip for what was not reached begins and stands, as multiples of the limit of executions."""


def draw(results: Results, path: Path) -> None:
    """Draw the median of each cell with its quartiles, on a logarithmic scale.

    What most seeds did not reach within the limit stands hollow in a strip on the right, if some seed did; what none
    reached is left out.

    Args:
        results: What was measured.
        path: Of the picture; its ending says which kind.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    plt = require("matplotlib.pyplot", extra="report", needed_by="--plot")
    rows, subjects = results.rows, results.subjects
    height = len(rows) * max(0.42, INCHES_OF_MARK * len(subjects))
    milestones = [
        name
        for name in MILESTONES
        if any(share_of(results.of(row, subject), name) for row in rows for subject in subjects)
    ]
    figure, panels = plt.subplots(
        1, max(1, len(milestones)), sharey=True, squeeze=False, figsize=(14, 1.6 + height), layout="constrained"
    )
    try:
        for panel, milestone in zip(panels[0], milestones, strict=False):
            _panel(panel, results, milestone)
        panels[0][0].set_yticks(range(len(rows)), rows)
        panels[0][0].set_ylim(len(rows) - 0.5, -0.5)
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(6, len(labels)), frameon=False)
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    finally:
        plt.close(figure)


def _panel(panel: Axes, results: Results, milestone: str) -> None:
    cap = max(one.cap for one in results.measured)
    for band in range(0, len(results.rows), 2):
        panel.axhspan(band - 0.5, band + 0.5, color="#F3F3F3", zorder=0, linewidth=0)
    panel.axvspan(
        cap * NEVER_LEFT, cap * NEVER_FACTOR**2 / NEVER_LEFT, color="#DDDDDD", alpha=0.5, zorder=0, linewidth=0
    )
    for number, subject in enumerate(results.subjects):
        shift = 0.8 * ((number + 0.5) / len(results.subjects) - 0.5)
        for height, row in enumerate(results.rows):
            _mark(panel, results, (row, subject, milestone), height + shift, number)
        colour, marker = _look(number)
        panel.plot([], [], color=colour, marker=marker, markersize=SIZE, linestyle="none", label=subject)
    panel.set_xscale("log")
    panel.set_xlim(0.8, cap * NEVER_FACTOR**2 / NEVER_LEFT)
    ticks = [10**power for power in range(5) if 10**power <= cap]
    panel.set_xticks([*ticks, cap * NEVER_FACTOR], [*(f"{tick:,}".replace(",", " ") for tick in ticks), "not"])
    panel.set_title(f"executions to the {TITLES[milestone]}", fontsize=11)
    panel.grid(axis="x", color="#CCCCCC", linewidth=0.6, zorder=1)
    panel.tick_params(axis="both", which="both", length=0)
    panel.spines[:].set_visible(False)


def _look(number: int) -> tuple[str, str]:
    """Return colour and marker; together they repeat after 56."""
    return LOOKS[number % len(LOOKS)], MARKERS[number % len(MARKERS)]


def _mark(panel: Axes, results: Results, cell: tuple[str, str, str], height: float, number: int) -> None:
    """Draw one cell: a line from quartile to quartile, and the median."""
    row, subject, milestone = cell
    reached = results.of(row, subject)
    if share_of(reached, milestone) == 0.0:
        return
    strip = max(one.cap for one in results.measured) * NEVER_FACTOR
    low, median, high = (strip if count == NEVER else count for count in middle_of(reached, milestone))
    colour, marker = _look(number)
    panel.plot([low, high], [height, height], color=colour, linewidth=1.2, alpha=0.6, zorder=2)
    inside = "white" if median == strip else colour
    panel.plot([median], [height], color=colour, marker=marker, markersize=SIZE, markerfacecolor=inside, zorder=3)

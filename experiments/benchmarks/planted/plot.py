"""Measurements as a picture: executions to the first violation, to the minimum, to the certificate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from chaosagent.experiments.benchmarks.planted.results import MILESTONES, NEVER, Results, median_of
from chaosagent.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#222222", "#999933")
MARKERS = "osD^vP*X"
TITLES = {"first": "first violation", "minimum": "true minimum", "certificate": "certificate"}


def draw(results: Results, path: Path) -> None:
    """Draw a dot for each seed and a larger one for each median, on a logarithmic scale.

    Args:
        results: What was measured.
        path: Of the picture; its ending says which kind.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    plt = require("matplotlib.pyplot", extra="report", needed_by="--plot")
    figure, panels = plt.subplots(
        1, len(MILESTONES), sharey=True, figsize=(14, 1.2 + 0.5 * len(results.rows)), layout="constrained"
    )
    try:
        for panel, milestone in zip(panels, MILESTONES, strict=True):
            _panel(panel, results, milestone)
        panels[0].set_yticks(range(len(results.rows)), results.rows)
        panels[0].invert_yaxis()
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    finally:
        plt.close(figure)


def _panel(panel: Axes, results: Results, milestone: str) -> None:
    reached = MILESTONES[milestone]
    for number, subject in enumerate(results.subjects):
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        shift = 0.7 * ((number + 0.5) / len(results.subjects) - 0.5)
        dots = [
            (count, height + shift)
            for height, row in enumerate(results.rows)
            for one in results.of(row, subject)
            if (count := reached(one)) is not None
        ]
        medians = [
            (median, height + shift)
            for height, row in enumerate(results.rows)
            if (median := median_of(results.of(row, subject), milestone)) != NEVER
        ]
        panel.scatter([x for x, _ in dots], [y for _, y in dots], s=8, color=colour, alpha=0.3, linewidths=0)
        panel.scatter(
            [x for x, _ in medians], [y for _, y in medians], s=36, color=colour, marker=marker, label=subject
        )
    panel.set_xscale("log")
    panel.set_xlim(left=1)
    panel.set_xlabel(f"executions to the {TITLES[milestone]}")
    panel.grid(axis="x", alpha=0.3)

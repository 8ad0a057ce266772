"""What searchers found side by side, as a picture: how many pairs are broken after how many executions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from chaosagent.experiments.benchmarks.comparison.results import Compared, reached_at
from chaosagent.extras import require
from chaosagent.report.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINES = ("-", "--", "-.", ":")
WIDTH, HEIGHT = 5.2, 3.4


def draw(compared: Compared, path: Path) -> None:
    """Draw, for each target, the share of pairs broken, and broken at the least cost that anybody found.

    Args:
        compared: What was found.
        path: Of the picture; its ending says which kind.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    plt = require("matplotlib.pyplot", extra="report", needed_by="--plot")
    targets = compared.targets
    shape = (max(1, len(targets)), 2)
    size = (2 * WIDTH, HEIGHT * shape[0] + 0.4)
    figure, panels = plt.subplots(*shape, sharex=True, sharey=True, squeeze=False, figsize=size, layout="constrained")
    try:
        for row, target in zip(panels, targets, strict=False):
            least = compared.least(target)
            for panel, cheapest in zip(row, (False, True), strict=True):
                for number, searcher in enumerate(compared.searchers):
                    counts = [
                        reached_at(one, least[one.pair] if cheapest else float("inf"))
                        for one in compared.of(target, searcher)
                        if one.pair in least
                    ]
                    _curve(panel, counts, compared.limit, (searcher, number))
                what = "broken as cheaply as by anybody" if cheapest else "broken"
                panel.set_title(f"{target}: {what}, of {len(least)}", fontsize=10)
        for panel in panels[-1]:
            panel.set_xlabel("executions of one study")
        for row in panels:
            row[0].set_ylabel("share of the pairs")
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=max(1, len(labels)), frameon=False)
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    finally:
        plt.close(figure)


def _curve(panel: Axes, counts: Sequence[int | None], limit: int, look: tuple[str, int]) -> None:
    """Draw the share of searches that had got there after each number of executions."""
    searcher, number = look
    reached = sorted(count for count in counts if count is not None)
    across = [1, *reached, limit]
    up = [0.0, *((place + 1) / len(counts) for place in range(len(reached)))]
    panel.step(
        across,
        [*up, up[-1]],
        where="post",
        label=searcher,
        color=COLOURS[number % len(COLOURS)],
        linestyle=LINES[number % len(LINES)],
        linewidth=1.8,
    )
    panel.set_xscale("log")
    panel.set_xlim(1, limit)
    panel.set_ylim(0.0, 1.02)
    ticks = [tick for tick in (1, 3, 10, 30, 100, 300, 1_000, 3_000) if tick <= limit]
    panel.set_xticks(ticks, [f"{tick:,}".replace(",", " ") for tick in ticks])
    panel.tick_params(axis="both", which="both", length=0)
    panel.grid(color="#DDDDDD", linewidth=0.6)
    panel.spines[:].set_visible(False)

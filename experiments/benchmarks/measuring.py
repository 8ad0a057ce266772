"""What every benchmark here does: interleaved rounds in one process, medians, ratios, and the machine."""

from __future__ import annotations

import os
import platform
import statistics
import sys
from collections.abc import Callable, Mapping

from chaosagent.clock import cpu


def machine() -> str:
    """Return one line on the machine and the interpreter."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}, load {load}"


def medians(
    pieces: Mapping[str, Callable[[], int]], *, rounds: int = 15, clock: Callable[[], float] = cpu
) -> dict[str, float]:
    """Return the seconds per unit of work of each piece.

    Args:
        pieces: Each does some work and returns how many units that was.
        rounds: The pieces take turns this often, so that a busy machine slows all of them alike.
        clock: What is measured: processor seconds of this process, or real ones.
    """
    seconds: dict[str, list[float]] = {name: [] for name in pieces}
    for work in pieces.values():
        work()
    for _ in range(rounds):
        for name, work in pieces.items():
            begun = clock()
            units = work()
            seconds[name].append((clock() - begun) / units)
    return {name: statistics.median(values) for name, values in seconds.items()}


def table(rows: Mapping[str, float], *, unit: str, scale: float, baseline: str) -> str:
    """Return medians with their ratios to one of them."""
    width = max(map(len, rows))
    lines = [f"{'':{width}}  {unit:>10}  ratio to {baseline!r}"]
    lines += [f"{name:{width}}  {value * scale:10.2f}  {value / rows[baseline]:.2f}" for name, value in rows.items()]
    return "\n".join(lines)

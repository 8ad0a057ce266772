"""What benchmarks here share: interleaved rounds in one process, medians, work among processes, tables, the machine."""

from __future__ import annotations

import os
import platform
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from chaosagent.clock import cpu

Given = TypeVar("Given")
Result = TypeVar("Result")


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


def each(work: Callable[[Given], Result], given: Iterable[Given], jobs: int) -> Iterator[Result]:
    """Yield what work makes of each thing, in order.

    Args:
        work: A function that other processes can import.
        given: What it is called with.
        jobs: Worker processes; with one, everything happens in this process. The results do not depend on how many.
    """
    if jobs <= 1:
        yield from map(work, given)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(work, given)


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(markdown_row(cells) for cells in (header, ["---"] * len(header), *rows))


def markdown_row(cells: Iterable[str]) -> str:
    """Return one line of a table in Markdown."""
    return f"| {' | '.join(cells)} |"

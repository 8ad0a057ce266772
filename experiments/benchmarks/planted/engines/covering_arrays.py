"""Covering arrays: rows in which every pair of levels at every pair of hooks occurs, and every violation reduced.

The rows are made greedily, as AETG does (Cohen, Dalal, Fredman and Patton 1997). The maintained package for that,
allpairspy 2.5.1, took 12 s for 21 hooks with 15 values and had not ended after 40 s for 40 hooks: more than the runs.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from chaosagent.experiments.benchmarks.planted.arena import Arena
from chaosagent.experiments.benchmarks.planted.engines.engine import Engine, Reduce, Reduced
from chaosagent.faults.injection import inject
from chaosagent.faults.schedule import schedule

DENSITIES = (1.0, 0.5, 0.25)
"""Shares of the hooks that rows use, by turns: with a fault everywhere a careful agent stops early."""


def covering_arrays(reduce: Reduce) -> Engine:
    """Return the engine with a way to reduce what it finds."""

    def search(arena: Arena, rng: random.Random) -> None:
        reduced = Reduced(arena, reduce)
        counts = [len(arena.levels[hook]) for hook in arena.hooks]
        while True:
            for row in rows(counts, rng):
                reduced.take(
                    schedule(
                        inject(arena.hooks[place], arena.levels[arena.hooks[place]][level])
                        for place, level in row.items()
                    )
                )

    return search


def rows(counts: list[int], rng: random.Random) -> Iterator[dict[int, int]]:
    """Yield rows until every pair of levels at every pair of places has occurred in one.

    Args:
        counts: How many levels each place has.
        rng: Breaks ties.

    Yields:
        The level at each place of a row; places that are missing have none.
    """
    width = max(counts)
    open_pairs = np.zeros((len(counts), width, len(counts), width), dtype=bool)
    for one, other in itertools.permutations(range(len(counts)), 2):
        open_pairs[one, : counts[one], other, : counts[other]] = True
    for turn in itertools.count():
        if not open_pairs.any():
            return
        size = max(2, round(DENSITIES[turn % len(DENSITIES)] * len(counts)))
        row = _row(open_pairs, counts, rng.sample(range(len(counts)), min(size, len(counts))), rng)
        places, levels = list(row), list(row.values())
        for place, level in row.items():
            open_pairs[place, level, places, levels] = False
        yield row


def _row(open_pairs: NDArray[np.bool_], counts: list[int], places: list[int], rng: random.Random) -> dict[int, int]:
    """Return a row over some places: at each the level with the most open pairs with those before, and behind."""
    row: dict[int, int] = {}
    for position, place in enumerate(places):
        chosen, levels = list(row), list(row.values())
        new = open_pairs[place][:, chosen, levels].sum(axis=1).astype(float)
        ahead = open_pairs[place][:, places[position + 1 :], :].sum(axis=(1, 2))
        score = (new + ahead / (1.0 + ahead.max()))[: counts[place]]
        best = np.flatnonzero(score == score.max()).tolist()
        row[place] = rng.choice(best)
    return row

"""Uniform draws from what was seen."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from chaosagent.faults.schedule import Schedule
from chaosagent.searchers.drawing.draft import Draft
from chaosagent.searchers.seen.points import Candidate
from chaosagent.searchers.seen.pool import Pool


def draw_schedule(pool: Pool, rng: random.Random, injections_max: int) -> Schedule:
    """Return a schedule of at most so many injections, their number and each of them drawn uniformly."""
    wanted = rng.randint(1, injections_max)
    draft = Draft(pool, pool.ceiling)
    for candidate in shuffle(pool.candidates, rng):
        if wanted == 0 or draft.left < pool.cheapest:
            break
        wanted -= draft.add(candidate.injection)
    return draft.schedule


def shuffle(candidates: Sequence[Candidate], rng: random.Random) -> Iterator[Candidate]:
    """Yield candidates in random order, each order equally likely; made for taking few of many."""
    moved: dict[int, int] = {}
    for left in range(len(candidates), 0, -1):
        place = int(rng.random() * left)
        yield candidates[moved.get(place, place)]
        moved[place] = moved.get(left - 1, left - 1)

"""VerifAI's samplers, driven as its falsifier drives them: a sample, a run, and what it is worth as feedback.

All that cross-entropy and the bandit learn from is whether the feedback is below VerifAI's threshold, 0. If only
violations were, they would learn nothing before the first one, and nothing of costs after it; so below 0 are runs that
are worth as much as the best of their sampler so far. Where answers come by chance it is violations, as the best may
be a flake that nothing equals.

Cross-entropy takes whole numbers; Halton and the bandit know continuous features only (in VerifAI 2.2 the bandit of
whole numbers is cross-entropy under another name), so each coordinate of theirs is cut into equal parts. A sampler that
proposes nothing new is followed by another.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from chaosagent.experiments.benchmarks.planted.arena import EQUAL, Arena
from chaosagent.experiments.benchmarks.planted.engines.engine import Engine, Reduce
from chaosagent.experiments.benchmarks.planted.engines.installing import installed
from chaosagent.experiments.benchmarks.planted.engines.scores import Scores
from chaosagent.experiments.benchmarks.planted.engines.vectors import at, of, sizes
from chaosagent.faults.schedule import Schedule

ALPHA = 0.9
"""VerifAI's own: what is left of a distribution after an update."""
WORST = 1.0
"""What a run is worth that is as far from a violation as can be: nothing to learn from."""
VIOLATED = 0.0
"""Below it every run violates."""

Sampler = Any  # VerifAI ships no types
Decode = Callable[[Arena, Sequence[float]], Schedule]


def cross_entropy(reduce: Reduce | None = None) -> Engine:
    """Return the engine, with a way to reduce what it finds or without."""
    return _driven(_cross_entropy, lambda arena, point: of(arena, [int(number) for number in point]), reduce)


def halton(reduce: Reduce | None = None) -> Engine:
    """Return the engine, with a way to reduce what it finds or without."""
    return _driven(_halton, at, reduce)


def bandit(reduce: Reduce | None = None) -> Engine:
    """Return the engine, with a way to reduce what it finds or without."""
    return _driven(_bandit, at, reduce)


def _driven(make: Callable[[Arena, random.Random], Sampler], decode: Decode, reduce: Reduce | None) -> Engine:
    def search(arena: Arena, rng: random.Random) -> None:
        scores = Scores(arena, reduce)
        with _seeded(rng):
            while True:
                sampler, lowest = make(arena, rng), WORST
                scores.begin_anew()
                while not scores.stalled:
                    sample, info = sampler.getSample()
                    value = scores(decode(arena, sample.schedule)).value
                    lowest = VIOLATED if arena.stochastic else min(lowest, value)
                    sampler.update(sample, info, feedback(value, lowest))

    return search


def feedback(value: float, lowest: float) -> float:
    """Return what a sampler is told: below 0 where a run is as good as the best so far and better than the worst.

    Args:
        value: What the run is worth, as `Scores` says; less is better.
        lowest: The best value so far, that of this run among them; `VIOLATED` to learn from violations only.
    """
    return value - min(lowest + EQUAL, WORST)


def _space(arena: Arena, *, whole: bool) -> object:
    features = _verifai("verifai.features")
    counts = sizes(arena)
    if whole:
        box = features.DiscreteBox(*((0, count - 1) for count in counts))
    else:
        box = features.Box(*[(0, 1)] * len(counts))
    return features.FeatureSpace({"schedule": features.Feature(box)})


def _cross_entropy(arena: Arena, rng: random.Random) -> Sampler:
    del rng
    return _verifai("verifai.samplers.feature_sampler").FeatureSampler.crossEntropySamplerFor(_space(arena, whole=True))


def _halton(arena: Arena, rng: random.Random) -> Sampler:
    samplers = _verifai("verifai.samplers.feature_sampler")
    parameters = samplers.default_sampler_params("halton")
    parameters.sample_index = rng.randrange(100_000)  # the sequence is one; seeds begin at other places of it
    return samplers.FeatureSampler.haltonSamplerFor(_space(arena, whole=False), parameters)


def _bandit(arena: Arena, rng: random.Random) -> Sampler:
    del rng
    samplers = _verifai("verifai.samplers.feature_sampler")
    parameters = samplers.default_sampler_params("mab")
    parameters.alpha = ALPHA
    parameters.cont.buckets = max(sizes(arena))  # VerifAI 2.2 takes no other number for each coordinate
    return samplers.FeatureSampler.multiArmedBanditSamplerFor(_space(arena, whole=False), parameters)


def _verifai(module: str) -> ModuleType:
    return installed(module, needed_by="--searcher verifai-...")


@contextmanager
def _seeded(rng: random.Random) -> Iterator[None]:
    """Seed the streams of the modules, from which VerifAI draws, and put them back afterwards."""
    before, before_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  # VerifAI's stream
    random.setstate(rng.getstate())
    np.random.set_state(np.random.RandomState(rng.getrandbits(32)).get_state())  # noqa: NPY002  # VerifAI's stream
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(before_numpy)  # noqa: NPY002  # VerifAI's stream

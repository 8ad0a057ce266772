"""Bandit policies order arms by what they have earned and by what is not known of them yet."""

from __future__ import annotations

import math
import random
from collections import Counter

from chaosagent.searchers.bandit import Credit
from chaosagent.searchers.seen.pool import Arm

GOOD, POOR, FRESH = (Arm("service.delay", f"service:{name}") for name in ("good", "poor", "fresh"))


def credit_of(rewards: dict[Arm, list[float]]) -> Credit:
    credit = Credit()
    for arm, earned in rewards.items():
        for reward in earned:
            credit.earn([arm], reward)
    return credit


def test_ucb1_orders_by_mean_and_the_width_of_its_source() -> None:
    credit = credit_of({GOOD: [1.0, 0.0] * 20, POOR: [0.0] * 3})
    logarithm = math.log(43)

    for exploration in (0.1, 0.3, 0.5, math.sqrt(2)):
        order = credit.by_ucb1([POOR, GOOD], exploration, {})
        bounds = {
            GOOD: 0.5 + exploration * math.sqrt(logarithm / 40),
            POOR: exploration * math.sqrt(logarithm / 3),
        }
        assert order == sorted(bounds, key=lambda arm: -bounds[arm])
    assert credit.by_ucb1([POOR, GOOD], 0.1, {})[0] == GOOD
    assert credit.by_ucb1([POOR, GOOD], math.sqrt(2), {})[0] == POOR


def test_ucb1_pulls_every_arm_once_before_any_twice() -> None:
    credit = credit_of({GOOD: [1.0] * 5, POOR: [0.0] * 5})

    assert credit.by_ucb1([GOOD, POOR, FRESH], 1.0, {})[0] == FRESH
    assert credit.by_ucb1([GOOD, POOR, FRESH], 1.0, {FRESH: 1}) == [GOOD, FRESH, POOR]


def test_pulls_under_way_count_so_that_not_all_trials_in_flight_pull_one_arm() -> None:
    credit = credit_of({GOOD: [0.5] * 10, POOR: [0.4] * 10})
    pending: Counter[Arm] = Counter()

    for _ in range(16):
        pending[credit.by_ucb1([GOOD, POOR], 0.3, pending)[0]] += 1

    assert pending[GOOD] > 0
    assert pending[POOR] > 0


def test_thompson_draws_the_better_arm_more_often_and_the_other_still_sometimes() -> None:
    credit = credit_of({GOOD: [1.0, 0.0] * 10, POOR: [0.0] * 10 + [1.0] * 3})
    rng = random.Random(3)

    first = Counter(credit.by_thompson([POOR, GOOD], rng)[0] for _ in range(1_000))

    assert 800 < first[GOOD] < 999


def test_thompson_is_sure_where_it_has_seen_much() -> None:
    credit = credit_of({GOOD: [1.0, 0.0] * 500, POOR: [0.0] * 1_000})

    assert all(credit.by_thompson([POOR, GOOD], random.Random(seed))[0] == GOOD for seed in range(100))


def test_pulls_are_those_of_each_arm() -> None:
    credit = Credit()
    credit.earn([GOOD, POOR], 1.0)
    credit.earn([POOR], 0.0)

    assert (credit.pulls(GOOD), credit.pulls(POOR), credit.pulls(FRESH)) == (1, 2, 0)

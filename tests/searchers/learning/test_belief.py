"""An adversary shares out what an episode brings among what was chosen in it."""

from __future__ import annotations

import math

import pytest

from chaosagent.faults.online import SPREADS
from chaosagent.searchers.learning import belief
from chaosagent.searchers.learning.belief import Belief

ONE, OTHER = ("p service:crm[1]", 0), ("p service:crm[2]", 0)


def test_what_brings_something_alone_is_worth_that() -> None:
    known = Belief(noise=0.01)

    for _ in range(30):
        known.learn([(*ONE, 1.0)], 0.8)

    assert known.of(*ONE).mean == pytest.approx(0.8, abs=0.01)
    assert known.of(*ONE).variance < 0.001
    assert known.of(*OTHER).mean == 0.0


def test_what_was_chosen_together_shares_until_one_was_tried_alone() -> None:
    known = Belief(noise=0.01)
    both = [(*ONE, 1.0), (*OTHER, 1.0)]

    known.learn(both, 1.0)
    shared = known.of(*ONE).mean
    for _ in range(20):
        known.learn([(*ONE, 1.0)], 0.0)
        known.learn(both, 1.0)

    assert shared == pytest.approx(known.of(*OTHER).mean - known.of(*ONE).mean, abs=1.0)
    assert shared > 0.4
    assert known.of(*ONE).mean == pytest.approx(0.0, abs=0.05)
    assert known.of(*OTHER).mean == pytest.approx(1.0, abs=0.1)


def test_it_grows_surer_and_never_sure() -> None:
    known, before = Belief(noise=0.1), SPREADS["p"] ** 2

    for _ in range(50):
        known.learn([(*ONE, 1.0)], 0.5)
        after = known.of(*ONE).variance
        assert 0.0 < after < before
        before = after


def test_nothing_chosen_teaches_nothing() -> None:
    known = Belief(noise=0.1)

    known.learn([], 1.0)

    assert known.weights() == ()


def test_policies_are_given_what_is_known() -> None:
    known = Belief(noise=0.01)
    known.learn([(*ONE, 1.0)], 0.5)

    ((context, ((number, mean, deviation),)),) = known.weights()

    assert (context, number) == ONE
    assert mean == pytest.approx(known.of(*ONE).mean, abs=1e-6)
    assert deviation == pytest.approx(math.sqrt(known.of(*ONE).variance), abs=1e-6)


def test_policies_are_given_what_is_known_best_when_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(belief, "WEIGHTS_MAX", 5)
    known = Belief(noise=0.01)
    for number in range(20):
        for _ in range(1 + number):
            known.learn([("p service:crm[1]", number, 1.0)], 0.5)

    ((_, row),) = known.weights()

    assert [number for number, _, _ in row] == [15, 16, 17, 18, 19]

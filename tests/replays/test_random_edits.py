"""Random edits of random targets: HELD is said of what is fixed, and of nothing else."""

from __future__ import annotations

import pytest

from tests.lab.edits.__main__ import HELD_SHARE_MIN
from tests.lab.edits.edits import HELD, KINDS
from tests.lab.edits.trials import trial
from tests.thorough import part_of


@pytest.mark.parametrize("first", [0, pytest.param(1_000, marks=pytest.mark.slow)])
def test_random_edits_have_the_outcomes_of_their_kind(first: int) -> None:
    count = part_of(first) or len(KINDS)
    trials = [trial(number) for number in range(first, first + count)]

    wrong = [f"pair {one.number}, {one.kind.name}: {one.replay}" for one in trials if not one.is_right]
    assert wrong == []
    assert not any(one.is_false_held for one in trials)
    fixes = [one for one in trials if one.kind.is_fix and one.is_fixed]
    held = [one for one in fixes if one.replay.outcome is HELD]
    assert len(held) >= HELD_SHARE_MIN * len(fixes) > 0

"""The random searcher draws lazily what `random.sample` would draw at once."""

from __future__ import annotations

import random

import pytest

from chaosagent.faults.injection import Hook, inject
from chaosagent.operators.service.delay import Delay
from chaosagent.searchers.points import Candidate
from chaosagent.searchers.random import shuffled


@pytest.mark.parametrize("count", [0, 1, 5, 22, 100])
def test_candidates_come_in_the_order_that_sample_gives_them(count: int) -> None:
    hooks = [Hook("service:crm", "", number, number) for number in range(1, count + 1)]
    candidates = [Candidate(1.0, number, inject(hook, Delay())) for number, hook in enumerate(hooks)]

    drawn = list(shuffled(candidates, random.Random(count)))

    assert drawn == random.Random(count).sample(candidates, count)

"""What an expander remembers changes nothing of what it finds."""

from __future__ import annotations

import pytest

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.seen import points
from chaosagent.searchers.seen.points import Expander
from chaosagent.seeds import derive
from chaosagent.testing.bench import Bench
from chaosagent.testing.needles import FinalNeedle
from chaosagent.testing.programs import Pay, Program, Read, Together, target_of

CHOICES = (
    Choices("service.lost_response", {"when": ("before",)}),
    Choices("service.field_corruption", {"kind": ("null",), "field": ("value",)}),
    Choices("service.stale_response", {}),
    Choices("service.delay", {}),
    Choices("service.duplicate_delivery", {}),
)
ONE_BY_ONE = Program((Read(0, "x", "a", 1), Read(0, "x", "b"), Read(1, "y", "c"), Pay("a")))
TOGETHER = Program(
    (Read(0, "x", "c"), Together(((Read(0, "x", "a", 1),), (Read(0, "yy", "b", 1),))), Read(0, "x", "a"))
)


def walked(system: Bench, runs: int) -> list[Evaluation]:
    """Return the runs of a walk that adds to earlier runs whatever is possible there."""
    rng = derive(0, "walk")
    told = [system.run(EMPTY)]
    while len(told) < runs:
        parent = rng.choice(told)
        candidates = Expander(system.space, 0, dry=False).expand(parent, after=-1).candidates
        if candidates and len(parent.schedule) < 3:
            told.append(system.run(parent.schedule.with_injection(rng.choice(candidates).injection)))
    return told


@pytest.mark.parametrize("known_max", [3, points.KNOWN_MAX])
@pytest.mark.parametrize("program", [ONE_BY_ONE, TOGETHER], ids=["one by one", "together"])
def test_it_finds_what_one_finds_that_knows_nothing(
    program: Program, known_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(points, "KNOWN_MAX", known_max)
    system = Bench(target_of(program), (FinalNeedle(share=6, number=5),), Space(CHOICES))
    expander = Expander(system.space, 0)

    for told in walked(system, 60):
        for after in (-1, told.acted):
            known, new = expander.expand(told, after=after), Expander(system.space, 0).expand(told, after=after)
            assert (known.candidates, known.pruned) == (new.candidates, new.pruned)


def test_what_can_be_afforded_is_what_costs_no_more() -> None:
    system = Bench(target_of(ONE_BY_ONE), (FinalNeedle(share=6, number=5),), Space(CHOICES))
    found = Expander(system.space, 0).expand(system.run(EMPTY), after=-1)
    costs = sorted({one.cost for one in found.candidates} | {one.candidate.cost for one in found.pruned})
    assert len(costs) > 1
    assert found.pruned

    for cost in [0.0, *costs]:
        assert found.candidates[: found.count_within(cost)] == tuple(
            one for one in found.candidates if one.cost <= cost
        )
        assert found.pruned_within(cost) == tuple(one for one in found.pruned if one.candidate.cost <= cost)

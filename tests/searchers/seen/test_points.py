"""What an expander remembers changes nothing of what it finds."""

from __future__ import annotations

import gc
import weakref
from itertools import chain

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chaosagent.faults.crossing import Request, Response
from chaosagent.faults.dry import RecordedCrossing, pack_request, pack_response
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Place
from chaosagent.faults.schedule import EMPTY
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.proof.intervals import IntervalSpace
from chaosagent.searchers.seen import points
from chaosagent.searchers.seen.points import Expander, expander_of
from chaosagent.seeds import derive
from chaosagent.testing.bench import Bench
from chaosagent.testing.needles import FinalNeedle
from chaosagent.vocabulary import Boundary
from tests.lab.targets.programs import Pay, Program, Read, Together, target_of

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


def test_searches_of_several_tasks_share_one_and_each_finds_what_it_would_alone() -> None:
    space, needle = Space(CHOICES), (FinalNeedle(share=6, number=5),)
    walks = [walked(Bench(target_of(program), needle, space), 60) for program in (ONE_BY_ONE, TOGETHER)]

    for told in chain.from_iterable(zip(*walks, strict=True)):
        for kinds_matter in (False, True):
            shared = expander_of(space, 0, kinds_matter=kinds_matter).expand(told, after=told.acted)
            alone = Expander(Space(CHOICES), 0, kinds_matter=kinds_matter).expand(told, after=told.acted)
            assert (shared.candidates, shared.pruned) == (alone.candidates, alone.pruned)
    held = expander_of(space, 0)
    assert held is expander_of(space, 0)
    gone = weakref.ref(held)
    del held, shared
    gc.collect()
    assert gone() is None, "searches that have ended leave nothing behind"
    intervals = IntervalSpace(space)
    assert expander_of(intervals, 0) is not expander_of(intervals, 0), "what it offers changes with each cut"


@pytest.mark.parametrize("program", [ONE_BY_ONE, TOGETHER], ids=["one by one", "together"])
def test_what_no_run_has_shown_is_all_that_a_run_shows_but_for_what_those_before_it_did(program: Program) -> None:
    system = Bench(target_of(program), (FinalNeedle(share=6, number=5),), Space(CHOICES))
    expander = Expander(system.space, 0)
    seen: set[int] = set()

    for told in walked(system, 30):
        unseen = expander.unseen_parts(told, seen)
        assert unseen == [part for part in expander.parts(told, after=-1) if part.content not in seen]
        seen.update(part.content for part in unseen)
        assert expander.unseen_parts(told, seen) == []
    assert seen


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


Asked = tuple[int, int, bool]
"""Of a call: what it asks for, what is answered, and whether the world was asked again."""


def run_of(calls: list[Asked], order: list[int]) -> Evaluation:
    """Return a run with calls of one interface, each asked when its number comes first in an order, then answered."""
    crossings = []
    for number, (asked_for, answer, unclear) in enumerate(calls):
        positions = [position for position, one in enumerate(order) if one == number] + [-1, -1]
        asked, answered = positions[:2] if positions[0] >= 0 else (len(order) + number, -1)
        crossings.append(
            RecordedCrossing(
                Place("service:s0", "", number + 1),
                Boundary.SERVICE,
                pack_request(Request("get", {"key": asked_for})),
                pack_response(Response({"value": answer})) if answered >= 0 else b"",
                b"",
                asked,
                answered,
                0.0,
                0.0,
                read_only=True,
                alone=answered == asked + 1,
                history_unclear=unclear,
            )
        )
    return Evaluation(EMPTY, crossings=tuple(sorted(crossings, key=lambda crossing: crossing.asked)))


calls = st.tuples(st.integers(0, 1), st.integers(0, 2), st.sampled_from([False, False, False, True]))
runs = st.lists(calls, min_size=2, max_size=4).flatmap(
    lambda asked: st.tuples(st.just(asked), st.permutations([*range(len(asked))] * 2))
)
ONE = [(0, 1, False), (0, 2, False), (1, 0, False)]


@settings(deadline=None, max_examples=60)
@given(st.lists(runs, min_size=2, max_size=6))
@example([(ONE, [0, 1, 2, 0, 1, 2]), (ONE, [0, 1, 2, 2, 1, 0])])  # the first is answered before the second, and behind
@example([(ONE[:2], [0, 0, 1, 1]), ([ONE[0], (0, 2, True)], [0, 0, 1, 1])])  # the second is asked again itself
def test_calls_that_overlap_are_not_taken_for_others(told: list[tuple[list[Asked], list[int]]]) -> None:
    space = Space((Choices("service.stale_response", {}), Choices("service.delay", {"seconds": (5.0,)})))
    expander = Expander(space, 0)

    for asked, order in told:
        run = run_of(asked, order)
        known, new = expander.expand(run, after=-1), Expander(space, 0).expand(run, after=-1)
        assert (known.candidates, known.pruned) == (new.candidates, new.pruned)

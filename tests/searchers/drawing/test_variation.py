"""Variation operators do what their names say, and only with what runs have shown to be possible."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaosagent.faults.injection import Injection, Place, place_of
from chaosagent.faults.schedule import EMPTY, Schedule, schedule
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.drawing.variation import Variation
from chaosagent.searchers.seen.pool import Pool
from chaosagent.testing.bench import Bench
from chaosagent.testing.needles import FinalNeedle
from tests.lab.targets.programs import Pay, Program, Read, target_of

CHOICES = (
    Choices("service.lost_response", {"when": ("before",)}),
    Choices("service.delay", {"seconds": (1.0, 2.0, 3.0)}),
    Choices("service.field_corruption", {"kind": ("null",), "field": ("value",)}, interfaces=("service:s*",)),
)
PROGRAM = Program((Read(0, "x", "a", 1), Read(0, "yy", "b", 1), Read(0, "z", "a"), Read(1, "yy", "b"), Pay("a", "b")))
SYSTEM = Bench(target_of(PROGRAM), (FinalNeedle(share=100_000),), Space(CHOICES))
CEILING = 4.5


def filled_pool() -> Pool:
    pool = Pool(SYSTEM.problem("final-needle", CEILING))
    pool.learn(SYSTEM.run(EMPTY))
    for candidate in tuple(pool.candidates):
        pool.learn(SYSTEM.run(schedule([candidate.injection])))
    return pool


few = settings(max_examples=25, deadline=None)
POOL = filled_pool()
VARIATION = Variation(POOL)


@st.composite
def schedules(draw: st.DrawFn, least: int = 1) -> Schedule:
    places = draw(st.lists(st.sampled_from(sorted(POOL.sites)), min_size=least, max_size=4, unique=True))
    return schedule(draw(st.sampled_from(POOL.sites[place].candidates)).injection for place in places)


rngs = st.integers(0, 2**32).map(random.Random)


def by_place(injections: Schedule | list[Injection]) -> dict[Place, Injection]:
    return {place_of(injection): injection for injection in injections}


@few
@given(schedules(), rngs)
def test_adding_keeps_everything_and_takes_a_free_place(before: Schedule, rng: random.Random) -> None:
    after = VARIATION.added(list(before), rng)

    assert after[: len(before)] == list(before)
    assert len(by_place(after)) == len(before) + 1
    assert after[-1] in POOL


@few
@given(schedules(), rngs)
def test_dropping_takes_one_away_but_never_the_last(before: Schedule, rng: random.Random) -> None:
    after = VARIATION.dropped(list(before), rng)

    if len(before) == 1:
        assert after == []
    else:
        assert len(after) == len(before) - 1
        assert set(after) < set(before)


@few
@given(schedules(), rngs)
def test_moving_takes_one_to_the_next_call_or_attempt(before: Schedule, rng: random.Random) -> None:
    after = VARIATION.moved(list(before), rng)

    if not after:
        return
    (old,), (new,) = [one for one in before if one not in after], [one for one in after if one not in set(before)]
    assert new.operator_name == old.operator_name
    row = sorted(place for place in POOL.sites if place.interface == old.hook.interface)
    assert abs(row.index(place_of(new)) - row.index(place_of(old))) == 1


@few
@given(schedules(), rngs)
def test_another_level_keeps_place_and_operator(before: Schedule, rng: random.Random) -> None:
    after = VARIATION.with_another_level(list(before), rng)

    has_levels = any(injection.operator_name == "service.delay" for injection in before)
    assert bool(after) == has_levels
    if after:
        (old,), (new,) = set(before) - set(after), set(after) - set(before)
        assert (new.hook, new.operator_name) == (old.hook, old.operator_name)
        assert new.parameters != old.parameters


@few
@given(schedules(), rngs)
def test_another_operator_keeps_the_place(before: Schedule, rng: random.Random) -> None:
    after = VARIATION.with_another_operator(list(before), rng)

    if after:
        (old,), (new,) = set(before) - set(after), set(after) - set(before)
        assert new.hook == old.hook
        assert new.operator_name != old.operator_name


@few
@given(schedules(), schedules(), rngs)
def test_crossing_takes_what_each_place_has_from_one_of_the_parents(
    one: Schedule, other: Schedule, rng: random.Random
) -> None:
    child = by_place(VARIATION.crossed(one, other, rng))

    parents = by_place(one), by_place(other)
    assert all(injection in (parents[0].get(place), parents[1].get(place)) for place, injection in child.items())


def test_crossing_by_time_takes_the_beginning_of_one_and_the_end_of_the_other() -> None:
    order = sorted(POOL.sites.values(), key=lambda site: (site.position, site.place))
    usual = [site for site in order if not site.needs]
    one, other = (schedule(site.candidates[number].injection for site in usual) for number in (0, 1))
    children = {tuple(VARIATION.crossed(one, other, random.Random(seed))) for seed in range(300)}

    cuts = [
        tuple(site.candidates[0 if number < cut else 1].injection for number, site in enumerate(usual))
        for cut in range(len(usual) + 1)
    ]

    assert set(cuts) <= children
    assert len(children) > len(cuts)  # the others choose place by place


@few
@given(schedules(least=2), st.floats(1.0, CEILING), rngs)
def test_a_repaired_schedule_costs_no_more_than_it_may_and_has_what_it_needs(
    drawn: Schedule, ceiling: float, rng: random.Random
) -> None:
    repaired = VARIATION.repaired(list(drawn), ceiling, rng)

    assert repaired.declared_cost(SYSTEM.space.model) <= ceiling + 1e-6
    for injection in repaired:
        site = POOL.sites[place_of(injection)]
        assert all(by_place(repaired).get(place_of(need)) in site.ways for need in site.needs)


@few
@given(schedules(), rngs)
def test_a_mutated_schedule_is_made_of_what_was_seen_to_be_possible(before: Schedule, rng: random.Random) -> None:
    after = VARIATION.mutated(before, rng)

    assert after
    assert all(injection in POOL for injection in after)
    assert len(by_place(after)) == len(after)


def test_something_is_added_where_a_move_has_nothing_to_act_on() -> None:
    for seed in range(50):
        assert len(VARIATION.mutated(EMPTY, random.Random(seed))) >= 1


def test_what_leaves_nothing_behind_is_rarely_added() -> None:
    pool = filled_pool()
    pool.futile = {candidate.injection for candidate in pool.candidates if "delay" in candidate.injection.operator_name}
    variation, rng = Variation(pool), random.Random(1)

    added = [variation.added([], rng)[0] for _ in range(500)]

    share = sum(injection in pool.futile for injection in added) / len(added)
    assert 0.0 < share < 0.3
    assert sum(VARIATION.added([], rng)[0] in pool.futile for _ in range(500)) > 200


@pytest.mark.parametrize("seed", range(3))
def test_equal_streams_give_equal_offspring(seed: int) -> None:
    parent = schedule([POOL.candidates[0].injection])

    twins = [VARIATION.mutated(parent, random.Random(seed)) for _ in range(2)]

    assert twins[0] == twins[1]

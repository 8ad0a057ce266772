"""The beam goes on with the best runs of each length, in the order in which injections act, and cuts off nothing."""

from __future__ import annotations

import pytest

from chaosagent.errors import UsageError
from chaosagent.experiments.benchmarks.planted.catalogue import FAMILIES
from chaosagent.experiments.benchmarks.planted.family import KEPT
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.beam import BeamSearcher
from chaosagent.searchers.seen.pool import margin_of
from chaosagent.study.searcher_settings import check_settings
from chaosagent.study.shrinking.minimal_sets import MinimalSets
from chaosagent.study.shrinking.minimise import violates
from chaosagent.testing.bench import Bench
from chaosagent.testing.enumeration import enumerate_minimum
from chaosagent.testing.needles import FinalNeedle
from tests.lab.targets.programs import Pay, Program, Read, target_of

CHOICES = (
    Choices("service.lost_response", {"when": ("before",)}),
    Choices("service.field_corruption", {"kind": ("null",), "field": ("value",)}, interfaces=("service:s*",)),
)
PROGRAM = Program((Read(0, "x", "a", 2), Read(1, "yy", "b"), Pay("a", "b", 1)))
LAST_FIRST = Program((Read(1, "yy", "b"), Read(0, "x", "a")))
"""What acts at the last hook is the first in the alphabet, and nothing can be added to it."""


def told_by(bench: Bench, searcher: BeamSearcher, contract: str = "", trials_max: int = 2_000) -> list[Evaluation]:
    """Return what a search tells, until it has finished or a contract is broken."""
    told: list[Evaluation] = []
    while not searcher.finished and len(told) < trials_max:
        for proposal in searcher.ask(1):
            told.append(bench.run(proposal.schedule))
            searcher.tell(told[-1])
        if contract and violates(told[-1], contract):
            break
    return told


@pytest.mark.parametrize("seed", range(3))
def test_it_finds_a_pair_through_the_singles_that_come_closest(seed: int) -> None:
    planted = FAMILIES["pair"].planted(seed)
    bench = Bench(planted.target, (KEPT,), planted.space)

    told = told_by(bench, BeamSearcher(bench.problem(KEPT.id, planted.budget), width=2), KEPT.id)

    assert violates(told[-1], KEPT.id)
    assert told[-1].effective in planted.minima
    margins = {one.schedule: margin_of(one, KEPT.id) for one in told if len(one.schedule) == 1}
    pairs = [one.schedule for one in told if len(one.schedule) == 2]
    parents = {single for single in margins for pair in pairs if set(single) <= set(pair) and margins[single] < 1.0}
    assert 0 < len(parents) < len(margins) / 4
    assert all(any(set(single) <= set(pair) for single in parents) for pair in pairs)
    assert len(told) < 250  # all singles, and the second injections of two of them: of 1 335 schedules


def test_of_runs_equally_close_the_cheapest_goes_on_first_and_then_the_first_in_the_alphabet() -> None:
    bench = Bench(target_of(PROGRAM), (FinalNeedle(share=100_000),), Space(CHOICES))

    told = told_by(bench, BeamSearcher(bench.problem("final-needle", 2.3), width=1))

    model = bench.space.model
    singles = [one for one in told if len(one.schedule) == 1 and one.effective == one.schedule]
    first_pair = next(one.schedule for one in told if len(one.schedule) == 2)
    best = min(singles, key=lambda one: (one.schedule.declared_cost(model), str(one.schedule)))
    assert set(best.schedule) < set(first_pair)


def test_injections_are_added_behind_those_that_have_acted() -> None:
    bench = Bench(target_of(PROGRAM), (FinalNeedle(share=100_000),), Space(CHOICES))

    told = told_by(bench, BeamSearcher(bench.problem("final-needle", 3.4)))

    by_schedule = {one.schedule: one for one in told}
    longer = [one for one in told if len(one.schedule) > 1 and one.effective == one.schedule]
    assert len(longer) > 20
    for one in longer:
        parents = [by_schedule.get(one.schedule.without(injection)) for injection in one.schedule]
        assert any(parent is not None and parent.acted < one.acted for parent in parents)


@pytest.mark.parametrize("number", [5, 7, 11])
@pytest.mark.parametrize("width", [1, 4])
def test_given_time_it_finds_the_minimum_of_exhaustive_enumeration(number: int, width: int) -> None:
    bench = Bench(target_of(PROGRAM), (FinalNeedle(share=3, number=number),), Space(CHOICES))

    told = told_by(bench, BeamSearcher(bench.problem("final-needle", 3.4), width=width))

    costs = [one.effective.declared_cost(bench.space.model) for one in told if violates(one, "final-needle")]
    assert min(costs) == bench.minimum("final-needle", 3.4)
    assert costs == sorted(costs, reverse=True)  # behind a violation only cheaper ones are asked


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("program", [PROGRAM, LAST_FIRST], ids=["program", "last first"])
def test_of_a_rare_needle_it_asks_all_that_can_land_within_depth_and_budget(width: int, program: Program) -> None:
    bench = Bench(target_of(program), (FinalNeedle(share=100_000),), Space(CHOICES))

    asked = {one.schedule for one in told_by(bench, BeamSearcher(bench.problem("final-needle", 2.3), width=width))}

    every: set[Schedule] = set()

    def run(schedule: Schedule) -> Evaluation:
        evaluation = bench.run(schedule)
        every.add(evaluation.effective)
        return evaluation

    enumerate_minimum(run, "final-needle", bench.space, 2.3)
    assert {one for one in asked if bench.run(one).effective == one} == every


@pytest.mark.parametrize("number", [8, 13, 19])
def test_where_all_minimal_are_wanted_it_goes_on_and_asks_for_none_that_holds_one(number: int) -> None:
    bench = Bench(target_of(PROGRAM), (FinalNeedle(share=3, number=number),), Space(CHOICES))

    told = told_by(bench, BeamSearcher(bench.problem("final-needle", 2.3, all_minimal=True)))

    known = MinimalSets(bench.space.model)
    for one in told:
        assert not known.held_by(one.schedule)
        if violates(one, "final-needle"):
            known.add(one.effective)
    assert all(known.held_by(minimal) for minimal in bench.minimal("final-needle", 2.3))


@pytest.mark.slow
def test_runs_that_only_came_back_to_a_known_state_go_on_last() -> None:
    found = []
    for checkpoints in (True, False):
        planted = FAMILIES["staged"].planted(1, checkpoints=checkpoints)
        bench = Bench(planted.target, (KEPT,), planted.space)
        told = told_by(bench, BeamSearcher(bench.problem(KEPT.id, planted.budget)), KEPT.id, trials_max=400)
        found.append(violates(told[-1], KEPT.id))

    assert found == [True, False]  # without checkpoints nobody knows what came back


def test_no_schedule_is_longer_than_its_depth() -> None:
    bench = Bench(target_of(PROGRAM), (FinalNeedle(share=100_000),), Space(CHOICES))

    lengths = [
        {len(one.schedule) for one in told_by(bench, BeamSearcher(bench.problem("final-needle", 4.5), depth=depth))}
        for depth in (1, 2, 3)
    ]

    assert lengths == [{0, 1}, {0, 1, 2}, {0, 1, 2, 3}]


def test_it_goes_on_when_a_run_could_not_be_made() -> None:
    bench = Bench(target_of(PROGRAM), (FinalNeedle(share=100_000),), Space(CHOICES))
    searcher = BeamSearcher(bench.problem("final-needle", 2.3))
    searcher.tell(bench.run(EMPTY))

    (first,) = searcher.ask(1)
    searcher.tell(Evaluation(first.schedule, Status.ERROR, "killed"))

    assert len(told_by(bench, searcher)) > 10


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"width": 0}, r"width is 0; it must be a whole number from 1 to 10000\."),
        ({"width": 2.5}, r"width is 2\.5; it must be a whole number"),
        ({"width": True}, "width is true; it must be a whole number"),
        ({"depth": 0}, "depth is 0; it must be a whole number from 1 to"),
    ],
)
def test_it_refuses_settings_outside_their_limits(settings: dict[str, float], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        check_settings("beam", BeamSearcher, settings)

"""What an audit keeps of what was pruned, what it chooses from that, and when it calls a rule wrong."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from chaosagent.faults.crossing import Request, Response
from chaosagent.faults.evaluation import Act, Evaluation, Status
from chaosagent.faults.injection import Injection, Place
from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.faults.schedule import schedule as schedule_of
from chaosagent.searchers.proof.audit import ORDER, SAMPLES_MAX, Audit, Sample, order_is_wrong
from chaosagent.searchers.proof.chains import Chains
from chaosagent.searchers.seen.states import States
from chaosagent.searchers.seen.trial_log import TrialLog
from chaosagent.study.searcher import Purpose
from chaosagent.testing.crossings import Sample as Crossing
from chaosagent.trace.trace import ContractVerdict
from chaosagent.vocabulary import Boundary, Ending, Verdict

CONTRACT = "objective"


class Drawing(random.Random):
    """Draws the same number each time."""

    number = 0.0

    def random(self) -> float:
        return self.number


def lost(number: int, service: str = "s") -> Schedule:
    return parse(f"service:{service}[{number}] service.lost_response(when=before)")


def sample(number: int, rule: str = "R3", **more: Any) -> Sample:
    """Return a sample of which schedule and twin are losses of two services."""
    return Sample(rule, lost(number), (lost(number, "twin"),), **more)


def run(schedule: Schedule, verdict: Verdict | None = Verdict.HOLDS, **more: Any) -> Evaluation:
    verdicts = () if verdict is None else (ContractVerdict(CONTRACT, verdict, 1.0),)
    return Evaluation(schedule, effective=schedule, success=True, verdicts=verdicts, **more)


def told(*runs: Evaluation) -> TrialLog:
    known = TrialLog()
    for one in runs:
        known.take(one)
    return known


def empty_audit() -> Audit:
    model = CostModel()
    return Audit(CONTRACT, Chains(States(0, model, 0), model, budget=3.0))


def audit_of(*samples: Sample) -> Audit:
    made = empty_audit()
    made.begin(random.Random(1))
    for slot, one in enumerate(samples):
        made.keep(slot, one)
    return made


def same(found: Sample, rng: random.Random) -> Sample:
    """Find nothing below."""
    del rng
    return found


# ---------------------------------------------------------------- what is kept


@pytest.mark.parametrize(
    ("draw", "slots"),
    [(0.999, []), (0.5, [(64, 32), (65, 33), (66, 33)]), (0.0, [(64, 0), (65, 0), (66, 0)])],
)
def test_behind_the_first_ones_each_is_kept_with_the_same_probability(
    draw: float, slots: list[tuple[int, int]]
) -> None:
    audit, rng = empty_audit(), Drawing()
    rng.number = draw
    audit.begin(rng)

    assert audit.slots("R2", SAMPLES_MAX + 3) == [*((number, number) for number in range(SAMPLES_MAX)), *slots]
    assert audit.slots("R3", 2) == [(0, 0), (1, 1)]
    assert audit.slots("R3", 2) == [(0, 2), (1, 3)]


def test_what_was_pruned_before_makes_it_less_likely_to_be_kept() -> None:
    audit, rng = empty_audit(), Drawing()
    audit.begin(rng)
    audit.slots("R2", 99)
    rng.number = 0.645

    assert audit.slots("R2", 1) == []
    rng.number = 0.63
    assert audit.slots("R2", 1) == [(0, 63)]
    audit.begin(rng)
    assert audit.slots("R2", 1) == [(0, 0)]


# ---------------------------------------------------------------- what is chosen


def test_a_twin_that_was_not_run_is_run_first() -> None:
    audit = audit_of(*(sample(number) for number in (1, 2, 3)))

    proposals = audit.choose(3, told(run(lost(1, "twin"))), same)

    audited = [one.schedule for one in proposals if one.purpose is Purpose.AUDIT]
    twins = [one.schedule for one in proposals if one.purpose is Purpose.CERTIFY]
    assert set(audited) == {lost(number) for number in (1, 2, 3)}
    assert set(twins) == {lost(number, "twin") for number in (2, 3)}
    assert len(proposals) == 5


def test_every_fourth_of_a_share_lies_below_where_something_does() -> None:
    def below(found: Sample, rng: random.Random) -> Sample:
        del rng
        return found._replace(schedule=found.schedule.with_injection(*lost(9)), below=True)

    audit = audit_of(*(sample(number, "R2") for number in range(1, 9)))
    chosen = [one.schedule for one in audit.choose(8, TrialLog(), below) if one.purpose is Purpose.AUDIT]
    assert [len(schedule) for schedule in chosen].count(1) == 6
    assert 1 <= [len(schedule) for schedule in chosen].count(2) <= 2

    audit = audit_of(*(sample(number, "R2") for number in range(1, 9)))
    assert len([one for one in audit.choose(8, TrialLog(), same) if one.purpose is Purpose.AUDIT]) == 6


def test_of_what_the_order_of_acting_pruned_all_is_chosen_that_was_not_run() -> None:
    audit = audit_of(*(sample(number, ORDER) for number in range(1, 9)))

    proposals = audit.choose(8, told(run(lost(1)), run(lost(2))), same)

    audited = {one.schedule for one in proposals if one.purpose is Purpose.AUDIT}
    assert audited == {lost(number) for number in range(3, 9)}


def test_what_a_small_pool_leaves_goes_to_the_others() -> None:
    audit = audit_of(sample(1, ORDER))
    for number in range(1, 9):
        audit.keep(number, sample(number, "R2"))

    audited = [one.schedule for one in audit.choose(8, TrialLog(), same) if one.purpose is Purpose.AUDIT]

    assert len(audited) >= 6
    assert lost(1) in audited


# ---------------------------------------------------------------- what is compared


def compared(found: Sample, *runs: Evaluation) -> tuple[list[str], int, int]:
    """Return the rules called wrong, and how many samples were judged, and how many below."""
    audit = audit_of(found)
    audit._chosen[found.schedule] = found
    known = told(*runs)
    wrong = list(audit.contradicted(known))
    assert list(audit.contradicted(known)) == []
    return wrong, audit.judged[found.rule], audit.judged_below


MINE, TWIN = lost(1), lost(1, "twin")
UNFAIR = (ContractVerdict(CONTRACT, Verdict.VIOLATED, -1.0, unfair=True),)
CLOSER = (ContractVerdict(CONTRACT, Verdict.HOLDS, 0.1),)


@pytest.mark.parametrize(
    ("mine", "twin", "is_wrong"),
    [
        (run(MINE), run(TWIN), False),
        (run(MINE, Verdict.VIOLATED), run(TWIN), True),
        (run(MINE, Verdict.VIOLATED), run(TWIN, Verdict.VIOLATED), False),
        (run(MINE, Verdict.VIOLATED), replace(run(TWIN), verdicts=UNFAIR), True),
        (run(MINE), replace(run(TWIN), verdicts=CLOSER), False),
        (run(MINE), run(TWIN, None), True),
        (run(MINE, None), run(TWIN), True),
        (run(MINE, None), run(TWIN, None), False),
        (run(MINE), replace(run(TWIN), success=False), True),
        (run(MINE), run(TWIN, ending=Ending.CRASHED), True),
    ],
)
def test_twins_that_converged_are_compared_in_what_came_of_them(
    mine: Evaluation, twin: Evaluation, *, is_wrong: bool
) -> None:
    assert compared(sample(1), mine, twin) == (["R3"] * is_wrong, 1, 0)


def test_only_what_was_run_with_all_its_twins_is_compared() -> None:
    assert compared(sample(1), run(MINE)) == ([], 0, 0)
    assert compared(sample(1), run(TWIN)) == ([], 0, 0)
    assert compared(sample(1), run(MINE, status=Status.ERROR), run(TWIN)) == ([], 0, 0)
    assert compared(sample(1, below=True), run(MINE, Verdict.VIOLATED), run(TWIN)) == (["R3"], 0, 1)


def test_nothing_that_was_chosen_before_counts_once_the_search_begins_anew() -> None:
    audit = audit_of()
    runs = []
    for number in (1, 2):
        audit._chosen[lost(number)] = sample(number)
        runs += [run(lost(number), Verdict.VIOLATED), run(lost(number, "twin"))]

    for rule in audit.contradicted(told(*runs)):
        assert rule == "R3"
        audit.begin(random.Random(1))

    assert audit.judged["R3"] == 1


def crossings_of(*answers: str) -> Any:
    exchanges = [Crossing(Boundary.SERVICE, Request("get", {}), Response(answer)).recorded()[0] for answer in answers]
    places = [Place(f"service:{name}", "", 1) for name in ("s", "twin", "other")]
    return tuple(one._replace(place=place) for one, place in zip(exchanges, places, strict=False))


@pytest.mark.parametrize(
    ("mine", "twin", "is_wrong"),
    [
        (("a", "b", "c"), ("a", "b", "c"), False),
        (("x", "b", "c"), ("a", "y", "c"), False),
        (("a", "b", "x"), ("a", "b", "c"), True),
    ],
)
def test_twins_of_equal_outcomes_are_compared_in_all_but_where_they_differ(
    mine: Sequence[str], twin: Sequence[str], *, is_wrong: bool
) -> None:
    runs = run(MINE, crossings=crossings_of(*mine)), run(TWIN, crossings=crossings_of(*twin))

    assert compared(sample(1, "R2"), *runs) == (["R2"] * is_wrong, 1, 0)
    assert compared(sample(1, "R3"), *runs) == ([], 1, 0)


# ---------------------------------------------------------------- the order of acting


FIRST, LAST = (next(iter(lost(1, service))) for service in ("first", "last"))


def acting(*acts: tuple[Injection, int], asked: int = 4, answered: int = 5, **more: Any) -> Evaluation:
    """Return a run in which injections act, and the last service is asked."""
    (other, here) = crossings_of("a", "b")
    crossings = (
        other._replace(place=FIRST.place, asked=1, answered=2),
        here._replace(place=LAST.place, asked=asked, answered=answered),
    )
    schedule = schedule_of(injection for injection, _ in acts)
    told_acts = tuple(Act(position, injection) for injection, position in acts)
    return run(schedule, acts=told_acts, crossings=crossings, **more)


@pytest.mark.parametrize("position", [4, 5])
def test_a_run_is_in_order_where_the_shorter_one_makes_the_same_call_at_the_same_moment(position: int) -> None:
    both = acting((FIRST, 1), (LAST, position))

    assert not order_is_wrong(both, told(acting((FIRST, 1))))
    assert order_is_wrong(both, told(acting((FIRST, 1), asked=6, answered=7)))
    assert order_is_wrong(both, told(acting((FIRST, 2))))


def test_order_says_nothing_where_the_shorter_run_is_not_known() -> None:
    both, late = acting((FIRST, 1), (LAST, 4)), acting((FIRST, 1), asked=6, answered=7)

    assert not order_is_wrong(both, TrialLog())
    assert not order_is_wrong(both, told(replace(late, status=Status.ERROR)))
    assert not order_is_wrong(both, told(replace(late, acts=())))
    assert not order_is_wrong(acting((FIRST, 1)), told(run(EMPTY)))
    assert order_is_wrong(both, told(late))

"""How the exact search uses runs passed to `tell`, and what it finds below pruned schedules."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.searchers.proof.audit import Sample
from chaosagent.searchers.proof.uniform_cost import ExactSearcher
from chaosagent.testing.enumeration import drive
from chaosagent.trace.trace import ContractVerdict
from chaosagent.vocabulary import Verdict
from tests.searchers.proof.test_audit_samples import FIRST, LAST, acting
from tests.searchers.proof.test_owners import CONTRACT, TWO_LOSSES, bench


def losses(*services: int) -> Schedule:
    return parse("; ".join(f"service:s{number}[1] service.lost_response(when=before)" for number in services))


def searched(budget: float) -> ExactSearcher:
    where = bench()
    searcher = ExactSearcher(where.problem(CONTRACT, budget))
    drive(searcher, where.run)
    for schedule in (losses(0), losses(1), parse("service:never[1] service.lost_response(when=before)")):
        searcher.tell(where.run(schedule))
    return searcher


def test_an_unfair_violation_is_no_counterexample() -> None:
    where = bench()
    searcher, fairly = (ExactSearcher(where.problem(CONTRACT, TWO_LOSSES)) for _ in range(2))
    run = where.run(losses(0))

    searcher.tell(replace(run, verdicts=(ContractVerdict(CONTRACT, Verdict.VIOLATED, -1.0, unfair=True),)))
    fairly.tell(replace(run, verdicts=(ContractVerdict(CONTRACT, Verdict.VIOLATED, -1.0),)))

    assert searcher.affordable == float("inf")
    assert fairly.affordable == losses(0).declared_cost(where.space.model)


@pytest.mark.parametrize("r1", [True, False])
def test_a_run_out_of_order_contradicts_the_order_of_acting_where_it_is_used(*, r1: bool) -> None:
    searcher = ExactSearcher(bench().problem(CONTRACT, TWO_LOSSES), r1=r1)

    searcher.tell(acting((FIRST, 1), asked=6, answered=7))
    searcher.tell(acting((FIRST, 1), (LAST, 4)))

    assert searcher.progress.contradictions == r1
    assert not searcher.rules["R1"]


def test_below_a_pruned_schedule_lies_one_injection_more_that_can_just_be_afforded() -> None:
    sample = Sample("R3", losses(1), (losses(0),), -1)
    found = [searched(TWO_LOSSES)._below(sample, random.Random(seed)) for seed in range(20)]

    assert all(one.below for one in found)
    assert {one.schedule for one in found} == {losses(1, 2), losses(1, 3)}
    assert {one.twin for one in found} == {losses(0, 2), losses(0, 3)}
    assert searched(TWO_LOSSES - 0.1)._below(sample, random.Random(0)) == sample


def test_nothing_lies_below_a_pruned_schedule_where_it_already_injects_or_its_twin_does_not_land() -> None:
    searcher = searched(3.3)
    taken = Sample("R3", losses(0, 3), (losses(1),), -1)
    never = Sample("R3", losses(0), (parse("service:never[1] service.lost_response(when=before)"),), -1)

    assert {searcher._below(taken, random.Random(seed)).schedule for seed in range(20)} == {losses(0, 2, 3)}
    assert searcher._below(never, random.Random(0)) == never
    assert searcher._below(taken._replace(alike_after=None), random.Random(0)).below is False
    assert searcher.told.get(EMPTY) is not None

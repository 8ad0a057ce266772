"""With complete provenance the exact search finds what enumeration finds, and runs only what could matter."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.exact import exact
from chaosagent.searchers.proof.bisection import Certifying
from chaosagent.searchers.proof.lineage import LineageSearcher
from chaosagent.seeds import derive
from chaosagent.study.searcher import Problem, Purpose, SearchProgress
from chaosagent.study.shrinking.minimise import violates
from chaosagent.testing.bench import Bench, TooLargeError
from chaosagent.testing.enumeration import drive
from chaosagent.testing.searchers import SearcherConformance
from chaosagent.vocabulary import Boundary, Verdict
from tests.lab.targets.derivations import CONTRACT, Derivations, random_derivations
from tests.thorough import cases

BUDGET = 2.6


def search(
    bench: Bench, lookahead: int, told_before: tuple[Schedule, ...] = (), **rules: bool
) -> tuple[float | None, SearchProgress, int]:
    """Return the least cost that a search finds, how it stands at the end, and how many schedules it had run."""
    costs: list[float] = []
    searcher = exact(bench.problem(CONTRACT, BUDGET), **rules)

    def told(schedule: Schedule) -> Evaluation:
        evaluation = bench.run(schedule)
        if violates(evaluation, CONTRACT):
            costs.append(evaluation.effective.declared_cost(bench.space.model))
        return evaluation

    for schedule in told_before:
        searcher.tell(told(schedule))
    trials = drive(searcher, told, lookahead=lookahead)
    found = min(costs, default=None)
    return None if found is not None and found > BUDGET + 1e-9 else found, searcher.progress, trials


def check(seed: int) -> float | None:
    """Compare a search with the plain truth, with and without other rules and what others told before."""
    case = random_derivations(seed)
    bench = case.bench()
    truth = bench.minimum(CONTRACT, BUDGET)
    before = tuple(derive(seed, "before").sample(bench.executed, min(10, len(bench.executed))))
    for rules in ({}, {"r3": False}, {"r2": False, "r3": False}, {"monotone": True}):
        for told_before in ((), before):
            found, progress, _ = search(bench, case.lookahead, told_before, lineage=True, **rules)
            assert found == truth, rules
            assert progress.lower_bound > BUDGET if truth is None else progress.lower_bound == truth, rules
            assert progress.contradictions == 0
    return truth


@pytest.mark.slow
@cases(60)
@given(seed=st.integers(0, 2**32))
def test_it_finds_the_minimum_of_exhaustive_enumeration_where_provenance_is_complete(seed: int) -> None:
    try:
        check(seed)
    except TooLargeError:
        assume(False)


# Three derivations without a call in common, so that three calls must be broken.
REDUNDANT = Derivations(6, ((0, 1), (2, 3), (4, 5)), False, 1, False, CostModel(c_mag=0.1), 1)
# Two derivations, which share a call.
SHARED = Derivations(4, ((0, 1), (1, 2)), False, 1, True, CostModel(c_mag=0.1), 1)


def test_the_comparison_with_enumeration_is_not_vacuous() -> None:
    truths = [check(seed) for seed in range(10)]

    assert sum(truth is not None for truth in truths) >= 5
    assert sum(truth is not None and truth > 2.0 for truth in truths) >= 2


def test_redundant_derivations_are_proved_safe_with_few_executions() -> None:
    bench = REDUNDANT.bench()

    plain, fewer = (search(bench, 1, lineage=lineage) for lineage in (False, True))

    assert fewer[0] is plain[0] is None
    assert (plain[1].level, fewer[1].level) == ("C1", "C4")
    assert fewer[1].lower_bound == plain[1].lower_bound == float("inf")
    assert fewer[1].pruned["lineage"] > 0
    assert fewer[2] < plain[2] / 5


def test_a_contract_that_looks_at_more_than_the_outcome_is_searched_without() -> None:
    problem = REDUNDANT.bench().problem(CONTRACT, BUDGET)

    assert "lineage" in exact(problem, lineage=True).rules
    assert "lineage" not in exact(replace(problem, outcome_only=False), lineage=True).rules


class TestLineage(SearcherConformance):
    """On a target that does not declare its provenance."""

    @staticmethod
    def make(problem: Problem) -> Certifying:
        """Return the searcher, as if the contract judged the outcome only."""
        return exact(replace(problem, outcome_only=True), lineage=True)


class TestLineageOfLevels(SearcherConformance):
    """With both."""

    @staticmethod
    def make(problem: Problem) -> Certifying:
        """Return the searcher, as if the contract judged the outcome only."""
        return exact(replace(problem, outcome_only=True), lineage=True, monotone=True)


def test_its_state_is_the_log_of_what_it_was_told() -> None:
    for seed in range(6):
        bench = random_derivations(seed).bench()
        first = exact(bench.problem(CONTRACT, BUDGET), lineage=True)
        log: list[Schedule] = []
        for _ in range(6):
            for proposal in first.ask(1):
                log.append(proposal.schedule)
                first.tell(bench.run(proposal.schedule))
        second = exact(bench.problem(CONTRACT, BUDGET), lineage=True)
        for schedule in log:
            second.tell(bench.run(schedule))
        for _ in range(12):
            asked = first.ask(1)
            assert asked == second.ask(1)
            for proposal in asked:
                for searcher in (first, second):
                    searcher.tell(bench.run(proposal.schedule))
        assert first.progress.lower_bound == second.progress.lower_bound


def test_provenance_that_leaves_a_call_out_is_caught_by_the_audit_and_the_truth_is_found_then() -> None:
    bench = SHARED.bench(hidden=1)
    truth = bench.minimum(CONTRACT, BUDGET)
    searcher = exact(bench.problem(CONTRACT, BUDGET), lineage=True)
    drive(searcher, bench.run)
    claimed = searcher.progress

    for _ in range(20):
        for proposal in searcher.audit(16):
            searcher.tell(bench.run(proposal.schedule))
        if searcher.progress.contradictions:
            break
    drive(searcher, bench.run)

    assert truth is not None
    assert (claimed.level, claimed.lower_bound > truth, claimed.contradictions) == ("C4", True, 0)
    assert searcher.progress.contradictions == 1
    assert searcher.progress.level in ("C1", "C2")
    assert searcher.progress.lower_bound == truth


def test_complete_provenance_survives_the_audit() -> None:
    bench = REDUNDANT.bench()
    searcher = exact(bench.problem(CONTRACT, BUDGET), lineage=True)
    drive(searcher, bench.run)

    for proposal in searcher.audit(40):
        searcher.tell(bench.run(proposal.schedule))

    assert searcher.progress.audited > 10
    assert searcher.progress.contradictions == 0
    assert searcher.progress.level == "C4"


def test_a_violation_that_touches_no_support_is_a_contradiction_whoever_told_it() -> None:
    bench = SHARED.bench(hidden=1)
    searcher = exact(bench.problem(CONTRACT, BUDGET), lineage=True)
    searcher.tell(bench.run(EMPTY))

    for schedule in bench.minimal(CONTRACT, 1.2):
        searcher.tell(bench.run(schedule))

    assert searcher.progress.contradictions == 1
    assert not searcher.rules["lineage"]


def held_back(searcher: LineageSearcher) -> list[Schedule]:
    """Return the schedules that are held back as they touch no support of some passing run."""
    return [held.schedule for held in searcher._held if held.least > held.cost]


def test_what_is_counted_as_pruned_is_what_is_held_back_now() -> None:
    for seed in range(12):
        bench = random_derivations(seed).bench()
        searcher = exact(bench.problem(CONTRACT, BUDGET), lineage=True)
        assert isinstance(searcher, LineageSearcher)
        while proposals := searcher.ask(1):
            searcher.tell(bench.run(proposals[0].schedule))
            assert searcher.progress.pruned["lineage"] == len(held_back(searcher))


def test_an_audit_takes_what_is_held_back_and_what_other_rules_pruned_with_its_twins() -> None:
    bench = random_derivations(3).bench()
    searcher = exact(bench.problem(CONTRACT, BUDGET), lineage=True)
    assert isinstance(searcher, LineageSearcher)
    for _ in range(4):
        searcher.tell(bench.run(searcher.ask(1)[0].schedule))
    searcher.settle()
    pruned, held = held_back(searcher), {held.schedule for held in searcher._held}
    assert 0 < len(pruned) < len(held)

    proposals = searcher.audit(24)
    for proposal in proposals:
        searcher.tell(bench.run(proposal.schedule))

    audited = {one.schedule for one in proposals if one.purpose is Purpose.AUDIT}
    assert len(audited & held) > len(pruned) / 2
    assert audited & held <= set(pruned)
    assert searcher.progress.audited_of["R1"] > 0
    assert searcher.progress.audited_of["lineage"] > 0


def test_nothing_is_learned_from_a_run_whose_verdict_is_unknown() -> None:
    bench = REDUNDANT.bench()
    passing = bench.run(EMPTY)
    unknown = tuple(verdict._replace(verdict=Verdict.UNKNOWN) for verdict in passing.verdicts)
    learned, unsure = (exact(bench.problem(CONTRACT, BUDGET), lineage=True) for _ in range(2))
    assert isinstance(learned, LineageSearcher)
    assert isinstance(unsure, LineageSearcher)

    learned.tell(passing)
    unsure.tell(replace(passing, verdicts=unknown))

    assert learned._supports.cost_to_hit(EMPTY) > 0.0
    assert unsure._supports.cost_to_hit(EMPTY) == 0.0


@pytest.mark.parametrize("lookahead", [1, 3, 8])
def test_the_bound_is_never_above_the_truth_while_runs_are_out(lookahead: int) -> None:
    for seed in range(10):
        bench = random_derivations(seed).bench()
        truth = bench.minimum(CONTRACT, BUDGET)
        searcher = exact(bench.problem(CONTRACT, BUDGET), lineage=True)
        out: list[Schedule] = []
        while not searcher.finished:
            out += [proposal.schedule for proposal in searcher.ask(lookahead - len(out))]
            searcher.tell(bench.run(out.pop(0)))
            assert truth is None or searcher.progress.lower_bound <= truth


def test_behind_a_violation_nothing_is_asked_that_could_only_be_as_dear() -> None:
    lost = Space([Choices("service.lost_response", {"when": ("before",)})], CostModel(c_mag=0.1))
    target = Derivations(4, ((0, 1), (2, 3)), False, 1, False, lost.model, 1).target()
    bench = Bench(target, [parse_contract(CONTRACT)], lost)
    searcher = exact(bench.problem(CONTRACT, BUDGET), lineage=True)
    assert isinstance(searcher, LineageSearcher)

    drive(searcher, bench.run)

    assert searcher.progress.lower_bound == searcher.affordable
    assert searcher.affordable in {held.least for held in searcher._held}


def test_below_a_pruned_schedule_lies_what_touches_its_support_as_little_and_can_be_afforded() -> None:
    bench = REDUNDANT.bench()
    model = bench.space.model
    # The first derivation takes the first call of each service; these touch other calls.
    pruned = parse("service:s0[2] service.lost_response(when=before); service:s1[3] service.delay(seconds=5)")
    offered = [
        priced.cost for name in ("s0", "s1") for priced in bench.space.at(Boundary.SERVICE, f"service:{name}", "")
    ]
    left = sorted(offered)[2]
    assert left < max(offered)
    searcher = exact(bench.problem(CONTRACT, pruned.declared_cost(model) + left), lineage=True)
    assert isinstance(searcher, LineageSearcher)
    searcher.tell(bench.run(EMPTY))

    below = searcher._extensions(pruned)

    added = {str(injection.hook) for schedule in below for injection in schedule if injection not in pruned}
    assert added == {"service:s0[3]", "service:s1[2]"}
    assert all(len(schedule) == 3 and set(pruned) < set(schedule) for schedule in below)
    assert len(below) == len(set(below)) == sum(cost <= left for cost in offered)
    assert searcher._extensions(parse("service:s0[1] service.lost_response(when=before)")) == []

"""With monotone magnitudes the exact search finds what enumeration finds, and executes less."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.errors import UsageError
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.searchers.anytime import anytime
from chaosagent.searchers.exact import SearchOfIntervals, exact
from chaosagent.searchers.proof.bisection import BisectingSearcher, Certifying, ObservingBisector
from chaosagent.seeds import derive
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.study.searcher import LearnsFromOthers, Problem, Purpose, SearchProgress
from chaosagent.study.searcher_settings import check_settings
from chaosagent.study.shrinking.minimise import violates
from chaosagent.testing.bench import Bench, TooLargeError
from chaosagent.testing.enumeration import drive
from chaosagent.testing.searchers import SearcherConformance
from tests.lab.targets.thresholds import CONTRACT, SECONDS, Limit, Thresholds, random_thresholds
from tests.thorough import cases

BUDGET = 2.6
Make = Callable[..., Certifying]


def search(
    bench: Bench,
    budget: float,
    lookahead: int,
    told_before: tuple[Schedule, ...] = (),
    *,
    make: Make = exact,
    **rules: bool,
) -> tuple[float | None, SearchProgress, int]:
    """Return the least cost that a search finds, how it stands at the end, and how many schedules it had run."""
    costs: list[float] = []
    searcher = make(bench.problem(CONTRACT, budget), **rules)

    def told(schedule: Schedule) -> Evaluation:
        evaluation = bench.run(schedule)
        if violates(evaluation, CONTRACT):
            costs.append(evaluation.effective.declared_cost(bench.space.model))
        return evaluation

    observe_other = searcher.observe_other if isinstance(searcher, LearnsFromOthers) else searcher.tell
    for number, schedule in enumerate(told_before):
        (observe_other if number % 2 else searcher.tell)(told(schedule))
    trials = drive(searcher, told, lookahead=lookahead)
    found = min(costs, default=None)
    return None if found is not None and found > budget + 1e-9 else found, searcher.progress, trials


def budget_of(case: Thresholds) -> float:
    """Return what two faults cost, and a little more."""
    return BUDGET if case.model.c_hook == 1.0 else 0.9


def check(seed: int, make: Make = exact) -> float | None:
    """Compare a search with the plain truth, with and without other rules and what others told before."""
    case = random_thresholds(seed)
    bench, budget = case.bench(), budget_of(case)
    truth = bench.minimum(CONTRACT, budget)
    before = tuple(derive(seed, "before").sample(bench.executed, min(10, len(bench.executed))))
    for rules in ({}, {"r3": False}, {"r2": False, "r3": False}):
        for told_before in ((), before):
            found, progress, _ = search(bench, budget, case.lookahead, told_before, make=make, monotone=True, **rules)
            assert found == truth, rules
            assert progress.lower_bound > budget if truth is None else progress.lower_bound == truth, rules
            assert progress.contradictions == 0
    return truth


@pytest.mark.slow
@cases(60)
@given(seed=st.integers(0, 2**32), make=st.sampled_from([exact, anytime]))
def test_it_finds_the_minimum_of_exhaustive_enumeration_where_magnitudes_are_monotone(seed: int, make: Make) -> None:
    try:
        check(seed, make)
    except TooLargeError:
        assume(False)


def late(seconds: float, services: int = 4) -> Thresholds:
    """Return a target that fails when its second answer is so late."""
    return Thresholds(services, None, ((Limit(1, seconds, 0),),), True, CostModel(c_mag=0.5), 1)


def test_the_comparison_with_enumeration_is_not_vacuous() -> None:
    truths = [check(seed) for seed in range(8)]

    assert sum(truth is not None for truth in truths) >= 3
    assert None in truths


def test_it_executes_clearly_less() -> None:
    limits = (Limit(0, SECONDS[1], 0), Limit(2, 0.0, 2))
    bench = Thresholds(4, None, (limits,), True, CostModel(c_mag=0.5), 1).bench()

    plain, fewer = (search(bench, BUDGET, 1, r3=False, monotone=monotone) for monotone in (False, True))

    assert fewer[0] == plain[0] is not None
    assert fewer[1].level == "C3"
    assert plain[1].level == "C1"
    assert fewer[1].pruned["monotone"] > 0
    assert fewer[2] < plain[2] / 2


class TestBisecting(SearcherConformance):
    """On a target without a monotone parameter."""

    make = functools.partial(exact, monotone=True)


class TestBisectingWithTwoStreams(SearcherConformance):
    """The same, of `anytime`."""

    make = functools.partial(anytime, monotone=True)


def test_its_state_is_the_log_of_what_it_was_told() -> None:
    for seed in range(6):
        case = random_thresholds(seed)
        bench = case.bench()
        first = exact(bench.problem(CONTRACT, BUDGET), monotone=True)
        log: list[Schedule] = []
        for _ in range(12):
            for proposal in first.ask(1):
                log.append(proposal.schedule)
                first.tell(bench.run(proposal.schedule))
        second = exact(bench.problem(CONTRACT, BUDGET), monotone=True)
        for schedule in log:
            second.tell(bench.run(schedule))
        for _ in range(12):
            asked = first.ask(1)
            assert asked == second.ask(1)
            for proposal in asked:
                assert proposal.schedule not in log
                for searcher in (first, second):
                    searcher.tell(bench.run(proposal.schedule))
        # How much was pruned also depends on when the violations came that end the search behind them.
        assert replace(first.progress, pruned={}) == replace(second.progress, pruned={})


def test_what_it_has_heard_is_heard_again_when_it_searches_anew_with_an_interval_cut() -> None:
    bench = late(SECONDS[1]).bench()
    heard: list[list[Schedule]] = []

    class Listening(SearchOfIntervals):
        """Keeps what it hears."""

        def __init__(self, problem: Problem) -> None:
            super().__init__(problem)
            heard.append([])

        def observe_other(self, evaluation: Evaluation) -> None:
            heard[-1].append(evaluation.schedule)
            self.tell(evaluation)

    searcher = ObservingBisector(bench.problem(CONTRACT, BUDGET), {}, lambda problem, _: Listening(problem))
    searcher.observe_other(bench.run(EMPTY))
    drive(searcher, bench.run)

    assert len(heard) > 1
    assert all(schedules == [EMPTY] for schedules in heard)


def test_what_it_has_heard_is_not_asked_again() -> None:
    bench = late(SECONDS[1]).bench()
    searcher = ObservingBisector(bench.problem(CONTRACT, BUDGET), {}, lambda problem, _: SearchOfIntervals(problem))

    searcher.observe_other(bench.run(EMPTY))

    assert searcher.ask(1)[0].schedule != EMPTY


def studied(case: Thresholds, searcher: str, *, honest: bool = True, **more: Any) -> StudyResult:
    """Return how a study of two contracts ends that relies on monotone magnitudes."""
    bench = case.bench()
    system = case.target(honest=honest)
    plan = Plan(
        target=system,
        target_reference=system.name,
        config=system.config("default"),
        tasks=tuple(system.tasks.values()),
        seeds=(0,),
        contracts=(parse_contract(CONTRACT), parse_contract("no-crash")),
        space=bench.space,
        budget=budget_of(case),
        searcher=searcher,
        searcher_settings={"monotone": True},
        **more,
    )
    return Study(plan, InlineExecutor(plan.workbench())).run()


@pytest.mark.slow
@pytest.mark.parametrize("lookahead", [1, 16])
@pytest.mark.parametrize("searcher", ["exact", "anytime"])
def test_a_study_finds_the_minimum_though_strongest_levels_may_be_dearer_than_its_budget(
    searcher: str, lookahead: int
) -> None:
    certified = 0
    for seed in range(8):
        case = random_thresholds(seed)
        truth = case.bench().minimum(CONTRACT, budget_of(case))
        objective, crash = (one.certificate for one in studied(case, searcher, lookahead=lookahead).searches)

        assert objective.cost == truth
        assert objective.safe if truth is None else objective.certified
        assert crash.safe
        certified += objective.certified

    assert certified >= 3


@pytest.mark.slow
def test_a_violation_below_what_is_proved_gives_up_the_declaration_and_not_the_searcher() -> None:
    for seed in (225, 389):  # rule R3 has foreseen the strongest level there, which was never run
        result = studied(random_thresholds(seed), "anytime", honest=False, audit=16, lookahead=1)

        assert not any(one.certificate.disproved for one in result.searches)
        assert result.searches[0].certificate.contradictions == 1


def test_it_never_asks_twice_with_many_trials_in_flight() -> None:
    for seed in range(6):
        bench = random_thresholds(seed).bench()
        searcher, asked = exact(bench.problem(CONTRACT, BUDGET), monotone=True), []
        while proposals := searcher.ask(7):
            asked += [proposal.schedule for proposal in proposals]
            for proposal in reversed(proposals):
                searcher.tell(bench.run(proposal.schedule))
        assert searcher.finished
        assert len(asked) == len(set(asked))


def test_a_wrong_declaration_is_caught_by_the_audit_and_the_truth_is_found_then() -> None:
    bench = late(SECONDS[2]).bench(honest=False)
    truth = bench.minimum(CONTRACT, BUDGET)
    searcher = exact(bench.problem(CONTRACT, BUDGET), monotone=True)
    drive(searcher, bench.run)
    claimed = searcher.progress

    for _ in range(20):
        for proposal in searcher.audit(16):
            searcher.tell(bench.run(proposal.schedule))
        if searcher.progress.contradictions:
            break
    drive(searcher, bench.run)

    assert truth is not None
    assert (claimed.level, claimed.lower_bound > BUDGET, claimed.contradictions) == ("C3", True, 0)
    assert searcher.progress.contradictions == 1
    assert searcher.progress.level == "C2"
    assert searcher.progress.lower_bound == truth
    assert "monotone" not in searcher.progress.pruned


def test_an_honest_declaration_survives_the_audit() -> None:
    bench = late(SECONDS[2]).bench()
    searcher = exact(bench.problem(CONTRACT, BUDGET), monotone=True)
    drive(searcher, bench.run)

    for proposal in searcher.audit(40):
        searcher.tell(bench.run(proposal.schedule))

    progress = searcher.progress
    assert searcher.finished
    assert progress.contradictions == 0
    assert progress.pruned["monotone"] > 0 < progress.pruned["R3"]
    assert progress.audited_of["monotone"] > 0 < progress.audited_of["R3"]
    assert progress.audited >= sum(progress.audited_of.values())


def test_a_violation_at_a_weaker_level_than_what_passes_is_a_contradiction_whoever_told_it() -> None:
    bench = late(SECONDS[2]).bench(honest=False)
    searcher = exact(bench.problem(CONTRACT, BUDGET), monotone=True)
    drive(searcher, bench.run)
    (weaker,) = bench.minimal(CONTRACT, 1.4)

    searcher.tell(bench.run(weaker))

    assert searcher.progress.contradictions == 1
    assert searcher.progress.lower_bound <= weaker.declared_cost(bench.space.model)


def test_a_setting_that_is_no_truth_value_is_refused() -> None:
    with pytest.raises(UsageError, match="monotone is 'yes'; it must be true or false"):
        check_settings("exact", exact, {"monotone": "yes"})
    with pytest.raises(UsageError, match="r3 is 1; it must be true or false"):
        check_settings("anytime", anytime, {"r3": 1})


def test_with_a_budget_of_nothing_only_the_run_without_injections_is_made() -> None:
    bench = late(SECONDS[2]).bench()
    searcher = exact(bench.problem(CONTRACT, 0.0), monotone=True)

    asked = [proposal.schedule for proposal in searcher.ask(5)]

    assert asked == [EMPTY]


def test_only_what_is_dearer_than_the_budget_is_asked_as_a_probe() -> None:
    bench = late(SECONDS[3]).bench()
    searcher = exact(bench.problem(CONTRACT, 1.4), monotone=True)
    dear: dict[bool, set[Purpose]] = {True: set(), False: set()}

    while proposals := searcher.ask(1):
        for proposal in proposals:
            dear[proposal.schedule.declared_cost(bench.space.model) > 1.4 + 1e-9].add(proposal.purpose)
            searcher.tell(bench.run(proposal.schedule))

    assert dear == {True: {Purpose.PROBE}, False: {Purpose.CERTIFY}}


def test_once_the_declaration_is_given_up_no_interval_is_cut() -> None:
    bench, made = late(SECONDS[2]).bench(honest=False), list[Problem]()

    def make(problem: Problem, _: object) -> SearchOfIntervals:
        made.append(problem)
        return SearchOfIntervals(problem)

    searcher = BisectingSearcher(bench.problem(CONTRACT, BUDGET), {}, make)
    drive(searcher, bench.run)
    (weaker,) = bench.minimal(CONTRACT, 1.4)
    searcher.tell(bench.run(weaker))
    count = len(made)
    drive(searcher, bench.run)

    assert searcher.progress.contradictions == 1
    assert len(made) == count
    assert made[-1].space is bench.space


def test_an_audit_asks_for_no_more_than_it_is_allowed_to_compare() -> None:
    bench = late(SECONDS[2]).bench()
    searcher = exact(bench.problem(CONTRACT, BUDGET), monotone=True)
    assert isinstance(searcher, BisectingSearcher)
    drive(searcher, bench.run)

    compared = [one for one in searcher.audit(16) if one.purpose is Purpose.AUDIT]

    assert 0 < len(searcher._audited) <= len(compared) <= 16


@pytest.mark.parametrize(("seed", "runs"), [(20, 18), (54, 12), (164, 12)])
def test_what_passes_at_stronger_levels_is_not_run_where_nothing_cheaper_lies_behind_it(seed: int, runs: int) -> None:
    case = random_thresholds(seed)
    bench = case.bench()

    assert drive(exact(bench.problem(CONTRACT, budget_of(case)), monotone=True), bench.run) == runs


def test_what_was_only_inferred_to_pass_may_still_be_told() -> None:
    case = random_thresholds(20)
    bench, budget = case.bench(), budget_of(case)
    plain, corrected = (exact(bench.problem(CONTRACT, budget), monotone=True) for _ in range(2))
    assert isinstance(corrected, BisectingSearcher)
    drive(plain, bench.run)

    told = 0
    while proposals := corrected.ask(1):
        corrected.tell(bench.run(proposals[0].schedule))
        for schedule in sorted(corrected._stand_ins, key=str)[:1]:
            corrected.tell(bench.run(schedule))
            told += 1

    assert told > 0
    assert corrected.progress.lower_bound == plain.progress.lower_bound
    assert corrected.progress.contradictions == 0


def test_only_what_was_run_counts_as_audited() -> None:
    bench = late(SECONDS[2]).bench()
    searcher = exact(bench.problem(CONTRACT, BUDGET), monotone=True)
    assert isinstance(searcher, BisectingSearcher)
    drive(searcher, bench.run)
    searcher.audit(40)
    sample, another = list(searcher._audited)[:2]

    for count, schedule in enumerate((sample, another), 1):
        searcher.tell(bench.run(schedule))
        assert searcher.progress.audited_of["monotone"] == count


def test_what_was_audited_still_counts_when_the_declaration_is_given_up() -> None:
    bench = late(SECONDS[2]).bench(honest=False)
    searcher = exact(bench.problem(CONTRACT, BUDGET), monotone=True)
    assert isinstance(searcher, BisectingSearcher)
    drive(searcher, bench.run)
    for proposal in searcher.audit(40):
        if proposal.schedule not in searcher._audited:
            searcher.tell(bench.run(proposal.schedule))
    before = searcher.progress

    searcher.tell(bench.run(*bench.minimal(CONTRACT, 1.4)))

    assert (before.contradictions, searcher.progress.contradictions) == (0, 1)
    assert searcher.progress.audited_of["R3"] == before.audited_of["R3"] > 0


def test_an_audit_runs_no_weaker_level_that_is_dearer_than_the_budget() -> None:
    bench = late(SECONDS[3]).bench()
    searcher = exact(bench.problem(CONTRACT, 1.2), monotone=True)
    assert isinstance(searcher, BisectingSearcher)
    drive(searcher, bench.run)

    asked = {proposal.schedule for proposal in searcher.audit(200)}

    audited = {weak: strong for weak, strong in searcher._audited.items() if weak in asked}
    assert any(strong.declared_cost(bench.space.model) > 1.2 for strong in audited.values())
    assert all(weak.declared_cost(bench.space.model) <= 1.2 + 1e-9 for weak in audited)
    assert audited.keys().isdisjoint(bench.executed)


def test_where_nothing_is_proved_the_level_says_so_whatever_is_pruned() -> None:
    bench = late(SECONDS[1]).bench()
    searcher = exact(bench.problem(CONTRACT, BUDGET), monotone=True)

    searcher.tell(bench.run(parse("service:s0[1] service.delay(seconds=120)")))

    assert searcher.progress.pruned["monotone"] > 0
    assert (searcher.progress.lower_bound, searcher.progress.level) == (0.0, "C0")


def test_where_the_search_of_intervals_knows_no_causes_all_that_landed_matters() -> None:
    bench = late(SECONDS[1]).bench()
    searcher = exact(bench.problem(CONTRACT, BUDGET), monotone=True)
    assert isinstance(searcher, BisectingSearcher)
    run = bench.run(parse("service:s0[1] service.delay(seconds=5); service:s9[1] service.delay(seconds=5)"))

    assert searcher.core(run) == run.effective == parse("service:s0[1] service.delay(seconds=5)")


def test_it_knows_that_a_schedule_holds_only_where_runs_have_shown_it() -> None:
    bench = late(SECONDS[1]).bench()
    searcher = BisectingSearcher(bench.problem(CONTRACT, BUDGET), {}, lambda problem, _: SearchOfIntervals(problem))
    shown = parse("service:s1[1] service.delay(seconds=5); service:s2[1] service.delay(seconds=120)")
    searcher.tell(bench.run(EMPTY))

    assert not searcher.known_to_hold(shown)
    drive(searcher, bench.run)
    assert shown not in bench.executed
    assert searcher.known_to_hold(shown)

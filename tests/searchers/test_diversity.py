"""The diversity searcher keeps the best schedule of each kind, and finds more weaknesses than one."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import pytest

from chaosagent.errors import UsageError
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.faults.space import Space
from chaosagent.searchers.diversity import Archive, DiversitySearcher
from chaosagent.searchers.random import RandomSearcher
from chaosagent.seeds import derive
from chaosagent.study.searcher import Problem, Searcher
from chaosagent.study.searcher_settings import check_settings
from chaosagent.study.shrinking.minimal_sets import MinimalSets
from chaosagent.study.shrinking.minimise import minimise, violates
from chaosagent.testing.bench import Bench
from chaosagent.testing.needles import FinalNeedle
from chaosagent.testing.searchers import BUDGET, bench
from chaosagent.trace.trace import ContractVerdict
from chaosagent.vocabulary import Ending, Verdict
from tests.lab.targets.programs import Pay, Program, Read, Together, target_of

ONE, OTHER = parse("service:crm[1] service.timeout"), parse("service:crm[1] service.delay(seconds=0.5)")
ELSEWHERE = parse("service:stock[1] service.timeout")
NEEDLE = "final-needle"
PROBLEM = Problem("kept", 0, Space(model=CostModel(c_mag=0.0)), 4.0, 0)


def told(landed: Schedule, margin: float, ending: Ending = Ending.FINISHED) -> Evaluation:
    verdict = Verdict.VIOLATED if margin < 0.0 else Verdict.HOLDS
    return Evaluation(landed, effective=landed, ending=ending, verdicts=(ContractVerdict("kept", verdict, margin),))


# ---------------------------------------------------------------------- the archive


def test_the_best_of_a_kind_stays() -> None:
    archive = Archive(PROBLEM, 4)

    taken = [archive.put(told(ONE, margin)) for margin in (0.5, 0.7, 0.2, 0.2)]

    assert taken == [True, False, True, False]
    assert [elite.scalar for elite in archive] == [0.2]


def test_without_a_budget_all_costs_are_of_the_last_part() -> None:
    archive = Archive(replace(PROBLEM, budget=0.0), 4)

    assert archive.put(told(ONE, 0.5))
    assert [elite.cell.cost_level for elite in archive] == [3]


def test_other_faults_endings_costs_and_violations_are_other_kinds() -> None:
    archive = Archive(PROBLEM, 4)
    two = parse(f"{ONE}; service:crm[2] service.timeout")
    runs = [told(ONE, 0.5), told(OTHER, 0.5), told(ELSEWHERE, 0.5), told(two, 0.5), told(ONE, 0.5, Ending.CRASHED)]

    taken = [archive.put(run) for run in (*runs, told(ONE, -1.0))]

    assert all(taken)
    assert len(archive) == 6


def test_without_levels_of_cost_a_dearer_schedule_of_the_same_kind_competes() -> None:
    archive = Archive(PROBLEM, 1)
    two = parse(f"{ONE}; service:crm[2] service.timeout")

    taken = [archive.put(told(one, 0.5)) for one in (ONE, two)]

    assert taken == [True, False]


def test_where_nothing_landed_there_is_no_kind() -> None:
    assert not Archive(PROBLEM, 4).put(told(EMPTY, 0.5))


def test_what_breaks_the_contract_is_kept_and_not_bred_from() -> None:
    archive = Archive(PROBLEM, 4)
    rng = derive(0, "parents")
    archive.put(told(ONE, -1.0))
    assert archive.parent(rng) == EMPTY

    archive.put(told(ELSEWHERE, 0.9))

    assert {archive.parent(rng) for _ in range(20)} == {ELSEWHERE}
    assert len(archive) == 2


def test_the_nearer_to_a_violation_the_likelier_a_parent() -> None:
    archive = Archive(PROBLEM, 4)
    archive.put(told(ONE, 0.1))
    archive.put(told(ELSEWHERE, 0.9))
    rng = derive(0, "parents")

    parents = [archive.parent(rng) for _ in range(400)]

    assert 260 < parents.count(ONE) < 340  # three quarters


# ---------------------------------------------------------------------- the search


@functools.cache
def place() -> Bench:
    """Return a place with five minimal counterexamples, each of two faults."""
    program = Program(
        (Together(((Read(0, "x", "a", 1),), (Read(1, "yy", "b"),))), Pay("a", "b", 1)), (0.0, 1.0), counting=True
    )
    return Bench(target_of(program), (FinalNeedle(share=4, number=2),), bench().space)


def minimal_found(searcher: Searcher, trials: int) -> MinimalSets:
    """Return the minimal counterexamples after so many executions, those of shrinking among them."""
    found = MinimalSets(place().space.model)
    executed: set[Schedule] = set()

    def execute(schedule: Schedule) -> Evaluation:
        executed.add(schedule)
        evaluation = place().run(schedule)
        searcher.tell(evaluation)
        return evaluation

    while len(executed) < trials and (proposals := searcher.ask(1)):
        evaluation = execute(proposals[0].schedule)
        if violates(evaluation, NEEDLE) and not found.held_by(evaluation.effective):
            found.add(minimise(evaluation, NEEDLE, place().space, execute).effective)
    return found


@pytest.mark.slow
def test_it_finds_all_minimal_counterexamples_of_a_small_space() -> None:
    problem = place().problem(NEEDLE, BUDGET, all_minimal=True)
    truth = set(place().minimal(NEEDLE, BUDGET))

    found = set(minimal_found(DiversitySearcher(problem), 1_000))

    assert len(truth) == 5
    assert found == truth


@pytest.mark.slow
def test_its_archive_holds_more_kinds_than_random_draws_bring() -> None:
    problem = bench().problem("rare-needle", BUDGET)
    kinds = []
    for searcher in (DiversitySearcher(problem, uniform=0.0), RandomSearcher(problem)):
        archive = Archive(problem, 8)
        for _ in range(60):
            for proposal in searcher.ask(1):
                evaluation = bench().run(proposal.schedule)
                searcher.tell(evaluation)
                archive.put(evaluation)
        kinds.append(len(archive))

    assert kinds[0] > 0.8 * kinds[1]


def test_it_proposes_nothing_that_holds_a_known_counterexample() -> None:
    searcher = DiversitySearcher(place().problem(NEEDLE, BUDGET, all_minimal=True))
    known = MinimalSets(place().space.model)

    for _ in range(80):
        for proposal in searcher.ask(1):
            assert not known.held_by(proposal.schedule)
            evaluation = place().run(proposal.schedule)
            searcher.tell(evaluation)
            if violates(evaluation, NEEDLE):
                known.add(evaluation.effective)

    assert len(known) > 1


def test_a_run_that_failed_is_no_elite() -> None:
    searcher = DiversitySearcher(bench().problem("rare-needle", BUDGET))
    searcher.tell(bench().run(EMPTY))
    (proposal,) = searcher.ask(1)
    failed = Evaluation(proposal.schedule)

    searcher.tell(replace(failed, effective=EMPTY))

    assert len(searcher.archive) == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cost_levels": 0}, r"cost_levels is 0; it must be a whole number from 1 to 1000\."),
        ({"uniform": 1.5}, r"uniform is 1\.5; it must be a number from 0 to 1\."),
        ({"crossover": "often"}, r"crossover is 'often'; it must be a number from 0 to 1\."),
        ({"injections_max": 0}, r"injections_max is 0; it must be a whole number from 1 to \d+\."),
    ],
)
def test_a_bad_setting_is_refused_with_what_is_allowed(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_settings("diversity", DiversitySearcher, settings)

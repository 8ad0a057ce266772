"""Searches for several contracts of one task and seed learn from each other's runs, and in an order of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chaosagent.contracts.catalogue import default_contracts, parse_contract
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Job, failed_evaluation
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, Schedule, parse, schedule
from chaosagent.faults.space import Space
from chaosagent.limits import StudyLimits
from chaosagent.searchers.anytime import AnytimeSearcher
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.study.searcher import SEARCHERS, Problem, Proposal, Purpose, SearchProgress
from chaosagent.study.shrinking.minimise import violates
from chaosagent.study.sink import Sink
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial
from chaosagent.testing.bench import Bench
from tests.lab.targets.programs import Pay, Program, Read, target_of
from tests.lab.targets.random_cases import BLINDNESS, BREAK, ERROR, needles

NAME = "test/listener"
SYSTEM = target_of(Program((Read(0, "x", "a", 1), Pay("a", "a", 1), Pay("a", "b", 1))))
CONTRACTS = default_contracts()


def plan_of(searcher: str = NAME, **more: Any) -> Plan:
    return Plan(
        target=SYSTEM,
        target_reference=SYSTEM.name,
        config=SYSTEM.config("default"),
        tasks=tuple(SYSTEM.tasks.values()),
        seeds=(0,),
        contracts=more.pop("contracts", CONTRACTS),
        space=Space(more.pop("choices", (BLINDNESS, BREAK, ERROR))),
        budget=more.pop("budget", 2.4),
        searcher=searcher,
        audit=0,
        **more,
    )


def run(plan: Plan, *sinks: Sink) -> StudyResult:
    return Study(plan, InlineExecutor(plan.workbench()), sinks=sinks).run()


class Asked(Sink):
    """Keeps why runs were asked for, by contract."""

    def __init__(self) -> None:
        self.purposes: dict[str, list[Purpose]] = {}

    def trial(self, at: TaskSeed, contract: str, trial: Trial) -> None:
        del at
        self.purposes.setdefault(contract, []).append(trial.purpose)


class Silent:
    """Asks for some schedules, and keeps what it was told."""

    wanted: dict[str, list[Schedule]]
    made: dict[str, Any]

    def __init__(self, problem: Problem) -> None:
        self._left = list(self.wanted.get(problem.contract, [EMPTY] * 8))
        self.told: list[Evaluation] = []
        self.heard: list[Evaluation] = []
        self.made[problem.contract] = self

    def ask(self, count: int) -> list[Proposal]:
        asked, self._left = self._left[:count], self._left[count:]
        return [Proposal(schedule) for schedule in asked]

    def tell(self, evaluation: Evaluation) -> None:
        self.told.append(evaluation)

    @property
    def finished(self) -> bool:
        return not self._left

    @property
    def progress(self) -> SearchProgress:
        return SearchProgress()

    def audit(self, count: int) -> list[Proposal]:
        del count
        return []


class Listening(Silent):
    """Learns from others, too."""

    def observe_other(self, evaluation: Evaluation) -> None:
        self.heard.append(evaluation)


Plug = Callable[[type[Silent], dict[str, list[Schedule]]], dict[str, Any]]


@pytest.fixture
def plugged() -> Iterator[Plug]:
    """Return what makes a searcher known to studies for one test; it returns those that were made, by contract."""

    def plug(kind: type[Silent], wanted: dict[str, list[Schedule]]) -> dict[str, Any]:
        kind.wanted, kind.made = wanted, {}
        SEARCHERS._load()[NAME] = kind
        return kind.made

    yield plug
    SEARCHERS._load().pop(NAME, None)


@functools.cache
def broken_by() -> Evaluation:
    """Return a run that breaks `at-most-once` and holds `no-crash`."""
    plan = plan_of("exact", contracts=(parse_contract("at-most-once"),))
    schedule = run(plan).searches[0].counterexamples[0].schedule
    return plan.workbench().evaluate(Job("only", 0, schedule))


def test_what_a_run_of_one_search_breaks_is_found_in_the_others(
    plugged: Plug,
) -> None:
    breaking = broken_by()
    made = plugged(Listening, {"no-crash": [EMPTY, breaking.schedule]})
    result = run(plan_of(lookahead=1))
    found = {search.contract: search for search in result.searches}

    assert violates(breaking, "at-most-once")
    assert breaking.schedule in [heard.schedule for heard in made["at-most-once"].heard]
    assert found["at-most-once"].counterexamples
    assert not found["no-crash"].counterexamples
    assert found["at-most-once"].certificate.executed > found["at-most-once"].trials


def test_what_is_heard_is_shrunk_in_the_search_that_hears_it(plugged: Plug) -> None:
    dear = schedule([*broken_by().schedule, *parse("service:s0[1]@agent service.lost_response(when=after)")])
    asked = Asked()
    plugged(Listening, {"no-crash": [EMPTY, dear]})
    result = run(plan_of(lookahead=1, budget=9.0), asked)
    (search,) = [search for search in result.searches if search.contract == "at-most-once"]

    assert Purpose.SHRINK in asked.purposes["at-most-once"]
    assert search.counterexamples[0].schedule == broken_by().schedule


def test_a_searcher_that_cannot_hear_is_told_what_it_asked_for_and_nothing_else(
    plugged: Plug,
) -> None:
    breaking = broken_by()
    made = plugged(Silent, {"no-crash": [EMPTY, breaking.schedule]})
    result = run(plan_of(lookahead=1))

    assert {told.schedule for told in made["at-most-once"].told} == {EMPTY}
    assert not any(search.counterexamples for search in result.searches)


def test_nothing_is_heard_twice_nor_what_was_told_or_is_in_flight(
    plugged: Plug,
) -> None:
    one = broken_by().schedule
    made = plugged(
        Listening,
        {
            "no-crash": [EMPTY, one, EMPTY, one, EMPTY, one],
            "at-most-once": [EMPTY, EMPTY, EMPTY, one, EMPTY, EMPTY],
            "no-leak": [EMPTY, one, EMPTY, EMPTY, EMPTY, EMPTY],
        },
    )
    run(plan_of(lookahead=2))

    for contract, searcher in made.items():
        schedules = [heard.schedule for heard in searcher.heard]
        assert EMPTY not in schedules, contract
        assert len(schedules) == len(set(schedules)), contract
    assert not made["no-leak"].heard
    assert [heard.schedule for heard in made["termination"].heard] == [one]


def test_a_run_that_could_not_be_made_bounds_only_the_search_that_asked_for_it(
    plugged: Plug,
) -> None:
    one = broken_by().schedule
    made = plugged(Listening, {"no-crash": [EMPTY, one]})
    plan = plan_of(lookahead=1, limits=StudyLimits(error_share_max=1.0))

    class Failing(InlineExecutor):
        def next_finished(self) -> Any:
            finished = super().next_finished()
            if finished.evaluation.schedule == one:
                return finished._replace(evaluation=failed_evaluation(one, "the worker process was killed"))
            return finished

    result = Study(plan, Failing(plan.workbench())).run()

    assert not any(searcher.heard for searcher in made.values())
    assert {search.contract for search in result.searches if search.certificate.errors} == {"no-crash"}


@pytest.mark.slow
@pytest.mark.parametrize("lookahead", [1, 16])
def test_anytime_proves_for_several_contracts_what_exact_does(lookahead: int) -> None:
    contracts = (*CONTRACTS, *needles(2))
    apart = run(plan_of("exact", contracts=contracts))
    together = run(plan_of("anytime", contracts=contracts, lookahead=lookahead))

    def proved(result: StudyResult) -> list[tuple[str, float | None, bool, bool]]:
        told = [(search.contract, search.certificate) for search in result.searches]
        return [(name, one.cost, one.certified, one.safe) for name, one in told]

    assert proved(together) == proved(apart)


def test_anytime_explores_less_the_more_others_have() -> None:
    bench = Bench(SYSTEM, CONTRACTS, Space((BLINDNESS, BREAK, ERROR)))
    runs = [bench.run(EMPTY)]
    problem = bench.problem("no-crash", 4.0)
    scout = AnytimeSearcher(problem)
    scout.tell(runs[0])
    while len(runs) < 30:
        for proposal in scout.ask(4):
            runs.append(bench.run(proposal.schedule))
            scout.tell(runs[-1])

    def explored(hears: Callable[[int], bool]) -> int:
        searcher = AnytimeSearcher(problem)
        for number, one in enumerate(runs):
            (searcher.observe_other if hears(number) else searcher.tell)(one)
        return sum(proposal.purpose is not Purpose.CERTIFY for proposal in searcher.ask(60))

    assert explored(lambda _: False) > 2 * explored(lambda number: number % 2 == 1)


@pytest.mark.parametrize("contract", ["at-most-once", "no-crash"])
def test_where_the_budget_allows_one_fault_anytime_asks_for_what_exact_does(contract: str) -> None:
    contracts = (parse_contract(contract),)
    one, other = (run(plan_of(name, contracts=contracts, budget=1.2)) for name in ("anytime", "exact"))

    assert one.digest == other.digest

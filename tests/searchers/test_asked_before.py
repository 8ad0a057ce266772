"""A searcher that resumes from what it asked before goes on like one that found it out again."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.faults.schedule import EMPTY, Schedule, schedule
from chaosagent.faults.space import Space
from chaosagent.searchers.anytime import AnytimeSearcher, anytime
from chaosagent.study.searcher import Proposal, Purpose, RecallsTrials
from chaosagent.targets.loading import load_target
from chaosagent.testing.bench import Bench
from tests.lab.soundness.random_programs import random_case
from tests.searchers.test_likely import CONTRACTS, bench_of
from tests.thorough import cases, part_of

TRIALS_MAX = 160
BEHIND = 40


class Twins:
    """Two searchers for one problem, given the same runs.

    Attributes:
        first: Finds out by itself what to ask.
        second: Is given what the first one asked, as far as that was stored.
    """

    def __init__(self, bench: Bench, contract: str, budget: float, *, all_minimal: bool = False) -> None:
        self._bench = bench
        self.first, self.second = (
            AnytimeSearcher(bench.problem(contract, budget, all_minimal=all_minimal)) for _ in range(2)
        )

    def tell(self, told: Schedule) -> None:
        for one in (self.first, self.second):
            one.tell(self._bench.run(told))

    def observe_other(self, told: Schedule) -> None:
        for one in (self.first, self.second):
            one.observe_other(self._bench.run(told))


@cases(90)
@given(
    seed=st.integers(0, 2**32),
    stored=st.integers(0, TRIALS_MAX),
    contract=st.sampled_from(CONTRACTS),
    all_minimal=st.booleans(),
)
def test_both_ask_and_report_the_same_behind_it(seed: int, stored: int, contract: str, all_minimal: bool) -> None:
    case, rng = random_case(seed), random.Random(seed)
    twins = Twins(bench_of(case, contract), contract, case.budget, all_minimal=all_minimal)
    first, second = twins.first, twins.second

    for number in range(TRIALS_MAX):
        asked = first.ask(1)
        left = stored - number - 1
        assert asked == (second.ask_as_before(asked[0], left) if asked and left >= 0 else second.ask(1))
        assert first.finished == second.finished
        if not asked:
            break
        twins.tell(asked[0].schedule)
        if asked[0].schedule != EMPTY and rng.random() < 0.3:  # of another search, or of a shrinker
            part = schedule(one for one in asked[0].schedule if rng.random() < 0.5)
            twins.observe_other(part) if rng.random() < 0.5 else twins.tell(part)
        assert first.progress == second.progress


@pytest.mark.slow
def test_both_plan_the_same_packs_behind_it() -> None:
    bench = Bench(load_target("triage"), default_contracts()[:1], Space())
    for stored in range(10, 150, 4)[: part_of(35)]:
        twins = Twins(bench, bench.contracts[0].id, 4.5)

        for number in range(stored + BEHIND):
            [asked] = twins.first.ask(1)
            left = stored - number - 1
            assert [asked] == (twins.second.ask_as_before(asked, left) if left >= 0 else twins.second.ask(1))
            twins.tell(asked.schedule)


def test_what_was_stored_of_another_search_is_not_asked() -> None:
    bench = bench_of(random_case(0), "objective")
    searcher = AnytimeSearcher(bench.problem("objective", 3.3))
    [nominal] = searcher.ask(1)
    searcher.tell(bench.run(nominal.schedule))

    [asked] = searcher.ask_as_before(Proposal(EMPTY, Purpose.CERTIFY), 5)

    assert asked.schedule != EMPTY
    assert searcher.ask_as_before(Proposal(EMPTY, Purpose.SHRINK), 5) != [Proposal(EMPTY, Purpose.SHRINK)]


@pytest.mark.parametrize("monotone", [False, True])
def test_anytime_recalls_trials_unless_it_searches_intervals(monotone: bool) -> None:
    problem = bench_of(random_case(0), "objective").problem("objective", 3.3)

    assert isinstance(anytime(problem, monotone=monotone), RecallsTrials) != monotone

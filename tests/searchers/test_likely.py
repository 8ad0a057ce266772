"""What searchers say that they will probably ask: it comes true mostly, and saying it changes nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.faults.schedule import Schedule
from chaosagent.faults.space import Space
from chaosagent.searchers.anytime import anytime
from chaosagent.searchers.exact import exact
from chaosagent.study.searcher import Proposal
from chaosagent.testing.bench import Bench
from tests.lab.soundness.programs import target_of
from tests.lab.soundness.random_programs import Case, random_case
from tests.thorough import cases

CONTRACTS = ("objective", "at-most-once")
MAKERS = (exact, anytime)
TRIALS_MAX = 120


def bench_of(case: Case, contract: str) -> Bench:
    return Bench(target_of(case.program), [parse_contract(contract)], Space(case.choices))


def asked_by(searcher: Any, bench: Bench, listened: Callable[[], int]) -> tuple[list[Proposal], set[Schedule]]:
    """Return what a searcher asks, in order, and what it had said to be likely.

    Args:
        searcher: Is asked one by one.
        bench: Runs what it asks.
        listened: Says to how many likely ones to listen, before each ask and before each tell.
    """
    asked: list[Proposal] = []
    likely: set[Schedule] = set()
    while not searcher.finished and len(asked) < TRIALS_MAX:
        likely.update(islice(searcher.likely(), listened()))
        proposals = searcher.ask(1)
        if not proposals:
            break
        likely.update(islice(searcher.likely(), listened()))
        asked += proposals
        searcher.tell(bench.run(proposals[0].schedule))
    return asked, likely


@cases(60)
@given(seed=st.integers(0, 2**32), make=st.sampled_from(MAKERS), contract=st.sampled_from(CONTRACTS))
def test_to_say_what_is_likely_changes_nothing_of_what_is_asked(seed: int, make: Any, contract: str) -> None:
    case = random_case(seed)
    bench = bench_of(case, contract)
    rng = random.Random(seed)

    silent, _ = asked_by(make(bench.problem(contract, case.budget)), bench, lambda: 0)
    listening, _ = asked_by(make(bench.problem(contract, case.budget)), bench, lambda: rng.choice([0, 1, 12]))

    assert listening == silent


@pytest.mark.parametrize(("make", "share"), [(exact, 0.8), (anytime, 0.6)])
def test_most_of_what_is_asked_was_said_to_be_likely(make: Any, share: float) -> None:
    hits = total = 0
    for seed in range(12):
        case = random_case(seed)
        bench = bench_of(case, "objective")
        asked, likely = asked_by(make(bench.problem("objective", case.budget)), bench, lambda: 16)
        total += len(asked)
        hits += sum(proposal.schedule in likely for proposal in asked)

    assert hits >= share * total

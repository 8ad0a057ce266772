"""The exact searcher is right: on small spaces it finds what exhaustive enumeration finds."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaosagent.contracts.catalogue import default_contracts, parse_contract
from chaosagent.errors import UsageError
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.evaluation import Evaluation, Fingerprinting
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.exact import ExactSearcher
from chaosagent.study.searcher import Problem
from chaosagent.testing.enumeration import drive, enumerate_minimum
from chaosagent.testing.programs import Pay, Program, Read, Together, programs, target_of

CONTRACTS = (*default_contracts(), parse_contract("objective"))
RULES = [dict(zip(("r1", "r2", "r3"), flags, strict=True)) for flags in itertools.product((True, False), repeat=3)]

BLINDNESS = Choices("service.field_corruption", {"kind": ("null",), "field": ("value",)}, interfaces=("service:s*",))
LOSS = Choices("service.timeout", {"when": ("before", "after"), "seconds": (10.0,)})
DELAY = Choices("service.delay", {"seconds": (3.0,)})
STALE = Choices("service.stale_response", {})
DUPLICATE = Choices("service.duplicate_delivery", {"which": ("first",)}, interfaces=("service:pay",))
ERROR = Choices("service.error_status", {"status": (503,), "retry_after": (0.0,), "when": ("before",)})


def runner(program: Program, fingerprinting: Fingerprinting) -> Callable[[Schedule], Evaluation]:
    target = target_of(program)
    experiment = Experiment(target, target.task("only"), target.config("default"), 0, CONTRACTS).with_nominal()
    known: dict[Schedule, Evaluation] = {}

    def run(schedule: Schedule) -> Evaluation:
        if schedule not in known:
            known[schedule] = execute(experiment, schedule, fingerprinting=fingerprinting).evaluation
        return known[schedule]

    return run


def problem(contract: str, space: Space, budget: float) -> Problem:
    monitor = [known.id for known in CONTRACTS].index(contract)
    return Problem(contract, monitor, space, budget, seed=0)


def minimum(
    searcher: ExactSearcher, contract: str, run: Callable[[Schedule], Evaluation], lookahead: int
) -> float | None:
    costs: list[float] = []

    def told(schedule: Schedule) -> Evaluation:
        evaluation = run(schedule)
        verdict = evaluation.verdict(contract)
        if verdict is not None and verdict.violation is not None:
            costs.append(evaluation.effective.declared_cost(Space().model))
        return evaluation

    drive(searcher, told, lookahead=lookahead)
    return min(costs, default=None)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    program=programs(),
    choices=st.lists(
        st.sampled_from([LOSS, DELAY, STALE, DUPLICATE, ERROR, BLINDNESS]), min_size=1, max_size=3, unique_by=repr
    ),
    contract=st.sampled_from(["at-most-once", "objective", "no-extra-effects", "promises-kept"]),
    rules=st.sampled_from(RULES),
    lookahead=st.sampled_from([1, 16]),
)
def test_exact_finds_the_minimum_of_exhaustive_enumeration_with_each_rule_on_and_off(
    program: Program, choices: list[Choices], contract: str, rules: dict[str, bool], lookahead: int
) -> None:
    space = Space(choices)
    depth = Fingerprinting.STATE_AND_HISTORY if space.reads_history else Fingerprinting.STATE
    run = runner(program, depth)
    budget = 2 * 1.2

    truth = enumerate_minimum(run, contract, space, budget)
    searcher = ExactSearcher(problem(contract, space, budget), **rules)
    found = minimum(searcher, contract, run, lookahead)

    assert found == truth.cost
    if found is None:
        assert searcher.standing.lower_bound > budget
    else:
        assert searcher.standing.lower_bound >= found

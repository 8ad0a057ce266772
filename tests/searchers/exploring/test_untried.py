"""Each fault is tried with few others until such a run has let it land, or several have not."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Hook, Injection, inject
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.faults.schedule import schedule as schedule_of
from chaosagent.faults.space import Choices, Space
from chaosagent.operators.service.delay import Delay
from chaosagent.searchers.exploring.covering import CoveringStream
from chaosagent.searchers.exploring.sites import call_of
from chaosagent.searchers.exploring.untried import FEW, SAMPLE, TRIES, UntriedFaults
from chaosagent.searchers.seen.points import Expander
from chaosagent.searchers.seen.states import States
from chaosagent.testing.bench import Bench
from chaosagent.testing.needles import FinalNeedle
from tests.lab.targets.programs import Pay, Program, Read, target_of

FAULTS = tuple(inject(Hook("service:crm", "", number, number), Delay()) for number in range(1, 7))
BUDGET = 2.3


def ran(asked: tuple[Injection, ...], landed: tuple[Injection, ...]) -> Evaluation:
    return Evaluation(schedule_of(asked), effective=schedule_of(landed))


def left(untried: UntriedFaults) -> set[Injection]:
    return set(untried.sample(random.Random(0)))


@pytest.fixture
def untried() -> UntriedFaults:
    made = UntriedFaults()
    for fault in FAULTS:
        made.add(fault)
    return made


def test_what_landed_with_few_others_was_tried(untried: UntriedFaults) -> None:
    untried.learn(ran(FAULTS[:FEW], FAULTS[:FEW]))

    assert left(untried) == set(FAULTS[FEW:])


def test_what_landed_with_many_others_was_not(untried: UntriedFaults) -> None:
    untried.learn(ran(FAULTS[: FEW + 1], FAULTS[: FEW + 1]))

    assert left(untried) == set(FAULTS)


def test_what_never_lands_is_given_up_after_some_tries(untried: UntriedFaults) -> None:
    for number in range(1, TRIES + 1):
        assert FAULTS[0] in left(untried)
        untried.learn(ran((FAULTS[0], FAULTS[number]), (FAULTS[number],)))

    assert FAULTS[0] not in left(untried)


def test_no_more_are_drawn_than_a_schedule_is_made_of() -> None:
    made = UntriedFaults()
    for number in range(1, 2 * SAMPLE):
        made.add(inject(Hook("service:crm", "", number, number), Delay()))

    drawn = made.sample(random.Random(0))

    assert len(set(drawn)) == len(drawn) == SAMPLE


@pytest.fixture(scope="module")
def bench() -> Bench:
    program = Program((Read(0, "a", "x"), Read(1, "b", "y", retries=1), Pay("x", retries=1)))
    space = Space((Choices("service.lost_response", {"when": ("before",)}),))
    return Bench(target_of(program), (FinalNeedle(share=10_000, id="rare"),), space)


@given(seed=st.integers(0, 999))
def test_schedules_of_few_faults_fit_the_budget_and_end_when_all_were_tried(bench: Bench, seed: int) -> None:
    problem, rng = bench.problem("rare", BUDGET), random.Random(seed)
    states = States(problem.monitor, bench.space.model, 0)
    stream = CoveringStream(problem, states, Expander(bench.space, problem.seed))
    told: set[Schedule] = set()
    asked: Schedule | None = EMPTY
    while asked is not None:
        evaluation = bench.run(asked)
        told.add(asked)
        states.take(evaluation)
        stream.learn(evaluation)
        asked = stream.propose_few(rng, told.__contains__)
        if asked is not None:
            calls = [(call_of(injection.place), injection.place.attempt) for injection in asked]
            assert len(set(calls)) == len(calls) <= FEW
            assert asked.declared_cost(bench.space.model) <= BUDGET

    alone = {injection for one in told if len(one) <= FEW for injection in bench.run(one).effective}
    assert len(alone) >= 3

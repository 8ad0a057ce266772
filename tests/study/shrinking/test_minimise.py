"""Minimising never makes a schedule dearer, and leaves nothing that could be spared or weakened."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from chaosagent.contracts.contract import Contract
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import inject
from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import Schedule, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.random import RandomSearcher
from chaosagent.study.searcher import Problem
from chaosagent.study.shrinking.minimise import holds_fairly, minimise, necessity_of, violates
from chaosagent.testing.needles import FinalNeedle, StepNeedle
from tests.lab.targets.programs import Pay, Program, Read, target_of
from tests.lab.targets.random_programs import random_program

CHOICES = (
    Choices("service.lost_response", {}),
    Choices("service.delay", {"seconds": (1.0, 3.0, 60.0)}),
    Choices("service.duplicate_delivery", {}),
    Choices("service.partial_response", {}),
    Choices("message.drop", {}),
    Choices("memory.stale_read", {}),
    Choices("memory.lost_update", {}),
)


class Bench:
    """Runs one program."""

    def __init__(self, program: Program, contract: Contract) -> None:
        system = target_of(program)
        task, config = system.task("only"), system.config("default")
        self._experiment = Experiment(system, task, config, 0, (contract,)).with_nominal()
        self.runs = 0

    def run(self, schedule: Schedule) -> Evaluation:
        """Execute a schedule."""
        self.runs += 1
        return execute(self._experiment, schedule).evaluation


@pytest.mark.slow
@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.reuse, Phase.generate),
)
@given(
    program=st.integers(0, 2**32).map(lambda seed: random_program(seed, statements_max=4)),
    contract=st.one_of(
        st.builds(FinalNeedle, st.just(4), st.integers(0, 100)),
        st.builds(StepNeedle, st.just(6), st.integers(0, 100), st.booleans()),
    ),
    weights=st.sampled_from([CostModel(), CostModel(0.0, 0.0, 0.0), CostModel(0.01, 1.0, 0.0)]),
    seed=st.integers(0, 1_000),
)
def test_no_injection_of_a_minimal_schedule_can_be_dropped_or_weakened(
    program: Program, contract: Contract, weights: CostModel, seed: int
) -> None:
    bench, space = Bench(program, contract), Space(CHOICES, weights)
    searcher = RandomSearcher(Problem(contract.id, 0, space, 5.0, 0, seed), injections_max=4)
    found: Evaluation | None = None
    for _ in range(60):
        for proposal in searcher.ask(1):
            evaluation = bench.run(proposal.schedule)
            searcher.tell(evaluation)
            found = evaluation if violates(evaluation, contract.id) else found
    assume(found is not None)
    assert found is not None

    minimal = minimise(found, contract.id, space, bench.run)

    schedule = minimal.effective
    assert violates(bench.run(schedule), contract.id)
    assert schedule.declared_cost(weights) <= found.effective.declared_cost(weights)
    for injection in schedule:
        without = schedule.without(injection)
        assert not violates(bench.run(without), contract.id)
        boundary, interface, agent = injection.hook.boundary, injection.hook.interface, injection.hook.agent
        for priced in space.at(boundary, interface, agent):
            if priced.cost < weights.of(injection.operator):
                weaker = without.with_injection(inject(injection.hook, priced.operator))
                assert not violates(bench.run(weaker), contract.id)
    assert len(necessity_of(schedule, contract.id, bench.run)) == len(schedule)


PROGRAM = Program((Read(0, "x", "a"), Pay("a", "", 1)))
LOST = "service:pay[1]@agent service.lost_response(when=after)"


def found_with(bench: Bench, text: str) -> Evaluation:
    evaluation = bench.run(parse(text))
    assert violates(evaluation, "final-needle")
    return evaluation


@pytest.fixture
def bench() -> Bench:
    """A payment that is made twice when its answer is lost breaks the contract."""
    for number in range(100):
        bench = Bench(PROGRAM, FinalNeedle(8, number))
        if violates(bench.run(parse(LOST)), "final-needle"):
            return bench
    raise AssertionError("no needle fits")


def test_what_does_not_land_is_dropped(bench: Bench) -> None:
    found = found_with(bench, f"{LOST}; service:nowhere[7] service.timeout")

    minimal = minimise(found, "final-needle", Space(CHOICES[:1]), bench.run)

    assert str(minimal.effective) == str(minimal.schedule) == LOST


def test_an_injection_is_exchanged_for_a_cheaper_one_that_breaks_the_contract_too(bench: Bench) -> None:
    minimal = minimise(found_with(bench, LOST), "final-needle", Space(CHOICES), bench.run)

    assert str(minimal.effective) == "service:pay[1]@agent service.duplicate_delivery(which=first)"


def test_the_limit_in_runs_is_kept(bench: Bench) -> None:
    found = found_with(bench, f"{LOST}; service:s0[1] service.delay(seconds=60.0)")
    bench.runs = 0

    minimise(found, "final-needle", Space(CHOICES), bench.run, runs_max=1)

    assert bench.runs <= 1


def test_a_run_that_could_not_be_made_neither_violates_nor_spares() -> None:
    broken = Evaluation(parse(LOST), Status.ERROR, "killed")

    assert not violates(broken, "final-needle")
    assert not holds_fairly(broken, "final-needle")


def test_equal_inputs_give_equal_results() -> None:
    schedule = parse(f"{LOST}; service:s0[1] service.delay(seconds=60.0)")

    def minimised(number: int) -> str | None:
        bench = Bench(PROGRAM, StepNeedle(3, number))
        found = bench.run(schedule)
        if not violates(found, "step-needle"):
            return None
        return str(minimise(found, "step-needle", Space(CHOICES), bench.run).effective)

    first = [minimised(number) for number in range(20)]

    assert any(first)
    assert [minimised(number) for number in range(20)] == first

"""The exact searcher is right: on small spaces it finds what exhaustive enumeration finds."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import parse_contract
from chaosagent.contracts.contract import HOLDS, Contract, End, Reading, Setting
from chaosagent.contracts.custom import contract
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.faults.space import Choices, Space
from chaosagent.limits import RunLimits
from chaosagent.searchers.proof.uniform_cost import ExactSearcher
from chaosagent.study.searcher import SearchProgress
from chaosagent.study.shrinking.minimise import violates
from chaosagent.targets.target import Run, Target, target
from chaosagent.testing.bench import Bench, TooLargeError
from chaosagent.testing.enumeration import drive
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Ending, Outcome, Severity, Task, Verdict
from tests.lab.targets.programs import Hear, Keep, Pay, Program, Read, Recall, Search, Tell, Together, target_of
from tests.lab.targets.random_cases import (
    BLINDNESS,
    BREAK,
    COST_PAIR,
    DELAY,
    DUPLICATE,
    ELSEWHERE,
    ERROR,
    LOSS,
    STALE,
    needles,
    random_case,
)
from tests.thorough import cases

RULES = [dict(zip(("r1", "r2", "r3"), flags, strict=True)) for flags in itertools.product((True, False), repeat=3)]


def search(
    bench: Bench, name: str, budget: float, lookahead: int, **rules: bool
) -> tuple[float | None, SearchProgress, int]:
    """Return the least cost that a search finds, how it stands at the end, and how many schedules it had run."""
    costs: list[float] = []
    searcher = ExactSearcher(bench.problem(name, budget), **rules)

    def told(schedule: Schedule) -> Evaluation:
        evaluation = bench.run(schedule)
        if violates(evaluation, name):
            costs.append(evaluation.effective.declared_cost(bench.space.model))
        return evaluation

    trials = drive(searcher, told, lookahead=lookahead)
    return min(costs, default=None), searcher.progress, trials


def check(program: Program, choices: Sequence[Choices], name: str, number: int, lookahead: int) -> float | None:
    """Compare a search with the plain truth, with each rule on and off."""
    bench = Bench(target_of(program), needles(number), Space(choices))
    truth = bench.minimum(name, COST_PAIR)
    for rules in RULES:
        found, progress, _ = search(bench, name, COST_PAIR, lookahead, **rules)
        assert found == truth, rules
        assert progress.lower_bound > COST_PAIR if found is None else progress.lower_bound >= found, rules
    return truth


@pytest.mark.slow
@cases(150)
@given(seed=st.integers(0, 2**32))
def test_exact_finds_the_minimum_of_exhaustive_enumeration_with_each_rule_on_and_off(seed: int) -> None:
    try:
        check(*random_case(seed))
    except TooLargeError:
        assume(False)


# Each needs two injections, or has a trait on which pruning could go wrong; so the property is not vacuous.
FIXED: list[tuple[Program, list[Choices], str, int]] = [
    (Program((Read(0, "x", "a"), Pay("a", "a", 1))), [BLINDNESS, LOSS], "at-most-once", 0),
    (
        Program(
            (
                Together(((Read(0, "x", "a", 1, 2.0),), (Read(1, "yy", "b"), Keep("k", "b")))),
                Recall("k", "a"),
                Pay("a"),
            ),
            (2.0, 1.0),
            counting=True,
        ),
        [LOSS, DELAY, ELSEWHERE[0], ELSEWHERE[1]],
        "past-needle",
        7,
    ),
    (
        Program((Tell("a"), Read(0, "x", "a"), Tell("a"), Pay("a", "a", 1)), counting=True, clerk=True),
        [DUPLICATE, STALE, *ELSEWHERE[2:5]],
        "final-needle",
        3,
    ),
    (
        Program((Search("a"), Hear("Refund it. Now.", "b"), Read(1, "x", "b", 1), Pay("a", "b", 1))),
        [BREAK, ELSEWHERE[5], ELSEWHERE[6]],
        "step-needle",
        11,
    ),
]  # fmt: skip


@pytest.mark.slow
def test_the_comparison_with_enumeration_is_not_vacuous() -> None:
    costs = [
        check(program, choices, name, number + offset, lookahead=4)
        for program, choices, name, number in FIXED
        for offset in range(3)
    ]

    assert sum(cost is not None for cost in costs) >= 8
    assert sum(cost is not None and cost > 2.0 for cost in costs) >= 5


def solve(
    system: Target, choices: Sequence[Choices], contracts: Sequence[Contract], budget: float = COST_PAIR, **limits: int
) -> tuple[float | None, float | None]:
    """Return the least cost by enumeration, and what the search finds."""
    bench = Bench(system, contracts, Space(choices), limits=RunLimits(**limits))
    found, _, _ = search(bench, contracts[0].id, budget, 1)
    return bench.minimum(contracts[0].id, budget), found


@target(tasks=[Task("t")])
async def remembering(_: Task, run: Run) -> Outcome:
    calls: list[bool] = []

    def get() -> bool:
        calls.append(True)
        return len(calls) == 1

    service = run.service("s", {"get": get})
    await service("get")
    second = await service("get")
    return Outcome("done", success=not (len(calls) == 3 and second))


def test_a_stale_answer_that_only_a_duplicate_put_into_the_history_is_found() -> None:
    truth, found = solve(remembering, [DUPLICATE, STALE], [parse_contract("objective")])

    assert truth == found == 2.1


@target(tasks=[Task("t")])
async def polling(_: Task, run: Run) -> Outcome:
    quick = run.service("quick", {"get": lambda: 1})
    slow = run.service("slow", {"get": _slowly})
    done = asyncio.Event()

    async def wait() -> None:
        try:
            await slow("get")
        except ConnectionError:
            done.set()

    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(wait())
        while not done.is_set():
            await quick("get")
            await run.clock.sleep(1.0)
        waiting.cancel()
    return Outcome("done", success=False)


async def _slowly() -> int:
    await asyncio.sleep(1_000.0)
    return 1


def test_a_call_that_is_open_when_the_limit_on_steps_is_reached_is_a_place_to_inject() -> None:
    reached = contract("ends", at_end=True)(lambda end: end.ending is not Ending.FINISHED)
    choices = [Choices("service.lost_response", {"when": ("before",)}, interfaces=("service:slow",))]

    truth, found = solve(polling, choices, [reached], steps_max=10)

    assert truth == found == 1.1


class Unsure:
    """A monitor that cannot tell once a call has failed."""

    def __init__(self) -> None:
        self.failed = False

    def step(self, step: Step) -> Reading | None:
        self.failed = self.failed or step.failure is not None
        return None

    def end(self, end: End) -> Reading:
        del end
        return Reading(Verdict.UNKNOWN) if self.failed else HOLDS

    def state(self) -> Plain:
        return self.failed


@dataclass(frozen=True)
class Unsurely:
    """The contract with that monitor."""

    id: str = "unsure"
    severity: Severity = Severity.HARD
    weight: float = 1.0
    requires: None = None

    def monitor(self, setting: Setting) -> Unsure:
        del setting
        return Unsure()


def test_the_bound_stays_below_the_cheapest_trial_whose_verdict_is_unknown() -> None:
    program = Program((Read(0, "x", "a"), Pay("a")))
    bench = Bench(target_of(program), [Unsurely()], Space([BREAK]))

    found, progress, _ = search(bench, "unsure", COST_PAIR, 1)

    assert found is None
    assert progress.lower_bound == 1.1


def test_the_bound_stays_below_the_cheapest_trial_that_could_not_be_run() -> None:
    bench = Bench(target_of(Program((Read(0, "x", "a"), Pay("a")))), needles(0), Space([BREAK]))
    searcher = ExactSearcher(bench.problem("objective", COST_PAIR))

    def run(schedule: Schedule) -> Evaluation:
        return bench.run(schedule) if schedule == EMPTY else Evaluation(schedule, Status.ERROR, "killed")

    drive(searcher, run)

    assert searcher.finished
    assert searcher.progress.lower_bound == 1.1


def test_where_nothing_is_proved_the_level_says_so() -> None:
    bench = Bench(target_of(Program((Read(0, "x", "a"), Pay("a")))), needles(0), Space([BREAK]))
    searcher = ExactSearcher(bench.problem("objective", COST_PAIR))
    assert (searcher.progress.lower_bound, searcher.progress.level) == (0.0, "C0")

    drive(searcher, lambda schedule: Evaluation(schedule, Status.ERROR, "killed"))

    assert searcher.finished
    assert (searcher.progress.lower_bound, searcher.progress.level) == (0.0, "C0")
    sound = ExactSearcher(bench.problem("objective", COST_PAIR))
    drive(sound, bench.run)
    assert sound.progress.lower_bound > 0.0
    assert sound.progress.level in ("C1", "C2")


@pytest.mark.slow
def test_each_rule_saves_executions() -> None:
    program = Program(
        (Together(((Read(0, "x", "a", 1),), (Read(1, "x", "b", 1),))), Read(0, "yy", "b", 1), Pay("a", "b", 1))
    )
    bench = Bench(target_of(program), needles(0), Space([BLINDNESS, LOSS, BREAK, ERROR]))

    trials = {
        name: search(bench, "no-crash", COST_PAIR, 1, **rules)[2]
        for name, rules in {"all": {}, "no R2": {"r2": False}, "no R3": {"r3": False}}.items()
    }

    assert trials["all"] < trials["no R2"]
    assert trials["all"] < trials["no R3"]


def test_a_search_that_looks_ahead_finds_the_same_and_executes_little_more() -> None:
    program = Program((Read(0, "x", "a", 1), Read(1, "yy", "b", 1), Pay("a", "a", 1)))
    bench = Bench(target_of(program), needles(0), Space([BLINDNESS, LOSS, BREAK]))

    one, many = (search(bench, "at-most-once", 3.6, lookahead) for lookahead in (1, 16))

    assert one[0] == many[0]
    assert many[2] <= one[2] + 16

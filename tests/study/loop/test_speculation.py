"""Runs that are made ahead keep workers busy, and change nothing of what a study finds."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.execution.workers.executor import Finished, InlineExecutor
from chaosagent.execution.workers.workbench import Job, Workbench
from chaosagent.faults.evaluation import Evaluation, Fingerprinting
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.limits import StudyLimits
from chaosagent.study.evaluator import Evaluator
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.study.sink import Sink
from chaosagent.study.task_seed import TaskSeed
from tests.lab.targets.programs import Pay, Program, Read, Together, target_of

LOST = Choices("service.lost_response", {"when": ("before", "after")})
ERROR = Choices("service.error_status", {"status": (503,), "retry_after": (0.0,), "when": ("before",)})
SYSTEM = target_of(Program((Together(((Read(0, "x", "a", 1),), (Read(1, "yy", "b"),))), Pay("a", "a", 1))))
AT = TaskSeed("only", 0)
FAULT = parse("service:pay[1] service.lost_response(when=after)")


class Workers:
    """Runs what it was given in random order, and counts it.

    Args:
        workbench: Runs it.
        workers: How many it seems to have.
        seed: Of the order.
    """

    def __init__(self, workbench: Workbench, workers: int, seed: int) -> None:
        self._workbench, self.workers, self._rng = workbench, workers, random.Random(seed)
        self.capacity = max(1, workers)
        self._waiting: list[tuple[int, Job]] = []
        self.idle = self.made = 0

    def submit(self, ticket: int, job: Job) -> None:
        self._waiting.append((ticket, job))

    def next_finished(self) -> Finished:
        self.made += 1
        self.idle += self.capacity - len(self._waiting)
        ticket, job = self._waiting.pop(self._rng.randrange(len(self._waiting)))
        return Finished(ticket, self._workbench.evaluate(job))

    def drop_waiting(self) -> None:
        self._waiting.clear()

    def close(self) -> None:
        self._waiting.clear()


class Executed(Sink):
    """Keeps what a study says that it has executed."""

    def __init__(self) -> None:
        self.schedules: list[Schedule] = []

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        del at
        self.schedules.append(evaluation.schedule)


def plan_of(searcher: str) -> Plan:
    return Plan(
        target=SYSTEM,
        target_reference=SYSTEM.name,
        config=SYSTEM.config("default"),
        tasks=tuple(SYSTEM.tasks.values()),
        seeds=(0,),
        contracts=default_contracts()[:2],
        space=Space([LOST, ERROR]),
        budget=3.3,
        searcher=searcher,
        limits=StudyLimits(trials_max=150),
    )


def told(result: StudyResult) -> list[object]:
    rows = [
        (one.contract, one.trials, str(one.certificate), [found.id for found in one.counterexamples])
        for one in result.searches
    ]
    return [result.digest, result.executions, result.trials, rows]


@pytest.mark.parametrize("searcher", ["anytime", "exact"])
def test_however_many_workers_are_kept_busy_the_study_finds_the_same(searcher: str) -> None:
    plan = plan_of(searcher)
    kept = Executed()
    alone = Study(plan, InlineExecutor(plan.workbench()), sinks=[kept]).run()
    assert alone.unasked == 0

    for seed, count in enumerate((2, 5, 16)):
        heard, workers = Executed(), Workers(plan.workbench(), count, seed)
        together = Study(plan, workers, sinks=[heard]).run()

        assert told(together) == told(alone)
        assert sorted(map(str, heard.schedules)) == sorted(map(str, kept.schedules))
        assert together.unasked > 0


def test_workers_have_less_to_wait_for() -> None:
    plan = plan_of("exact")
    idle = {}
    for speculate in (False, True):
        workers = Workers(plan.workbench(), 8, 0)
        Study(replace(plan, speculate=speculate), workers).run()
        idle[speculate] = workers.idle / (8 * workers.made)

    assert idle[True] < 0.5 * idle[False]


def test_a_limit_of_trials_is_a_limit_of_what_is_made_ahead() -> None:
    plan = replace(plan_of("exact"), limits=StudyLimits(trials_max=5))
    made = {}
    for speculate in (False, True):
        workers = Workers(plan.workbench(), 16, 0)
        Study(replace(plan, speculate=speculate), workers).run()
        made[speculate] = workers.made

    assert made[True] <= made[False] + 5 * len(plan.contracts)


def evaluator_of(plan: Plan, kept: Executed) -> tuple[Evaluator, Workers]:
    workers = Workers(plan.workbench(), 4, 0)
    return Evaluator(workers, Fingerprinting.STATE, kept.executed), workers


def test_what_was_made_ahead_is_heard_of_when_it_is_asked_for_and_not_before() -> None:
    kept = Executed()
    evaluator, workers = evaluator_of(plan_of("exact"), kept)
    evaluator.evaluate(AT, EMPTY)
    assert evaluator.speculate(AT, FAULT)
    assert not evaluator.speculate(AT, FAULT)
    evaluator.wait()
    assert evaluator.known(AT, FAULT) is None
    assert (kept.schedules, evaluator.executions, workers.made) == ([EMPTY], 1, 2)

    evaluator.request(AT, FAULT)

    assert evaluator.known(AT, FAULT) is not None
    assert (kept.schedules, evaluator.executions, workers.made) == ([EMPTY, FAULT], 2, 2)


def test_what_is_asked_for_while_it_is_made_ahead_is_not_made_twice() -> None:
    kept = Executed()
    evaluator, workers = evaluator_of(plan_of("exact"), kept)
    evaluator.speculate(AT, FAULT)

    evaluation = evaluator.evaluate(AT, FAULT)

    assert evaluation.schedule == FAULT
    assert (kept.schedules, workers.made) == ([FAULT], 1)


def test_what_nobody_asked_for_is_counted_when_its_searches_are_over() -> None:
    evaluator, _ = evaluator_of(plan_of("exact"), Executed())
    evaluator.speculate(AT, FAULT)
    evaluator.wait()

    evaluator.forget(AT)

    assert evaluator.speculation.dropped == 1
    assert evaluator.executions == 0

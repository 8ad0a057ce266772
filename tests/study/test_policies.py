"""A study with online policies: what they choose is an ordinary schedule, to whoever comes after the run."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.contracts.contract import Contract
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Job, Workbench, load_workbench
from chaosagent.faults.evaluation import Evaluation, Fingerprinting, Status
from chaosagent.faults.online import Policy, plain_choices
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.limits import StudyLimits
from chaosagent.study.chance.racing import Racer
from chaosagent.study.counterexample import Signature
from chaosagent.study.evaluator import Evaluator
from chaosagent.study.loop.search import Search
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.study.store.study_store import StudyStore
from chaosagent.study.task_seed import TaskSeed
from chaosagent.targets.loading import load_target

SPECS = tuple(contract.id for contract in default_contracts())
AT = TaskSeed("late-parcel", 0)
SPACE = Space((Choices("service.lost_response", {}), Choices("service.timeout", {}), Choices("service.delay", {})))
bench = functools.partial(load_workbench, "refund", "naive", SPECS)


def plan(lookahead: int = 4) -> Plan:
    found = load_target("refund")
    return Plan(
        target=found,
        target_reference="refund",
        config=found.config("naive"),
        tasks=tuple(found.tasks.values()),
        seeds=(0,),
        contracts=default_contracts(),
        space=SPACE,
        budget=3.3,
        searcher="adversary",
        lookahead=lookahead,
        limits=StudyLimits(trials_max=60),
    )


class Counting(InlineExecutor):
    """Counts the jobs with a policy, and the others."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__(workbench)
        self.played = self.executed = 0

    def submit(self, ticket: int, job: Job) -> None:
        self.played += job.policy is not None
        self.executed += job.policy is None
        super().submit(ticket, job)


def essence(result: StudyResult) -> list[object]:
    return [
        result.digest,
        result.trials,
        result.executions,
        [(str(search.certificate), search.counterexample and search.counterexample.id) for search in result.searches],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("lookahead", [1, 8])
def test_what_a_policy_finds_is_reduced_and_runs_again_without_it(lookahead: int) -> None:
    executor = Counting(bench())

    result = Study(plan(lookahead), executor).run()

    assert executor.played > 20
    assert result.errors == 0
    assert not result.unlike
    found = next(search.counterexample for search in result.searches if search.contract == "at-most-once")
    assert found is not None
    assert found.confirmed
    assert [row.injection for row in found.necessity] == list(found.schedule)
    again = bench().execute(Job(*AT[:2], found.schedule))
    assert again.trace.digest == found.trace.digest


@pytest.mark.slow
def test_a_study_that_goes_on_plays_no_policy_again(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path, plan(), "")
    first = Study(plan(), InlineExecutor(bench()), sinks=[store]).run()
    store.close()

    store = StudyStore.resume(tmp_path, plan())
    executor = Counting(bench())
    second = Study(plan(), executor, sinks=[store], earlier=store.earlier()).run()
    store.close()

    assert essence(second) == essence(first)
    assert executor.played == 0


def policy(name: str, threshold: float) -> Policy:
    return Policy(name, 1, plain_choices(SPACE), SPACE.model, budget=2.3, threshold=threshold)


def test_a_policy_whose_run_is_known_is_not_played() -> None:
    executor = Counting(bench())
    evaluator = Evaluator(executor, Fingerprinting.STATE)
    quiet, eager = policy("quiet", 99.0), policy("eager", -99.0)
    nominal = evaluator.evaluate(AT, EMPTY)

    evaluator.request_play(AT, quiet)
    evaluator.request_play(AT, eager)

    assert evaluator.take_played(AT, quiet) == nominal
    assert evaluator.take_played(AT, quiet) is None
    assert evaluator.take_played(AT, eager) is None
    evaluator.wait()
    told = evaluator.take_played(AT, eager)
    assert told is not None
    assert told.schedule != EMPTY
    assert evaluator.known(AT, told.schedule) == told
    assert (executor.played, evaluator.executions) == (1, 2)
    evaluator.request_play(AT, policy("eager", -99.0))
    assert executor.played == 1


def test_two_policies_that_choose_the_same_at_once_count_once() -> None:
    executor = Counting(bench())
    evaluator = Evaluator(executor, Fingerprinting.STATE)
    known = (("o", ((0, 9.0, 0.0),)),)
    twins = [Policy(name, 1, plain_choices(SPACE), SPACE.model, 2.3, 5.0, weights=known) for name in ("one", "other")]

    for twin in twins:
        evaluator.request_play(AT, twin)
    evaluator.wait()
    evaluator.wait()

    one, other = (evaluator.take_played(AT, twin) for twin in twins)
    assert one == other
    assert executor.played == 2
    assert evaluator.executions == 1
    assert not evaluator.unlike


def test_a_policy_whose_worker_dies_is_an_error_of_no_schedule() -> None:
    class Dying(InlineExecutor):
        def submit(self, ticket: int, job: Job) -> None:
            super().submit(ticket, job if job.policy is None else job._replace(task_id="no such task"))

    evaluator = Evaluator(Dying(bench()), Fingerprinting.STATE)
    nominal = evaluator.evaluate(AT, EMPTY)

    evaluator.request_play(AT, policy("eager", -99.0))
    evaluator.wait()

    told = evaluator.take_played(AT, policy("eager", -99.0))
    assert told is not None
    assert told.status is Status.ERROR
    assert (evaluator.errors, evaluator.executions) == (1, 1)
    assert evaluator.known(AT, EMPTY) == nominal


def test_a_policy_that_plays_what_a_worker_died_of_does_not_count_as_a_differing_repeat() -> None:
    class Dying(InlineExecutor):
        def submit(self, ticket: int, job: Job) -> None:
            dies = job.policy is None and job.schedule != EMPTY
            super().submit(ticket, job._replace(task_id="no such task") if dies else job)

    eager, healthy = policy("eager", -99.0), Evaluator(InlineExecutor(bench()), Fingerprinting.STATE)
    healthy.request_play(AT, eager)
    healthy.wait()
    told = healthy.take_played(AT, eager)
    assert told is not None
    evaluator = Evaluator(Dying(bench()), Fingerprinting.STATE)
    assert evaluator.evaluate(AT, told.schedule).status is Status.ERROR

    evaluator.request_play(AT, eager)
    evaluator.wait()

    assert evaluator.take_played(AT, eager) is not None
    assert not evaluator.unlike


class Unsteady(Racer):
    """Has seen replays of every schedule differ."""

    def __init__(self) -> None: ...

    def judged(self, evaluation: Evaluation, *, cost_max: float, world: int | None = None) -> Evaluation:
        del cost_max, world
        return evaluation

    def instability_of(self, schedule: Schedule) -> float:
        return 0.0 if schedule == EMPTY else 0.4


def kind_of(at: TaskSeed, contract: Contract, schedule: Schedule) -> Signature:
    raise AssertionError((at, contract, schedule))


def test_a_searcher_is_told_how_replays_differ() -> None:
    search = Search(plan(), AT, plan().contracts[0], 0, kind_of)
    nominal, other = (bench().evaluate(Job(*AT[:2], parse(text))) for text in ("", "service:tokens[1] delay"))

    assert search.judged(other).instability == 0.0
    search.racer = Unsteady()

    assert search.judged(nominal).instability == 0.0
    assert search.judged(other).instability == 0.4
    assert search.judged(other) == other

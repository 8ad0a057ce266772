"""The loop of a study: what it finds does not depend on timing, and what it says of it is true."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import default_contracts, parse_contract
from chaosagent.contracts.contract import Contract
from chaosagent.contracts.custom import contract
from chaosagent.errors import SearcherError, StudyError
from chaosagent.execution.workers.executor import Finished, InlineExecutor
from chaosagent.execution.workers.workbench import Job, Workbench, failed_evaluation
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OPERATORS, Domain
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.faults.space import Choices, Space
from chaosagent.limits import StudyLimits
from chaosagent.searchers.proof.frontier import Frontier
from chaosagent.searchers.proof.uniform_cost import ExactSearcher
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyResult
from chaosagent.targets.target import Run, Target, target
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Boundary, Outcome, Task, Verdict
from tests.lab.targets.programs import Pay, Program, Read, Together, target_of
from tests.thorough import part_of

BLINDNESS = Choices("service.field_corruption", {"kind": ("null",), "field": ("value",)}, interfaces=("service:s*",))
BREAK = Choices("service.lost_response", {"when": ("before", "after")})
ERROR = Choices("service.error_status", {"status": (503,), "retry_after": (0.0,), "when": ("before",)})
TWICE = Program((Together(((Read(0, "x", "a", 1),), (Read(1, "yy", "b"),))), Pay("a", "a", 1)))


def plan_of(system: Target, *choices: Choices, contracts: tuple[Contract, ...] = (), **more: object) -> Plan:
    bare = Plan(
        target=system,
        target_reference=system.name,
        config=system.config("default"),
        tasks=tuple(system.tasks.values()),
        seeds=(0,),
        contracts=contracts or default_contracts(),
        space=Space(choices or (BLINDNESS, BREAK, ERROR)),
        budget=2.4,
    )
    return replace(bare, **more)  # type: ignore[arg-type]  # the tests know the fields


def bench_of(plan: Plan) -> Workbench:
    return Workbench(plan.target, plan.config, plan.contracts)


def run(plan: Plan) -> StudyResult:
    return Study(plan, InlineExecutor(bench_of(plan))).run()


def search_for(result: StudyResult, name: str) -> SearchResult:
    return next(search for search in result.searches if search.contract == name)


class Shuffled:
    """Finishes jobs in random order, and lets some of them go wrong.

    Args:
        workbench: Runs them.
        seed: Of the order.
        breaks: Which schedules cannot be run.
    """

    capacity, workers = 1_000, 4

    def __init__(
        self, workbench: Workbench, seed: int = 0, breaks: Callable[[Schedule], bool] = lambda _: False
    ) -> None:
        self._workbench, self._rng, self._breaks = workbench, random.Random(seed), breaks
        self._waiting: list[tuple[int, Job]] = []
        self.submitted: list[Job] = []

    def submit(self, ticket: int, job: Job) -> None:
        self.submitted.append(job)
        self._waiting.append((ticket, job))

    def next_finished(self) -> Finished:
        ticket, job = self._waiting.pop(self._rng.randrange(len(self._waiting)))
        if self._breaks(job.schedule):
            return Finished(ticket, failed_evaluation(job.schedule, "the worker process was killed"))
        return Finished(ticket, self._workbench.evaluate(job))

    def drop_waiting(self) -> None:
        self._waiting.clear()

    def close(self) -> None:
        self._waiting.clear()


def essence(result: StudyResult) -> list[object]:
    """Everything but the real time that it took."""
    return [
        (result.digest, result.trials, result.executions, result.errors),
        [
            (
                search.contract,
                search.trials,
                str(search.certificate),
                [found.id for found in search.counterexamples],
            )
            for search in result.searches
        ],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("searcher", ["anytime", "exact", "random"])
@pytest.mark.parametrize("breaks", [False, True])
@pytest.mark.parametrize("wanted", [{}, {"all_minimal": True}, {"signatures": 2}])
def test_the_order_in_which_runs_end_changes_nothing(searcher: str, breaks: bool, wanted: dict[str, Any]) -> None:
    limits = StudyLimits(trials_max=60, error_share_max=1.0)
    plan = plan_of(target_of(TWICE), searcher=searcher, limits=limits, seeds=(0, 1), **wanted)

    def broken(schedule: Schedule) -> bool:
        return breaks and "service:s1" in str(schedule)

    results = [essence(Study(plan, Shuffled(bench_of(plan), seed, broken)).run()) for seed in range(part_of(4))]

    assert len(results) > 1
    assert all(one == results[0] for one in results)


def test_contracts_share_their_runs() -> None:
    plan = plan_of(target_of(TWICE))
    executor = Shuffled(bench_of(plan))

    result = Study(plan, executor).run()

    schedules = [job.schedule for job in executor.submitted]
    assert len(set(schedules)) == result.executions + result.unasked
    watched = [job for job in executor.submitted if job.watched]
    assert len(schedules) - len(watched) <= 1.1 * len(set(schedules))  # some are run again, to see whether they repeat
    assert len(watched) <= 20  # one of each kind of fault is, and noted what it reads
    assert result.trials > 1.5 * result.executions


def test_a_search_ends_at_its_limit_of_trials_and_says_so() -> None:
    plan = plan_of(target_of(TWICE), limits=StudyLimits(trials_max=5))

    search = search_for(run(plan), "no-leak")

    assert search.trials == 5
    assert search.certificate.limit_reached
    assert not search.certificate.safe
    assert "ended at its limit" in str(search.certificate)


def test_a_search_that_ends_by_itself_proves_that_nothing_breaks_the_contract() -> None:
    search = search_for(run(plan_of(target_of(TWICE))), "no-leak")

    assert search.counterexample is None
    assert search.certificate.safe
    assert not search.certificate.limit_reached


def test_what_could_not_be_run_bounds_the_certificate() -> None:
    plan = plan_of(target_of(TWICE), limits=StudyLimits(error_share_max=1.0))
    executor = Shuffled(bench_of(plan), breaks=lambda schedule: "service:pay[2]" in str(schedule))

    result = Study(plan, executor).run()

    search = search_for(result, "no-leak")
    assert 0 < search.certificate.errors <= result.errors  # some were asked for by the search for another contract
    assert search.certificate.lower_bound == 2.2
    assert not search.certificate.safe
    assert "ended as errors" in str(search.certificate)


def test_too_many_errors_end_the_study() -> None:
    plan = plan_of(target_of(Program((*(Read(number % 2, "x", "a") for number in range(5)), Pay("a")))))

    with pytest.raises(StudyError, match=r"ended as errors, more than the share of 0\.2 .*killed"):
        Study(plan, Shuffled(bench_of(plan), breaks=lambda schedule: schedule != EMPTY)).run()


def test_a_contract_that_the_nominal_run_breaks_is_not_searched() -> None:
    never = contract("never-paid", at_end=False)(lambda step: step.operation != "pay")

    result = run(plan_of(target_of(TWICE), contracts=(never,)))

    (search,) = result.searches
    assert search.violated_nominally
    assert search.counterexample is None
    assert search.trials == 1
    assert search.certificate.cost == 0.0


def _broken_answer(step: Step) -> bool:
    return not (step.operation == "pay" and step.failure is not None)


def test_a_violation_is_no_counterexample_when_what_the_contract_requires_was_not_given() -> None:
    reachable = contract("s0-answers")(lambda step: not (step.interface == "service:s0" and step.failure is not None))
    needs_payment = contract("paid", requires=reachable)(_broken_answer)
    anyhow = contract("paid-anyhow")(_broken_answer)
    system = target_of(Program((Read(0, "x", "a"), Pay("a"))))
    both = Choices("service.lost_response", {"when": ("before",)}, interfaces=("service:s0", "service:pay"))

    fair = run(plan_of(system, both, contracts=(needs_payment, anyhow)))

    for search in fair.searches:
        assert search.counterexample is not None
        assert [str(injection.hook) for injection in search.counterexample.schedule] == ["service:pay[1]@agent"]
    impossible = contract("impossible")(lambda step: step.failure is None)
    unfair = run(plan_of(system, both, contracts=(contract("paid", requires=impossible)(_broken_answer),)))
    assert unfair.counterexamples == ()
    assert unfair.searches[0].certificate.safe


def test_each_injection_of_a_counterexample_is_necessary() -> None:
    system = target_of(Program((Read(0, "x", "a"), Pay("a", "a", 1))))

    found = search_for(run(plan_of(system)), "at-most-once").counterexample

    assert found is not None
    assert found.certificate.certified
    assert found.confirmed
    assert found.minimal
    assert [row.injection for row in found.necessity] == list(found.schedule)
    for row in found.necessity:
        assert row.evaluation.schedule == found.schedule.without(row.injection)
        verdict = row.evaluation.verdict("at-most-once")
        assert verdict is not None
        assert verdict.verdict is Verdict.HOLDS
        assert row.fate("at-most-once") == "finished, at-most-once holds"


def test_a_run_that_could_not_be_made_is_no_reason_for_necessity() -> None:
    system = target_of(Program((Read(0, "x", "a"), Pay("a", "a", 1))))
    plan = plan_of(system, limits=StudyLimits(error_share_max=1.0))
    alone = "service:pay[1]@agent service.lost_response(when=after)"

    result = Study(plan, Shuffled(bench_of(plan), breaks=lambda schedule: str(schedule) == alone)).run()

    found = search_for(result, "at-most-once").counterexample
    assert found is not None
    assert not found.certificate.certified
    assert alone not in [str(found.schedule.without(row.injection)) for row in found.necessity]


class Interrupted(InlineExecutor):
    """Is interrupted in the middle of a run, once."""

    def __init__(self, workbench: Workbench, after: int) -> None:
        super().__init__(workbench)
        self.left = after

    def next_finished(self) -> Finished:
        self.left -= 1
        finished = super().next_finished()
        if self.left == 0:
            raise KeyboardInterrupt
        return finished


def test_an_interrupted_study_reports_what_it_found_and_proved() -> None:
    plan = plan_of(target_of(Program((Read(0, "x", "a"), Pay("a", "a", 1)))), budget=3.6, seeds=(0, 1))
    executions = run(replace(plan, seeds=(0,))).executions

    result = Study(plan, Interrupted(bench_of(plan), executions // 2)).run()

    assert result.interrupted
    assert len(result.searches) == 2 * len(plan.contracts)
    found = search_for(result, "at-most-once").counterexample
    assert found is not None
    assert found.confirmed
    assert search_for(result, "no-leak").certificate.lower_bound > 1.0
    assert not search_for(result, "no-leak").certificate.safe


def test_a_study_that_reaches_its_limit_in_seconds_reports_what_it_found() -> None:
    plan = plan_of(target_of(TWICE), limits=StudyLimits(seconds_max=0.0))

    result = run(plan)

    assert not result.interrupted
    assert result.trials == 0
    assert all(search.certificate.limit_reached for search in result.searches)
    assert not any(search.certificate.safe or search.certificate.certified for search in result.searches)


class Stuck(InlineExecutor):
    """Never ends a run after so many, until it is interrupted."""

    def __init__(self, workbench: Workbench, after: int) -> None:
        super().__init__(workbench)
        self.left = after

    def next_finished(self) -> Finished:
        self.left -= 1
        if self.left < 0:
            threading.Event().wait()
        return super().next_finished()


@pytest.mark.slow
def test_a_limit_in_seconds_abandons_the_run_in_flight_and_does_not_count_it() -> None:
    plan = plan_of(target_of(TWICE), limits=StudyLimits(seconds_max=3.0))

    result = Study(plan, Stuck(bench_of(plan), 1)).run()

    assert not result.interrupted
    assert result.executions == 1
    assert all(search.certificate.limit_reached for search in result.searches)
    assert not any(search.certificate.safe or search.certificate.certified for search in result.searches)


@pytest.mark.slow
def test_what_there_was_no_time_to_show_is_counted_and_is_no_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(target_of(TWICE), limits=StudyLimits(seconds_max=3.0))
    study = Study(plan, Stuck(bench_of(plan), 40))
    monkeypatch.setattr(study._afresh, "show", lambda *_: threading.Event().wait())

    result = study.run()

    assert result.out_of_time
    assert not result.interrupted
    assert not result.counterexamples
    assert search_for(result, "at-most-once").unshown == 1
    assert not search_for(result, "at-most-once").certificate.safe


class InterruptedAfter(InlineExecutor):
    """Interrupts the study, as Ctrl-C does, in place of a run."""

    def __init__(self, workbench: Workbench, after: int) -> None:
        super().__init__(workbench)
        self.left = after

    def next_finished(self) -> Finished:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().next_finished()


def test_an_interrupt_does_not_wait_for_a_violation_to_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(target_of(TWICE))
    study = Study(plan, InterruptedAfter(bench_of(plan), 40))
    monkeypatch.setattr("chaosagent.study.loop.deadline.SHOW_SECONDS", 0.05)
    monkeypatch.setattr(study._afresh, "show", lambda *_: threading.Event().wait())
    alarm = signal.getsignal(signal.SIGALRM)

    result = study.run()

    assert result.interrupted
    assert not result.out_of_time
    assert not result.counterexamples
    assert search_for(result, "at-most-once").unshown == 1
    assert not search_for(result, "at-most-once").certificate.safe
    assert signal.getsignal(signal.SIGALRM) is alarm


def test_a_second_interrupt_ends_a_study_without_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted_again(*_: object) -> None:
        raise KeyboardInterrupt

    plan = plan_of(target_of(TWICE))
    study = Study(plan, InterruptedAfter(bench_of(plan), 40))
    monkeypatch.setattr(study._afresh, "show", interrupted_again)

    with pytest.raises(KeyboardInterrupt):
        study.run()


def test_a_searcher_that_waits_for_nothing_ends_the_study() -> None:
    plan = plan_of(target_of(TWICE))
    study = Study(plan, InlineExecutor(bench_of(plan)))
    for search in study._groups[0].searches:
        search.searcher.ask(1)  # takes the first schedule away from the study

    with pytest.raises(SearcherError, match="'anytime': ask returned nothing although nothing is out"):
        study._search_all()


# ---------------------------------------------------------------------- audits


@dataclass(frozen=True, slots=True)
class Impure:
    """Leaves recorded crossings alone, and keeps real calls from the world."""

    name: ClassVar[str] = "testing/impure"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.SERVICE})
    parameters: ClassVar[Mapping[str, Domain]] = {}
    magnitude: ClassVar[float] = 1.0
    tokens: ClassVar[int] = 0
    calls: ClassVar[list[bool]] = []

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        """Leave a crossing alone that is only recorded, and not one that happens."""
        if hasattr(crossing, "call_world"):
            return Response({"value": 99})
        return await proceed(crossing.request)

    def describe(self) -> str:
        """Say in one line what it does."""
        return "lies"


@pytest.fixture
def impure() -> Iterator[Choices]:
    OPERATORS.register(Impure.name, Impure)
    yield Choices(Impure.name, {})
    del OPERATORS._load()[Impure.name]


def test_an_audit_catches_an_operator_that_acts_otherwise_than_it_says(impure: Choices) -> None:
    system = target_of(Program((Read(0, "x", "a"), Pay("a"))))

    search = search_for(run(plan_of(system, impure)), "no-extra-effects")

    assert search.certificate.contradictions == 1
    assert "R2" not in search.certificate.pruned
    assert "1 contradiction" in str(search.certificate)
    assert search.counterexample is not None
    assert search.counterexample.certificate.certified


@target(tasks=[Task("t")])
async def careless(_: Task, run: Run) -> Outcome:
    looked: list[bool] = []

    def get() -> Plain:
        looked.append(True)
        return {"value": 1}

    service = run.service("s", {"get": get}, read_only=True)  # which is not true: it counts
    with contextlib.suppress(ConnectionError):
        await service("get")
    return Outcome("done", success=bool(looked))


def test_an_audit_catches_a_service_that_is_wrongly_declared_read_only() -> None:
    honest = Choices("service.lost_response", {"when": ("before", "after")})
    plan = plan_of(careless, honest, contracts=(parse_contract("objective"),))

    (search,) = run(plan).searches

    assert search.certificate.contradictions == 1
    assert "R2" not in search.certificate.pruned
    assert search.counterexample is not None
    assert str(search.counterexample.schedule) == "service:s[1] service.lost_response(when=before)"
    assert search.certificate.certified


@target(tasks=[Task("t")])
async def secretive(_: Task, run: Run) -> Outcome:
    service = run.service("s", {"get": lambda: {"value": 1}})
    failures = 0
    for place in range(4):
        run.checkpoint(str(place % 2), [], clock_matters=False)  # which hides the number of failures
        try:
            await service("get")
        except ConnectionError:
            failures += 1
    return Outcome("done", success=failures < 2)


def test_an_audit_catches_a_checkpoint_that_hides_state() -> None:
    plan = plan_of(
        secretive, Choices("service.lost_response", {"when": ("after",)}), contracts=(parse_contract("objective"),)
    )

    (search,) = run(plan).searches

    assert search.certificate.contradictions == 1
    assert "R3" not in search.certificate.pruned
    assert search.certificate.level == "C1"
    assert search.counterexample is not None
    assert search.counterexample.cost == 2.2
    assert search.certificate.certified


def test_an_honest_target_is_not_contradicted() -> None:
    result = run(plan_of(target_of(TWICE), audit=200))

    assert all(search.certificate.contradictions == 0 for search in result.searches)
    assert any(search.certificate.audited > 20 for search in result.searches)


@pytest.mark.parametrize("method", ["tell", "ask"])
def test_an_interrupt_in_the_middle_of_a_searcher_leaves_no_false_proof(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    plan = plan_of(target_of(TWICE))
    whole = getattr(ExactSearcher, method)
    calls = 0

    def torn(self: ExactSearcher, given: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 3:
            if method == "tell":
                self._frontier = Frontier()  # as if the interrupt came before the children of a run were pushed
                self._open.clear()
            raise KeyboardInterrupt
        return whole(self, given)

    monkeypatch.setattr(ExactSearcher, method, torn)
    result = run(plan)

    assert result.interrupted
    torn_search = [search for search in result.searches if search.certificate.limit_reached]
    assert torn_search
    assert not any(search.certificate.safe or search.certificate.certified for search in torn_search)

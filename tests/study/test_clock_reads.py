"""Code behind a fault that reads the clock: more repeats, no proof once runs differ, and the true cause."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.effects.rule import effect
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.faults.chance_read import Chance, ChanceRead
from chaosagent.faults.space import Choices, Space
from chaosagent.study.determinism.repeats import READING_REPEATED
from chaosagent.study.divergence import likely_cause
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyResult
from chaosagent.study.sink import Sink
from chaosagent.study.store.files import ANSWERS_NAME
from chaosagent.study.task_seed import TaskSeed
from chaosagent.targets.target import Run, Target, target
from chaosagent.trace.diff import Difference
from chaosagent.vocabulary import Outcome, SystemConfig, Task

AT_MOST_ONCE = next(contract for contract in default_contracts() if contract.id == "at-most-once")
DIFFERENCE = Difference(0, "arguments", "{'v': 1}", "{'v': 2}", "service:s[1]")


def payer(decide: Callable[[Run], bool], tasks: Sequence[str] = ("pay",)) -> Target:
    """Return an agent that may pay again after a failure, as a function decides."""

    @target(name="payer", tasks=[Task(name) for name in tasks], configs=[SystemConfig("default")])
    async def agent(task: Task, run: Run) -> Outcome:
        del task
        bank = run.service("bank", {"pay": lambda: 1}, effects={"pay": effect()})
        try:
            await bank("pay")
        except ConnectionError:
            if decide(run):
                await bank("pay")
        return Outcome("paid", success=True)

    return agent


def by_clock(answers: Iterator[bool]) -> Callable[[Run], bool]:
    """Return what reads the clock, and then answers as a script says, so that no test depends on luck."""

    def decide(run: Run) -> bool:
        del run
        time.monotonic_ns()
        return next(answers)

    return decide


def search(
    system: Target,
    folder: Path,
    *,
    seeds: tuple[int, ...] = (0,),
    sinks: Sequence[Sink] = (),
) -> StudyResult:
    plan = Plan(
        target=system,
        target_reference=system.name,
        config=system.config("default"),
        tasks=tuple(system.tasks.values()),
        seeds=seeds,
        contracts=(AT_MOST_ONCE,),
        contract_specs=(AT_MOST_ONCE.id,),
        space=Space([Choices("service.lost_response", {"when": ("after",)})]),
        budget=1.3,
        answers=folder / ANSWERS_NAME,
    )
    return Study(plan, InlineExecutor(plan.workbench()), sinks=sinks).run()


def claims(result: StudyResult, task: str = "pay") -> list[str]:
    """Return what is claimed of a task."""
    proofs = [one.certificate for one in result.searches if one.task_id == task]
    found = [one.certificate for one in result.counterexamples if one.task_id == task]
    return [str(one) for one in (*proofs, *found) if one.certified or one.safe or one.lower_bound > 0]


@pytest.mark.parametrize("equal", [0, 1, 5, 12, 24])
def test_a_run_that_differs_late_leaves_nothing_proved_and_the_clock_is_named(tmp_path: Path, equal: int) -> None:
    answers = itertools.chain(itertools.repeat(False, equal + 1), [True], itertools.repeat(False))
    result = search(payer(by_clock(answers)), tmp_path)

    assert claims(result) == []
    (where,) = result.unlike
    cause = where.partition("Likely cause: ")[2]
    assert cause.startswith("the wall clock: time.monotonic_ns() at test_clock_reads.py:")
    assert " in decide; ask run.clock.now(), or pin it: `with chaosagent.deterministic(run):`" in cause


def test_a_violation_that_does_not_repeat_is_not_certified(tmp_path: Path) -> None:
    answers = itertools.chain([True], itertools.repeat(True, 10), itertools.repeat(False))
    result = search(payer(by_clock(answers)), tmp_path)

    assert claims(result) == []
    assert "time.monotonic_ns() at " in result.unlike[0]


def test_where_all_repeats_are_equal_the_certificate_says_what_is_read_and_how_many_were(tmp_path: Path) -> None:
    result = search(payer(by_clock(itertools.repeat(False))), tmp_path)

    (text,) = claims(result)
    read = "The target asks for real time (time.monotonic_ns() at test_clock_reads.py:"
    assert read in text
    repeats = int(text.partition(" repeats of runs that do were equal")[0].rpartition(" ")[2])
    assert repeats >= READING_REPEATED
    assert not result.unlike


def test_where_no_clock_is_read_no_more_runs_are_repeated(tmp_path: Path) -> None:
    runs = itertools.count()

    def decide(run: Run) -> bool:
        next(runs)
        return run.clock.now() < 0

    result = search(payer(decide), tmp_path)

    assert "asks for" not in claims(result)[0]
    assert next(runs) < 8


class _Told(Sink):
    def __init__(self) -> None:
        self.results: list[SearchResult] = []
        self.differences: list[tuple[TaskSeed, str]] = []

    def search_over(self, result: SearchResult) -> None:
        self.results.append(result)

    def differed(self, at: TaskSeed, difference: str) -> None:
        self.differences.append((at, difference))


def test_after_a_difference_with_one_seed_nothing_is_proved_with_another(tmp_path: Path) -> None:
    told = _Told()
    pays_again = itertools.count()

    def decide(run: Run) -> bool:
        time.monotonic_ns()
        return run.seed == 1 and next(pays_again) == 3

    result = search(payer(decide, ("pay",)), tmp_path, seeds=(0, 1), sinks=[told])

    assert {at.seed for at, _ in told.differences} == {1}
    assert claims(result) == []
    of_first = [one.certificate.safe for one in told.results if one.seed == 0]
    assert of_first == [False]  # not printed as proved before the searches with the other seed are over
    assert all("a repeated run differed" in str(one.certificate) for one in result.searches)


def test_a_difference_in_one_task_leaves_the_proofs_of_another(tmp_path: Path) -> None:
    pays_again = itertools.count()

    @target(name="payer", tasks=[Task("pay"), Task("other")], configs=[SystemConfig("default")])
    async def agent(task: Task, run: Run) -> Outcome:
        bank = run.service("bank", {"pay": lambda: 1}, effects={"pay": effect()})
        try:
            await bank("pay")
        except ConnectionError:
            if task.id == "other" and next(pays_again) == 2:
                await bank("pay")
        return Outcome("paid", success=True)

    result = search(agent, tmp_path)

    assert claims(result, "other") == []
    assert claims(result, "pay") != []


def test_a_cause_that_no_watched_run_shows_is_guessed_as_before(tmp_path: Path) -> None:
    numbers = itertools.count()
    result = search(payer(lambda run: next(numbers) == 2), tmp_path)  # noqa: ARG005

    (where,) = result.unlike
    assert "Likely cause: something kept between runs" in where


def read(chance: Chance, call: str, package: str = "") -> ChanceRead:
    return ChanceRead(chance, call, "agent.py:12 in pay", package)


def test_what_was_read_is_named_as_the_cause_with_its_remedy() -> None:
    clock, drawn = read(Chance.REAL_TIME, "time.time()"), read(Chance.RANDOM, "uuid.uuid4()")

    told = likely_cause(DIFFERENCE, reads=[clock, drawn])
    assert told.startswith("the wall clock: time.time() at agent.py:12 in pay; ask run.clock.now(), or pin it")
    assert "; or random numbers not drawn from run.rng(label): uuid.uuid4() at agent.py:12 in pay" in told


def test_the_kind_of_chance_that_the_values_show_is_named_first() -> None:
    clock, drawn = read(Chance.REAL_TIME, "time.time()"), read(Chance.RANDOM, "uuid.uuid4()")
    one, other = (f"{digit * 8}-aaaa-4aaa-aaaa-aaaaaaaaaaaa" for digit in "ab")

    told = likely_cause(Difference(0, "arguments", one, other, "service:s[1]"), reads=[clock, drawn])
    assert told.startswith("random numbers not drawn from run.rng(label): uuid.uuid4() at agent.py:12 in pay")


def test_addresses_and_packages_are_named_beside_the_usual_guess() -> None:
    usual = likely_cause(DIFFERENCE)

    assert likely_cause(DIFFERENCE, reads=[read(Chance.ADDRESS, "id()")]).startswith(f"{usual}; or the address of an")
    of_package = likely_cause(DIFFERENCE, reads=[read(Chance.REAL_TIME, "time.time()", "tenacity")])
    assert of_package == f"{usual} (packages that the target uses call time.time() in tenacity)"


def test_what_differs_between_processes_only_keeps_its_usual_causes_first() -> None:
    told = likely_cause(DIFFERENCE, in_one_process=False, reads=[read(Chance.REAL_TIME, "time.time()")])

    assert told.startswith("the order of a set")
    assert "; or the wall clock: time.time() at agent.py:12 in pay" in told


def test_the_address_in_a_default_repr_is_recognised() -> None:
    one, other = (f"<agent.Order object at 0x7f{digit}a12b3c4d0>" for digit in "12")

    assert likely_cause(Difference(0, "prompt", one, other, "model:m[1]")).startswith("the address in the default repr")

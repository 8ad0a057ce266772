"""A run that does not read its seed is made once for all seeds, and every search finds what it would find alone."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.effects.rule import effect
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Job, Workbench
from chaosagent.faults.evaluation import Evaluation, Fingerprinting
from chaosagent.faults.online import Policy, plain_choices
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.limits import StudyLimits
from chaosagent.study.evaluator import Evaluator
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.study.sink import Sink
from chaosagent.study.store.study_store import StudyStore
from chaosagent.study.task_seed import TaskSeed
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, StatusError, Task
from tests.study.loop.test_study import Shuffled
from tests.thorough import cases

CHOICES = (
    Choices("service.lost_response", {"when": ("after",)}),
    Choices("service.error_status", {"status": (503,), "retry_after": (0.0,), "when": ("before",)}),
    Choices("retrieval.perturb_ranking", {"kind": ("shuffled",)}),
)
READS = ("never", "run.seed", "run.rng")


def in_a_child(run: Run) -> int:
    """Return the seed as a forked process reads it."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, bytes([run.seed]))
        os._exit(0)
    os.waitpid(child, 0)
    seed = os.read(reading, 1)[0]
    os.close(reading)
    os.close(writing)
    return seed


def chosen(run: Run, how: str) -> int:
    """Return a bit that may follow from the seed, in one of the ways in which a target can ask for it."""
    if how == "never":
        return 0
    return run.seed % 2 if how == "run.seed" else run.rng("jitter").getrandbits(1)


def agent_of(reads_last: str, on_error: Sequence[tuple[str, int]], reads_ranking: bool) -> Target:
    """Return a small agent that pays in some steps and may retry; where nothing failed, it may pay for one more."""

    @target(tasks=[Task("a")], name="small")
    async def agent(task: Task, run: Run) -> Outcome:  # noqa: ARG001  # there is one task
        pay = run.service("shop", {"pay": lambda step: f"paid {step}"}, effects={"pay": effect("step")})
        search = run.retrieval("docs", lambda query: [{"id": number, "text": query} for number in range(3)])
        first, done = 0, 0
        if reads_ranking:
            first = (await search("q"))[0]["id"]
        for step, (reads, most) in enumerate(on_error):
            try:
                await pay("pay", step=step)
                done += 1
            except (TimeoutError, ConnectionError, StatusError):
                for _ in range(most if chosen(run, reads) else most - 1):
                    await pay("pay", step=step)
                    done += 1
        if done < len(on_error) or chosen(run, reads_last):
            await pay("pay", step="more")
        return Outcome(f"{done} {first}", success=done == len(on_error) and first < 2)

    return agent


def plan_of(agent: Target, seeds: tuple[int, ...], searcher: str = "exact", **more: object) -> Plan:
    bare = Plan(
        target=agent,
        target_reference="small",
        config=agent.config("default"),
        tasks=tuple(agent.tasks.values()),
        seeds=seeds,
        contracts=default_contracts(),
        space=Space(CHOICES),
        budget=2.4,
        searcher=searcher,
        limits=StudyLimits(trials_max=40),
    )
    return replace(bare, **more)  # type: ignore[arg-type]  # the tests know the fields


class Counting(InlineExecutor):
    """Counts the runs of each schedule, whatever their seed; without repeats."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__(workbench)
        self.made = Counter[tuple[str, int, Schedule]]()

    def submit(self, ticket: int, job: Job) -> None:
        self.made[job.task_id, job.seed, job.schedule] += 1
        super().submit(ticket, job)


def bench_of(plan: Plan) -> Workbench:
    return Workbench(plan.target, plan.config, plan.contracts)


def essence(result: StudyResult, seed: int) -> list[object]:
    """Return everything that is said of a seed."""
    return [
        (
            search.task_id,
            search.contract,
            search.trials,
            str(search.certificate),
            search.violated_nominally,
            [(found.id, found.cost, found.trace.digest, str(found.certificate)) for found in search.counterexamples],
        )
        for search in result.searches
        if search.seed == seed
    ]


def retrying(seed: int, read: Callable[[Run], int] = attrgetter("seed")) -> Target:
    """Return an agent that reads its seed only in a retry, which pays twice with one seed."""

    @target(tasks=[Task("a")])
    async def agent(task: Task, run: Run) -> Outcome:  # noqa: ARG001  # there is one task
        pay = run.service("shop", {"pay": lambda: "paid"}, effects={"pay": effect()})
        try:
            await pay("pay")
        except (TimeoutError, ConnectionError, StatusError):
            if read(run) == seed:
                await pay("pay")
        return Outcome("done", success=True)

    return agent


@pytest.mark.parametrize("read", [lambda run: copy(run).seed, in_a_child], ids=["a copy", "a child"])
def test_a_seed_that_a_copy_or_a_forked_child_of_the_run_reads_is_read(read: Callable[[Run], int]) -> None:
    plan = plan_of(retrying(1, read), (0, 1))

    result = Study(plan, InlineExecutor(bench_of(plan))).run()

    assert {found.seed for found in result.counterexamples if found.contract == "at-most-once"} == {1}
    assert not result.unlike


@pytest.mark.parametrize("searcher", ["exact", "anytime", "random"])
def test_what_only_one_seed_breaks_behind_a_fault_is_found(searcher: str) -> None:
    plan = plan_of(retrying(1), (0, 1, 2), searcher)

    result = Study(plan, InlineExecutor(bench_of(plan))).run()

    broken = {found.seed for found in result.counterexamples if found.contract == "at-most-once"}
    assert broken == {1}
    assert not result.unlike


def test_a_run_that_reads_no_seed_is_made_once() -> None:
    plan = plan_of(agent_of("never", [("never", 2), ("never", 1)], reads_ranking=False), (0, 1, 2))
    executor = Counting(bench_of(plan))

    result = Study(plan, executor).run()

    once = Study(replace(plan, seeds=(0,)), InlineExecutor(bench_of(plan))).run()
    assert result.executions == 3 * once.executions
    assert result.taken_over == 2 * once.executions
    of_others = {key for key in executor.made if key[1] > 0}
    assert len(of_others) < once.executions  # repeats, which check that seeds change nothing
    assert not result.unlike


@pytest.mark.parametrize(("reads", "is_asked_for"), [("never", False), ("never", True), ("run.seed", True)])
def test_a_run_is_made_ahead_for_another_seed_only_if_it_reads_the_seed(reads: str, *, is_asked_for: bool) -> None:
    seeds, fault = (0, 1), parse("service:shop[1] service.error_status(retry_after=0.0,status=503,when=before)")
    plan = plan_of(agent_of(reads, [("never", 2)], reads_ranking=False), seeds)
    evaluator = Evaluator(InlineExecutor(bench_of(plan)), Fingerprinting.STATE, seeds=seeds)
    one, other = (TaskSeed("a", seed) for seed in seeds)
    for at in (one, other):
        evaluator.evaluate(at, EMPTY)
    begin = evaluator.request if is_asked_for else evaluator.speculate
    begin(one, fault)

    assert evaluator.speculate(other, fault) == (reads == "run.seed")


def test_the_run_of_a_policy_stands_for_other_seeds() -> None:
    seeds = (0, 1)
    plan = plan_of(agent_of("never", [("never", 2)], reads_ranking=False), seeds, "adversary")
    executor = Counting(bench_of(plan))
    evaluator = Evaluator(executor, Fingerprinting.STATE, seeds=seeds)
    one, other = (TaskSeed("a", seed) for seed in seeds)
    policy = Policy("p", 0, plain_choices(plan.space), plan.space.model, budget=2.4, threshold=0.0)
    evaluator.request_play(one, policy)
    while (played := evaluator.take_played(one, policy)) is None:
        evaluator.wait()

    evaluator.evaluate(other, EMPTY)
    told = evaluator.evaluate(other, played.schedule)

    assert played.schedule
    assert told.is_taken_over(other.seed)


@pytest.mark.slow
@cases(24)
@given(
    reads_last=st.sampled_from(["never", *READS]),
    on_error=st.lists(st.tuples(st.sampled_from(READS), st.integers(1, 2)), min_size=1, max_size=3),
    reads_ranking=st.booleans(),
    searcher=st.sampled_from(["exact", "anytime", "random"]),
    order=st.integers(0, 99),
)
def test_each_seed_is_told_what_it_would_be_told_alone(
    reads_last: str, on_error: list[tuple[str, int]], reads_ranking: bool, searcher: str, order: int
) -> None:
    check_each_seed(plan_of(agent_of(reads_last, on_error, reads_ranking), (3, 0, 8), searcher), order)


@pytest.mark.parametrize(("reads_last", "reads"), [("never", "never"), ("never", "run.rng"), ("run.seed", "never")])
def test_what_an_operator_draws_or_the_undisturbed_run_reads_counts(reads_last: str, reads: str) -> None:
    check_each_seed(plan_of(agent_of(reads_last, [(reads, 2)], reads_ranking=True), (3, 0, 8)), order=1)


def check_each_seed(plan: Plan, order: int) -> None:
    inline = Study(plan, InlineExecutor(bench_of(plan))).run()
    shuffled = Study(plan, Shuffled(bench_of(plan), order)).run()

    for seed in plan.seeds:
        alone = Study(replace(plan, seeds=(seed,)), InlineExecutor(bench_of(plan))).run()
        assert essence(inline, seed) == essence(shuffled, seed) == essence(alone, seed)
    assert not inline.unlike
    assert (inline.digest, inline.executions, inline.taken_over) == (
        shuffled.digest,
        shuffled.executions,
        shuffled.taken_over,
    )


class Interrupting(Sink):
    """Ends a study after some runs."""

    def __init__(self, after: int) -> None:
        self._left = after

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:  # noqa: ARG002  # the sink's
        self._left -= 1
        if not self._left:
            raise KeyboardInterrupt


@pytest.mark.parametrize("after", [2, 9, 16])
def test_an_interrupted_study_takes_over_as_many_runs_in_the_end(tmp_path: Path, after: int) -> None:
    plan = plan_of(agent_of("never", [("run.seed", 2), ("never", 1)], reads_ranking=True), (0, 1, 2**70))
    whole = Study(plan, InlineExecutor(bench_of(plan))).run()
    store = StudyStore.create(tmp_path, plan, "")
    Study(plan, InlineExecutor(bench_of(plan)), sinks=[store, Interrupting(after)]).run()
    store.close()

    store = StudyStore.resume(tmp_path, plan)
    resumed = Study(plan, InlineExecutor(bench_of(plan)), sinks=[store], earlier=store.earlier()).run()
    store.close(resumed.digest)

    assert (resumed.digest, resumed.executions, resumed.taken_over) == (
        whole.digest,
        whole.executions,
        whole.taken_over,
    )
    assert 0 < whole.taken_over < whole.executions * 2 / 3

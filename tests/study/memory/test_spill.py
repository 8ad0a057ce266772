"""What has no room in memory goes to disk, and changes nothing but that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import pytest

from chaosagent.errors import StudyError
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Injection
from chaosagent.faults.schedule import Schedule, parse, schedule
from chaosagent.limits import StudyLimits
from chaosagent.searchers.proof import frontier
from chaosagent.searchers.proof.frontier import Child, Family, Frontier, Origin
from chaosagent.searchers.proof.parked import Parked
from chaosagent.searchers.seen.points import Candidate
from chaosagent.searchers.seen.trial_log import TrialLog
from chaosagent.seeds import derive
from chaosagent.study.loop.study import Study
from chaosagent.study.memory import spill
from chaosagent.study.memory.evaluation_log import EvaluationLog, ScheduleSet
from chaosagent.study.memory.spill import Spill
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.study.sink import Sink
from chaosagent.study.task_seed import TaskSeed
from chaosagent.targets.target import Target
from tests.lab.targets.programs import target_of
from tests.lab.targets.random_cases import needles, random_case

INJECTIONS = tuple(parse("; ".join(f"service:s[{number}] service.lost_response" for number in range(1, 8))))
LAST = parse("service:s[1] service.lost_response; service:s[7] service.lost_response")


def plan_of(seed: int, searcher: str) -> Plan:
    case = random_case(seed)
    target: Target = target_of(case.program)
    return Plan(
        target=target,
        target_reference=target.name,
        config=next(iter(target.configs.values())),
        tasks=tuple(target.tasks.values()),
        seeds=(0, 1),
        contracts=needles(case.number),
        space=case.bench().space,
        budget=3.6,
        searcher=searcher,
        limits=StudyLimits(trials_max=150),
        all_minimal=seed % 3 == 0,
    )


class Runs(Sink):
    """Keeps what the runs of one seed told."""

    def __init__(self) -> None:
        self.told: list[Evaluation] = []

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        if at.seed == 0:
            self.told.append(evaluation)


def run(plan: Plan) -> StudyResult:
    return replace(Study(plan, InlineExecutor(plan.workbench())).run(), seconds=0.0, cold_seconds=0.0)


@pytest.mark.parametrize(
    ("searcher", "seed"),
    [
        ("exact", 0),
        ("anytime", 1),
        *[pytest.param(one, seed, marks=pytest.mark.slow) for one in ("exact", "anytime") for seed in range(2, 6)],
        *[pytest.param(one, 3, marks=pytest.mark.slow) for one in ("random", "beam", "adversary")],
    ],
)
def test_a_study_that_keeps_nearly_nothing_in_memory_is_the_same(
    searcher: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(seed, searcher)
    in_memory = run(plan)

    written: list[int] = []
    put = Spill.put

    def noted(self: Spill, log: int, runs: Sequence[tuple[int, Evaluation]]) -> None:
        written.append(len(runs))
        put(self, log, runs)

    monkeypatch.setattr(spill, "ROOM", 2)
    monkeypatch.setattr(spill, "PARTS_MAX", 5)
    monkeypatch.setattr(frontier, "ROOM", 2)
    monkeypatch.setattr(Spill, "put", noted)

    assert run(plan) == in_memory
    assert in_memory.executions < 20 or written


def test_runs_come_back_from_disk_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "ROOM", 2)
    plan, runs = plan_of(4, "exact"), Runs()
    Study(plan, InlineExecutor(plan.workbench()), sinks=[runs]).run()
    log = EvaluationLog(Spill())
    for one in runs.told:
        log.add(one.schedule, one)

    assert len(runs.told) > 20
    assert list(log) == runs.told
    assert [log.get(one.schedule) for one in runs.told] == runs.told
    assert log.get(LAST) is None


def test_logs_that_share_a_file_know_only_their_own_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "ROOM", 1)
    file = Spill()
    one, other = EvaluationLog(file), EvaluationLog(file)
    for number, injection in enumerate(INJECTIONS):
        alone = schedule([injection])
        (one if number % 2 else other).add(alone, Evaluation(alone, digest=str(number)))

    assert [run.digest for run in one] == ["1", "3", "5"]
    assert [run.digest for run in other] == ["0", "2", "4", "6"]
    assert schedule([INJECTIONS[0]]) not in one

    one.forget()

    assert [run.digest for run in other] == ["0", "2", "4", "6"]


def test_a_set_holds_what_was_added_before_its_run_was_there_and_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "ROOM", 1)
    log = EvaluationLog(Spill())
    some, told = ScheduleSet(log), TrialLog(log)
    for number, injection in enumerate(INJECTIONS):
        alone = schedule([injection])
        if number % 2:
            some.add(alone)
        run_of_it = Evaluation(alone, digest=str(number))
        log.add(alone, run_of_it)
        if number % 3:
            some.add(alone)
            assert told.take(run_of_it)
            assert not told.take(run_of_it)

    assert [schedule([one]) in some for one in INJECTIONS] == [number % 6 != 0 for number in range(7)]
    assert [run.digest for run in told] == ["1", "2", "4", "5"]
    assert [schedule([one]) in told for one in INJECTIONS] == [number % 3 != 0 for number in range(7)]
    assert LAST not in some
    assert len(told) == 4


def test_a_full_disk_is_told_with_what_to_do_and_loses_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "ROOM", 2)
    file = Spill()
    log = EvaluationLog(file)
    kept = [Evaluation(schedule([one]), digest=str(number)) for number, one in enumerate(INJECTIONS)]
    for one in kept[:4]:
        log.add(one.schedule, one)
    file._opened().rows("PRAGMA max_page_count = 1")  # SQLite takes it for the number of pages that there are

    def add_pairs() -> None:
        for one, other in combinations(INJECTIONS, 2):
            both = schedule([one, other])
            log.add(both, Evaluation(both, error="long" * 10_000))

    with pytest.raises(StudyError, match="SQLITE_TMPDIR"):
        add_pairs()
    assert [log.at(number).digest for number in range(4)] == ["0", "1", "2", "3"]
    assert [run.schedule in log for run in log] == [True] * len(log)


class Families:
    """Random families of children, and the order in which they come when all are in memory."""

    def __init__(self, seed: int) -> None:
        rng = derive(seed, "families")
        self.families: dict[str, tuple[Origin, list[Candidate]]] = {}
        for text in rng.sample([*map(str, map(schedule, ([one] for one in INJECTIONS))), "", str(LAST)], 6):
            parent = parse(text)
            free = [one for one in INJECTIONS if one not in parent.injections]
            cost = float(len(parent))
            known = [Candidate(rng.choice([0.5, 1.0, 1.5]), rng.randrange(9), one) for one in free]
            self.families[text] = Origin(parent, cost, rng.randrange(3), Evaluation(parent)), sorted(known)[:4]
        self.rng = rng

    def push_all(self, found: Frontier) -> None:
        for origin, known in self.families.values():
            child = Family(origin, known, len(known), float("inf"), 0).next_child()
            assert child is not None
            found.push(child)

    def revive(self, one: Parked) -> Child:
        origin, known = self.families[one.child[2]]
        child = Family(origin, known, one.affordable, one.last, one.exchanges, first=one.child[4]).next_child()
        assert child is not None
        return child


def taken(found: Frontier) -> list[tuple[float, Schedule, Injection | None]]:
    order: list[tuple[float, Schedule, Injection | None]] = []
    while found:
        assert found.first is found.first
        child = found.pop()
        order.append((child.cost, child.parent, child.injection))
        following = None if child.family is None else child.family.next_child()
        if following is not None:
            found.push(following)
    return order


@pytest.mark.parametrize("seed", range(40))
def test_children_on_disk_come_in_the_order_in_which_they_would_in_memory(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    families, in_memory = Families(seed), Frontier()
    families.push_all(in_memory)
    expected = taken(in_memory)

    monkeypatch.setattr(frontier, "ROOM", 1 + seed % 3)
    on_disk = Frontier(families.revive)
    families.push_all(on_disk)

    assert taken(on_disk) == expected
    assert len(expected) == sum(len(known) for _, known in families.families.values())

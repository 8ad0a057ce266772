"""A resumed study reads from its store what its searches asked, and goes on like an uninterrupted one."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.faults.space import Space
from chaosagent.limits import StudyLimits
from chaosagent.searchers.anytime import AnytimeSearcher
from chaosagent.study.checked_searcher import CheckedSearcher
from chaosagent.study.loop import search_group
from chaosagent.study.loop.asked_before import AskedBefore, StoredTrials
from chaosagent.study.loop.resume_state import NOTHING_EARLIER
from chaosagent.study.loop.search_group import TOLD_AT_ONCE, SearchGroup
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.study.searcher import Proposal, Purpose
from chaosagent.study.sink import Sink
from chaosagent.study.store.study_store import StudyStore
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial
from chaosagent.targets.loading import load_target
from tests.lab.soundness.programs import target_of
from tests.lab.soundness.random_programs import random_case
from tests.thorough import part_of

FAULTS = [parse(f"service:pay[{number}] service.timeout") for number in range(1, 5)]


def triage(trials_max: int = 40) -> Plan:
    found = load_target("triage")
    return Plan(
        target=found,
        target_reference="triage",
        config=found.config("naive"),
        tasks=(found.task("cancel-shipped"),),
        seeds=(0,),
        contracts=default_contracts(),
        space=Space(),
        budget=3.3,
        limits=StudyLimits(trials_max=trials_max),
    )


def random_plan(seed: int) -> Plan:
    case = random_case(seed)
    system = target_of(case.program)
    return replace(
        triage(60),
        target=system,
        target_reference=system.name,
        config=next(iter(system.configs.values())),
        tasks=tuple(system.tasks.values()),
        space=Space(case.choices),
        budget=case.budget,
    )


class Log(Sink):
    """Keeps what each search asked, and interrupts the study at a trial."""

    def __init__(self, end: float = float("inf")) -> None:
        self.asked: defaultdict[str, list[tuple[Purpose, Schedule]]] = defaultdict(list)
        self.count, self._end = 0, end

    def trial(self, at: TaskSeed, contract: str, trial: Trial) -> None:
        del at
        self.asked[contract].append((trial.purpose, trial.schedule))
        self.count += 1
        if self.count >= self._end:
            raise KeyboardInterrupt


def session(folder: Path, plan: Plan, log: Log) -> StudyResult:
    is_first = not folder.exists()
    store = StudyStore.create(folder, plan, "") if is_first else StudyStore.resume(folder, plan)
    earlier = NOTHING_EARLIER if is_first else store.earlier()
    result = Study(plan, InlineExecutor(plan.workbench()), sinks=[store, log], earlier=earlier).run()
    store.close("" if result.interrupted else result.digest)
    return result


def essence(result: StudyResult) -> list[object]:
    found = [(str(one.certificate), one.counterexample and one.counterexample.id) for one in result.searches]
    return [result.digest, result.trials, result.executions, found]


def check_resumed(folder: Path, plan: Plan, ends: Sequence[int]) -> None:
    """Compare a study that was interrupted at trials, and resumed, with one that was not."""
    whole = Log()
    expected = session(folder / "whole", plan, whole)
    for end in (*ends, float("inf")):
        resumed = Log(end)
        result = session(folder / "parts", plan, resumed)
        if not result.interrupted:
            break

    assert resumed.asked == whole.asked
    assert essence(result) == essence(expected)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(part_of(12)))
def test_an_interrupted_study_asks_and_concludes_what_an_uninterrupted_one_does(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    plan = triage() if seed == 0 else random_plan(seed)
    plan = replace(plan, lookahead=rng.choice([1, 1, 3]), all_minimal=rng.random() < 0.3)
    check_resumed(tmp_path, plan, [rng.randrange(1, 150) for _ in range(2)])


def test_searches_are_not_asked_for_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = random_plan(1)
    log = Log(30)
    session(tmp_path / "study", plan, log)
    asked: list[int] = []
    ask = AnytimeSearcher.ask

    def counted(self: AnytimeSearcher, count: int) -> list[Proposal]:
        asked.append(count)
        return ask(self, count)

    monkeypatch.setattr(AnytimeSearcher, "ask", counted)

    session(tmp_path / "study", plan, Log(30))

    assert sum(asked) <= len(log.asked)  # one behind the stored trials of each


@pytest.mark.slow
@pytest.mark.parametrize("contracts", [1, 9])
def test_a_study_is_told_how_far_it_is_while_it_goes_over_stored_trials(
    contracts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = replace(triage(60), contracts=default_contracts()[:contracts])
    session(tmp_path / "study", plan, Log(50))
    monkeypatch.setattr(search_group, "TOLD_AT_ONCE", 8)
    told: list[int] = []
    log = Log(50)
    advance = SearchGroup.advance

    def counted(self: SearchGroup, *given: object) -> bool:
        before = log.count
        moved = advance(self, *given)  # type: ignore[arg-type]
        told.append(log.count - before)
        return moved

    monkeypatch.setattr(SearchGroup, "advance", counted)
    session(tmp_path / "study", plan, log)

    assert len(told) > 3
    assert max(told) <= 8 < TOLD_AT_ONCE


class Recalling:
    """Asks for one fault after another, whatever was stored."""

    def __init__(self) -> None:
        self.known: list[tuple[Proposal, int]] = []
        self._left = [Proposal(fault) for fault in FAULTS]

    def ask(self, count: int) -> list[Proposal]:
        asked, self._left = self._left[:count], self._left[count:]
        return asked

    def ask_as_before(self, proposal: Proposal, left: int) -> list[Proposal]:
        self.known.append((proposal, left))
        return self.ask(1)


def asked_with(stored: Sequence[Proposal]) -> list[tuple[Proposal, int]]:
    """Ask four times, the second time without room, and return what the searcher was told of what was stored."""
    searcher: Recalling = Recalling()
    count = sum(one.purpose is not Purpose.SHRINK for one in stored)
    before = AskedBefore(StoredTrials(count, lambda first: stored[first : first + 2]))
    checked: CheckedSearcher = searcher  # type: ignore[assignment]  # it needs no more of it
    number = 0
    for room in (1, 0, 1, 1, 1):
        number += len(before.ask(checked, room, number)) if room else len(before.ask(checked, 0, number)) + 1
    return searcher.known


def test_a_searcher_is_told_what_it_asked_until_that_is_over() -> None:
    stored = [Proposal(FAULTS[0]), Proposal(EMPTY, Purpose.SHRINK), Proposal(FAULTS[1])]

    assert asked_with(stored) == [(stored[0], 1), (stored[2], 0)]


def test_what_was_stored_is_not_used_behind_what_was_asked_otherwise() -> None:
    stored = [Proposal(FAULTS[3]), Proposal(EMPTY, Purpose.SHRINK), Proposal(FAULTS[1]), Proposal(FAULTS[2])]

    assert asked_with(stored) == [(stored[0], 2)]

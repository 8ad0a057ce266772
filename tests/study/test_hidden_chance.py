"""Chance that shows only behind a fault, in targets whose runs without injections all agree."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.effects.rule import effect
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import parse
from chaosagent.faults.space import Choices, Space
from chaosagent.replays.codec import decode, encode
from chaosagent.replays.outcome import Replay, ReplayOutcome, RunsMax
from chaosagent.replays.record import ReplayRecord, record_of
from chaosagent.replays.rerun import rerun_schedule
from chaosagent.report.page import Page
from chaosagent.report.proofs.chance import report_chance
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.study.store.files import ANSWERS_NAME
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, SystemConfig, Task, Verdict

AT_MOST_ONCE = next(contract for contract in default_contracts() if contract.id == "at-most-once")
LOST = parse("service:bank[1] service.lost_response(when=after)")


def hasty(share: float, seed: int = 0) -> Target:
    """An agent that pays again after a failure, in some share of the runs, and draws that by itself."""
    chance = random.Random(seed)

    @target(name="hasty", tasks=[Task("pay")], configs=[SystemConfig("default")])
    async def agent(task: Task, run: Run) -> Outcome:
        del task
        bank = run.service("bank", {"pay": lambda: 1}, effects={"pay": effect()})
        try:
            await bank("pay")
        except ConnectionError:
            if chance.random() < share:
                await bank("pay")
        return Outcome("paid", success=True)

    return agent


def plan_of(system: Target, folder: Path) -> Plan:
    return Plan(
        target=system,
        target_reference="hasty",
        config=system.config("default"),
        tasks=tuple(system.tasks.values()),
        seeds=(0,),
        contracts=(AT_MOST_ONCE,),
        contract_specs=(AT_MOST_ONCE.id,),
        space=Space([Choices("service.lost_response", {"when": ("after",)})]),
        budget=1.3,
        answers=folder / ANSWERS_NAME,
    )


def lottery(share: float, seed: int) -> Target:
    """An agent that pays twice more in some share of the runs in which a fault has hit it."""
    chance = random.Random(seed)

    @target(name="lottery", tasks=[Task("pay")], configs=[SystemConfig("default")])
    async def agent(task: Task, run: Run) -> Outcome:
        del task
        orders = run.service("orders", {"find": lambda: 1}, read_only=True)
        bank = run.service("bank", {"pay": lambda: 1}, effects={"pay": effect()})
        faults = 0
        for operation in (*[partial(orders, "find")] * 3, partial(bank, "pay")):
            try:
                await operation()
            except Exception:
                faults += 1
        if faults and chance.random() < share:
            await bank("pay")
            await bank("pay")
        return Outcome("paid", success=True)

    return agent


def search(plan: Plan) -> StudyResult:
    return Study(plan, InlineExecutor(plan.workbench())).run()


def test_chance_behind_the_only_fault_of_a_small_study_is_noticed(tmp_path: Path) -> None:
    noticed = 0
    for seed in range(20):
        (tmp_path / str(seed)).mkdir()
        result = search(plan_of(hasty(0.5, seed), tmp_path / str(seed)))
        noticed += bool(result.unlike)
        assert all("Likely cause: " in where for where in result.unlike)
        assert bool(result.unlike) != any(one.certificate.safe or one.certificate.certified for one in result.searches)
    assert noticed >= 7  # two runs differ in half of the studies; without a repeat, in none that saw no violation


@pytest.mark.parametrize("all_minimal", [False, True])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
def test_chance_makes_no_counterexample_above_the_budget_and_none_that_is_minimal(
    tmp_path: Path, share: float, all_minimal: bool
) -> None:
    operators = [
        Choices("service.lost_response", {"when": ("before", "after")}),
        Choices("service.error_status", {"status": (500,), "when": ("before",)}),
    ]
    for seed in range(6):
        (tmp_path / str(seed)).mkdir()
        plan = plan_of(lottery(share, seed), tmp_path / str(seed))
        plan = replace(plan, space=Space(operators), budget=2.2, all_minimal=all_minimal)
        result = search(plan)

        (of_contract,) = result.searches
        assert not result.counterexamples or result.unlike
        assert not of_contract.certificate.disproved
        for found in result.counterexamples:
            assert found.cost <= plan.budget + COST_TOLERANCE, found.schedule.text
            assert found.trace.verdict(found.contract).verdict is Verdict.VIOLATED
            assert not found.minimal
            assert not found.certificate.certified


def test_a_violation_that_never_happens_again_is_no_counterexample(tmp_path: Path) -> None:
    faulty_runs = itertools.count()

    @target(name="once", tasks=[Task("pay")], configs=[SystemConfig("default")])
    async def agent(task: Task, run: Run) -> Outcome:
        del task
        bank = run.service("bank", {"pay": lambda: 1}, effects={"pay": effect()})
        try:
            await bank("pay")
        except ConnectionError:
            if next(faulty_runs) == 0:
                await bank("pay")
        return Outcome("paid", success=True)

    result = search(plan_of(agent, tmp_path))

    (of_contract,) = result.searches
    assert not result.counterexamples
    assert result.unlike
    (doubtful,) = of_contract.doubtful
    assert (doubtful.schedule, doubtful.confirmation.violations, doubtful.confirmation.runs) == (LOST, 0, 21)
    assert not of_contract.certificate.safe
    page = Page()
    report_chance(page, result, declared=False)
    assert "Seen violating, but not confirmed by fresh runs, so not among the counterexamples:" in page.text()


def found_in(folder: Path, share: float) -> ReplayRecord:
    """Return the record of a counterexample that did not repeat."""
    for seed in range(50):
        plan = plan_of(hasty(share, seed), folder)
        result = search(plan)
        if result.unlike and result.counterexamples:
            (found,) = result.counterexamples
            assert not found.certificate.certified
            assert found.trace.verdict(found.contract).verdict is Verdict.VIOLATED
            assert found.confirmation is not None
            assert found.confirmation.interval.low <= share <= found.confirmation.interval.high
            return decode(encode(record_of(found, plan)), "record")
    raise AssertionError("no study has seen a violation that did not repeat")


def told(record: ReplayRecord, system: Target) -> Replay:
    return rerun_schedule(record, system, runs_max=RunsMax(draws=20))


def test_the_replay_of_what_did_not_repeat_draws_and_tells_a_share(tmp_path: Path) -> None:
    record = found_in(tmp_path, 0.3)

    assert record.stochastic
    for seed in range(10):  # a single run would hold in seven of ten
        replay = told(record, hasty(0.3, seed))
        assert replay.outcome is ReplayOutcome.VIOLATED
        assert any(" of 20 runs (P 0." in note for note in replay.notes)


def test_the_replay_of_what_did_not_repeat_says_of_how_many_runs_it_holds(tmp_path: Path) -> None:
    record = found_in(tmp_path, 0.3)
    replay = told(record, hasty(0.0))

    assert replay.outcome is ReplayOutcome.HELD
    assert "the target draws by itself: violated in 0 of 20 runs (P 0.00 to 0.16)" in replay.notes

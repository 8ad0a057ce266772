"""A schedule that breaks several contracts is one weakness, and a contract broken by another's schedule is broken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.effects.rule import effect
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Answering
from chaosagent.faults.space import Choices, Space
from chaosagent.report.findings import Findings, findings_page
from chaosagent.report.page import Page
from chaosagent.report.weaknesses import broken_by, broken_elsewhere, contracts_by_schedule, report_overlaps
from chaosagent.study.determinism.determinism import Determinism
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, Task


@target(name="careless", tasks=[Task("default")])
async def careless(task: Task, run: Run) -> Outcome:
    """Pays again when it does not hear, and crashes over its books."""
    del task
    books: list[int] = []
    pay = run.service("pay", {"pay": lambda: books.append(1)}, effects={"pay": effect()})
    for _ in range(2):
        try:
            await pay("pay")
            break
        except ConnectionError:
            continue
    if len(books) > 1:
        raise RuntimeError("paid twice")
    return Outcome("paid", success=True)


def plan_of(system: Target) -> Plan:
    return Plan(
        target=system,
        target_reference=system.name,
        config=next(iter(system.configs.values())),
        tasks=tuple(system.tasks.values()),
        seeds=(0,),
        contracts=default_contracts(),
        space=Space((Choices("service.lost_response", {}),)),
        budget=1.2,
    )


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of(careless)


@pytest.fixture(scope="module")
def result(plan: Plan) -> StudyResult:
    return Study(plan, InlineExecutor(plan.workbench())).run()


def without(result: StudyResult, contract: str) -> StudyResult:
    """Return a result whose search for one contract has ended before it met anything."""
    searches = [
        replace(one, counterexamples=(), certificate=replace(one.certificate, cost=None, lower_bound=0.0))
        if one.contract == contract
        else one
        for one in result.searches
    ]
    return replace(result, searches=tuple(searches))


def test_the_contracts_that_a_schedule_breaks_stand_together(result: StudyResult) -> None:
    groups = contracts_by_schedule(result.counterexamples)
    page = Page()
    report_overlaps(page, result)

    assert any(len(contracts) > 1 for contracts in groups.values())
    assert len(groups) < len(result.counterexamples)
    assert "different schedule" in page.text()
    for contracts in groups.values():
        assert len(contracts) < 2 or ", ".join(contracts) in page.text()


def test_a_contract_that_only_anothers_schedule_breaks_is_not_shown_as_whole(plan: Plan, result: StudyResult) -> None:
    (found, *_) = [one for one in result.counterexamples if len(broken_by(one)) > 1]
    missed = without(result, found.contract)

    assert broken_elsewhere(result) == {}
    assert broken_elsewhere(missed) == {found.contract: 1}
    told = findings_page(Findings(plan, missed, {}, Path("out"))).text()
    (line,) = [line for line in told.splitlines() if line.split()[:1] == [found.contract] and "elsewhere" in line]
    assert "1 elsewhere" in line


def test_of_a_stochastic_target_nothing_is_said_that_was_not_confirmed(result: StudyResult) -> None:
    (found, *_) = [one for one in result.counterexamples if len(broken_by(one)) > 1]
    chance = replace(without(result, found.contract), nature=Determinism(Answering.FROZEN, "it draws"))
    page = Page()
    report_overlaps(page, chance)

    assert broken_elsewhere(chance) == {}
    assert page.text() == Page().text()

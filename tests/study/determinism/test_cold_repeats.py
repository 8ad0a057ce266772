"""Repeats in processes of their own: their progress is shown, and without them nothing is proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.effects.rule import effect
from chaosagent.execution.workers.executor import Executor, Finished, InlineExecutor
from chaosagent.faults.space import Choices, Space
from chaosagent.report.findings import Findings, findings_page
from chaosagent.report.page import Page
from chaosagent.report.proofs.proof_warnings import report_unrepeated
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyProgress, StudyResult
from chaosagent.study.sink import Sink
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, SystemConfig, Task

AT_MOST_ONCE = next(contract for contract in default_contracts() if contract.id == "at-most-once")


@target(name="payer", tasks=[Task("pay")], configs=[SystemConfig("default")])
async def payer(task: Task, run: Run) -> Outcome:
    bank = run.service("bank", {"pay": lambda: 1, "look": lambda: 1}, effects={"pay": effect()}, read_only=["look"])
    try:
        for _ in range(5 if task.id == "pay later" else 0):
            await bank("look")
        await bank("pay")
    except ConnectionError:
        return Outcome("not paid", success=False)
    return Outcome("paid", success=True)


@pytest.fixture
def plan() -> Plan:
    return Plan(
        target=payer,
        target_reference="payer",
        config=payer.config("default"),
        tasks=tuple(payer.tasks.values()),
        seeds=(0,),
        contracts=(AT_MOST_ONCE,),
        contract_specs=(AT_MOST_ONCE.id,),
        space=Space([Choices("service.lost_response", {"when": ("before", "after")})]),
        budget=1.3,
    )


class Interrupted(InlineExecutor):
    """An executor that a person interrupts who has seen enough runs of it."""

    def __init__(self, plan: Plan, runs_max: int) -> None:
        super().__init__(plan.workbench())
        self._left = runs_max

    def next_finished(self) -> Finished:
        self._left -= 1
        if self._left < 0:
            raise KeyboardInterrupt
        return super().next_finished()


class Shown(Sink):
    """Keeps the progress of repeats."""

    def __init__(self) -> None:
        self.repeats: list[tuple[int, int] | None] = []

    def progress(self, progress: StudyProgress) -> None:
        self.repeats.append(progress.repeats)


def search(plan: Plan, elsewhere: Callable[[int], Executor], *sinks: Sink) -> StudyResult:
    return Study(plan, InlineExecutor(plan.workbench()), sinks=sinks, elsewhere=elsewhere).run()


def patient(plan: Plan, runs_max: int) -> Callable[[int], Executor]:
    """Return what opens a process for the checks before a search, and then one that is interrupted."""
    opened: list[int] = []

    def elsewhere(number: int) -> Executor:
        opened.append(number)
        return InlineExecutor(plan.workbench()) if len(opened) == 1 else Interrupted(plan, runs_max)

    return elsewhere


@pytest.mark.parametrize("runs_max", [0, 1])
def test_nothing_is_proved_where_an_interrupt_comes_before_the_repeats_are_made(plan: Plan, runs_max: int) -> None:
    result = search(plan, patient(plan, runs_max))

    (certificate,) = [one.certificate for one in result.searches]
    assert result.interrupted
    assert not any((certificate.safe, certificate.certified, certificate.complete, certificate.proved))
    assert str(certificate).startswith("nothing is proved yet: the study ended before its runs were repeated")
    page = Page()
    report_unrepeated(page, plan, result)
    assert "Nothing is proved yet in one search" in page.text()
    assert "--resume" in page.text()


def test_searches_that_had_not_finished_are_counted(plan: Plan) -> None:
    two_tasks = replace(payer, tasks={"pay": Task("pay"), "pay later": Task("pay later")})
    plan = replace(plan, target=two_tasks, tasks=tuple(two_tasks.tasks.values()))

    result = search(plan, patient(plan, 1))

    page = findings_page(Findings(plan, result, {}, Path("out"))).text()
    assert "Nothing is proved yet in two searches:" in page
    assert "One search had not finished." in page


def test_a_study_that_is_not_interrupted_makes_them_and_shows_how_many(plan: Plan) -> None:
    shown = Shown()

    result = search(plan, lambda number: InlineExecutor(plan.workbench()), shown)  # noqa: ARG005

    (certificate,) = [one.certificate for one in result.searches]
    assert certificate.safe
    made = [one for one in shown.repeats if one is not None]
    assert made == [(number, result.cold_repeats) for number in range(result.cold_repeats)]
    assert shown.repeats[-1] is None

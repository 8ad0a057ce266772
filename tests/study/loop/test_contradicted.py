"""What contradicts rule R3 in one search of a task holds for all its searches: checkpoints are the target's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.report.findings import Findings, findings_page
from chaosagent.study.certificate import Certificate
from chaosagent.study.loop.build_certificate import contradicted_tasks, without_contradicted_proofs
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyResult
from tests.lab.soundness.particular import Particular

CASE = Particular(0, 2)
PROVED = Certificate("C2", None, float("inf"), 2.2, 10, {"R3": 5})
CONTRADICTED = Certificate("C1", None, float("inf"), 2.2, 10, contradictions=1, contradicted=("R3",))


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Return the plan of a study with two contracts, of which one is never broken."""
    target = CASE.target()
    return Plan(
        target=target,
        target_reference=target.name,
        config=target.config("default"),
        tasks=tuple(target.tasks.values()),
        seeds=(0,),
        contracts=(parse_contract("no-crash"), parse_contract("at-most-once")),
        space=CASE.space(),
        budget=CASE.budget,
        searcher="exact",
    )


@pytest.fixture(scope="module")
def result(plan: Plan) -> StudyResult:
    """Return what it came to."""
    return Study(plan, InlineExecutor(plan.workbench())).run()


def test_the_other_search_of_the_task_searches_on_without_the_rule(result: StudyResult) -> None:
    safe, broken = (search.certificate for search in result.searches)

    assert broken.contradicted == ("R3",)
    assert broken.certified
    assert (safe.level, safe.pruned.get("R3", 0), safe.contradictions) == ("C1", 0, 0)
    assert safe.safe
    assert "Rule R3 was contradicted in the search for at-most-once, and it was switched off here, too" in str(safe)


def test_the_report_says_which_search_contradicted_the_rule_and_what_to_do(plan: Plan, result: StudyResult) -> None:
    page = " ".join(findings_page(Findings(plan, result, {}, Path("out"))).text().split())

    assert "Rule R3 was contradicted in the search for at-most-once (task 'only')" in page
    assert "one other search of that task did without it" in page
    assert "Declare the variable, or search without the rule: `settings: {r3: false}`." in page
    assert "on checkpoints that leave something out" not in page  # no proof rests on the rule any more


def results(*certificates: Certificate) -> list[SearchResult]:
    return [
        SearchResult(
            task_id="t",
            seed=seed,
            contract="no-crash",
            trials=1,
            violated_nominally=False,
            counterexamples=(),
            certificate=certificate,
        )
        for seed, certificate in enumerate(certificates)
    ]


def test_what_a_search_with_another_seed_proved_with_the_rule_is_withdrawn() -> None:
    proved, contradicted = results(PROVED, CONTRADICTED)

    found = without_contradicted_proofs(proved, contradicted_tasks([proved, contradicted]))

    assert (found.level, found.lower_bound, found.safe) == ("C0", 0.0, False)
    assert "Rule R3 was contradicted in the search for no-crash, and what rested on it is withdrawn" in str(found)


def test_what_does_not_rest_on_the_rule_stays_as_does_what_is_proved_of_other_tasks() -> None:
    without, elsewhere, contradicted = results(replace(PROVED, level="C1", pruned={}), PROVED, CONTRADICTED)
    elsewhere = replace(elsewhere, task_id="other")
    known = contradicted_tasks([without, elsewhere, contradicted])

    assert without_contradicted_proofs(without, known) == without.certificate
    assert without_contradicted_proofs(elsewhere, known) == PROVED
    assert without_contradicted_proofs(contradicted, known) == CONTRADICTED

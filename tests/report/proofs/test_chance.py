"""What is told of chance: where answers come by it, and which counterexample may be due to it."""

import json
from dataclasses import replace

import pytest

from chaosagent.execution.workers.workbench import Answering
from chaosagent.faults.schedule import EMPTY
from chaosagent.report.findings import Findings, findings_page
from chaosagent.report.findings_json import findings_json
from chaosagent.study.chance.confirmation import CleanRuns, Confirmation
from chaosagent.study.chance.racing import UnconfirmedViolation
from chaosagent.study.chance.worlds import UnvisitedSites
from chaosagent.study.determinism.determinism import DECLARED, Determinism
from chaosagent.study.divergence import likely_cause
from chaosagent.study.result import SearchResult
from chaosagent.trace.diff import Difference


def by_chance(findings: Findings, confirmation: Confirmation, reason: str = "") -> Findings:
    """Return the findings as if the target answered by chance."""
    searches = tuple(
        replace(
            search,
            counterexamples=tuple(replace(found, confirmation=confirmation) for found in search.counterexamples),
        )
        for search in findings.result.searches
    )
    result = replace(findings.result, searches=searches, nature=Determinism(Answering.FROZEN, reason))
    return replace(findings, result=result)


def test_what_may_be_chance_is_not_called_certified_and_is_explained(findings: Findings) -> None:
    page = findings_page(by_chance(findings, Confirmation(3, 20, 1, 20, 0))).text()

    assert "certified" not in page
    rows = [line for line in page.splitlines() if "may be chance" in line]
    assert len(rows) == 5
    assert [row.endswith("may be chance") for row in rows[2:4]] == [True, True]
    assert rows[4].startswith("  may be chance: violations are not significantly more frequent with the schedule")


def test_what_is_confirmed_stays_certified_and_needs_no_explanation(findings: Findings) -> None:
    page = findings_page(by_chance(findings, Confirmation(20, 20, 0, 20, 0))).text()

    assert page.count("certified") == 2
    assert "may be chance" not in page


@pytest.mark.parametrize(
    ("declared", "reason", "told"),
    [
        (True, DECLARED, "these answers. The study file says so (`stochastic: true`).\n"),
        (None, DECLARED, "these answers. The session of the study that began it has found that.\n"),
        (None, "task 'a': here", "these answers. Two runs without injections differ: task 'a': here\n"),
    ],
)
def test_who_says_that_a_target_is_stochastic(
    findings: Findings,
    declared: bool | None,
    reason: str,
    told: str,
) -> None:
    found = by_chance(findings, Confirmation(20, 20, 0, 20, 0), reason)

    assert told in findings_page(replace(found, plan=replace(found.plan, stochastic=declared))).text()


def test_where_runs_did_not_repeat_the_likely_cause_is_not_cut_off_and_a_model_by_chance_is_thought_of(
    findings: Findings,
) -> None:
    cause = likely_cause(Difference(3, "answer", "x", "y"))
    unlike = (f"task 'a', seed 0: step 3, answer: expected {'x' * 700!r}, got 'y'. Likely cause: {cause}",)
    page = findings_page(replace(findings, result=replace(findings.result, unlike=unlike))).text()
    steady = findings_page(findings).text()

    assert "task 'a', seed 0: step 3" in page
    assert f"Likely cause: {cause}\n" in page
    assert "say `stochastic: true` in the study file" in page
    assert "stochastic" not in steady


def test_of_several_the_schedule_tells_which_is_meant(findings: Findings) -> None:
    told = by_chance(findings, Confirmation(9, 10, 0, 10, 0))
    one = findings_page(told).text()
    searches = tuple(replace(search, counterexamples=search.counterexamples * 2) for search in told.result.searches)
    two = findings_page(replace(told, result=replace(told.result, searches=searches))).text()

    assert all("lost_response" not in line for line in one.splitlines() if "9 of 10" in line)
    rows = [line for line in two.splitlines() if "9 of 10" in line]
    assert len(rows) == 4
    assert all("service.lost_response" in line for line in rows)


def test_where_nothing_was_confirmed_the_clean_runs_are_told_and_nothing_is_called_proved(findings: Findings) -> None:
    told = by_chance(findings, Confirmation(9, 10, 0, 10, 0))
    safe = [search for search in told.result.searches if search.certificate.safe]
    clean = CleanRuns(3, 14, 0.05, dropped=1)
    searches = tuple(
        replace(one, certificate=replace(one.certificate, level="S", clean=clean, frozen=True)) for one in safe
    )
    shown = replace(told, result=replace(told.result, searches=searches))
    page = findings_page(shown).text()
    frozen = findings_page(replace(told, result=replace(told.result, searches=tuple(safe)))).text()

    assert (
        "Nothing of cost up to 1.2 in the declared space was confirmed to break any contract in all 4 searches" in page
    )
    assert "at least 14 clean runs with other answers of each class" in page
    assert "each violates in less than 0.19 of runs (error 0.05 each); four classes dropped as chance." in page
    assert "with the frozen answers of this study only" in frozen
    told_in_json = json.loads(json.dumps(findings_json(shown)))["searches"]
    assert all(one["safe"] is False and one["certified"] is False for one in told_in_json)
    assert all(one["shown"]["none_within_budget_confirmed"] for one in told_in_json)
    assert all(one["shown"]["clean"]["runs"] == 14 for one in told_in_json)
    assert "proved for" not in page + frozen
    assert "proved up to" not in page + frozen


def test_what_is_undecided_is_listed_as_that_and_not_as_chance(findings: Findings) -> None:
    told = by_chance(findings, Confirmation(9, 10, 0, 10, 0))
    undecided = Confirmation(2, 200, 0, 200, evidence=2.0, undecided=True)
    decided = replace(undecided, undecided=False)
    doubtful = (UnconfirmedViolation(EMPTY, 1.1, undecided), UnconfirmedViolation(EMPTY, 1.2, decided))
    searches = (replace(told.result.searches[0], doubtful=doubtful),)
    page = findings_page(replace(told, result=replace(told.result, searches=searches))).text()
    rows = [line for line in page.splitlines() if "2 of 200" in line]

    assert ["undecided" in row for row in rows] == [True, False]
    assert ["dropped as chance" in row for row in rows] == [False, True]


def test_what_is_cheapest_by_chance_is_called_neither_certified_nor_proved(findings: Findings) -> None:
    told = by_chance(findings, Confirmation(20, 20, 0, 20, 0))
    clean = CleanRuns(3, 17, 0.025)

    def shown(search: SearchResult) -> SearchResult:
        certificate = replace(search.certificate, frozen=True, level="S", clean=clean)
        found = tuple(replace(one, certificate=certificate) for one in search.counterexamples)
        return replace(search, certificate=certificate, counterexamples=found)

    searches = tuple(map(shown, told.result.searches))
    page = findings_page(replace(told, result=replace(told.result, searches=searches))).text()

    assert "cheapest in 17 clean runs" in page
    assert "certified" not in page
    assert "proved" not in page


def test_places_that_no_search_saw_are_named(findings: Findings) -> None:
    told = by_chance(findings, Confirmation(20, 20, 0, 20, 0))
    unseen = (UnvisitedSites("service:payments[3]", "refund", 1.1),)
    searches = tuple(
        replace(one, certificate=replace(one.certificate, frozen=True, unseen=unseen, lower_bound=1.1))
        for one in told.result.searches
    )
    left = replace(told, result=replace(told.result, searches=searches))
    page = findings_page(left).text()

    assert "another draw of the answers reached service:payments[3] (refund), which this search never saw" in page
    assert "Another draw of the answers reached service:payments[3]" in str(searches[0].certificate)
    told_in_json = json.loads(json.dumps(findings_json(left)))["searches"]
    assert told_in_json[0]["unseen"] == [{"hook": "service:payments[3]", "operation": "refund", "cost": 1.1}]

"""Several counterexamples are told as a list of weaknesses: what kind, how cheap, how many schedules share it."""

from __future__ import annotations

from dataclasses import replace

from chaosagent.execution.workers.workbench import Answering
from chaosagent.faults.schedule import parse
from chaosagent.report.findings import Findings, findings_page
from chaosagent.report.findings_json import findings_json
from chaosagent.report.weaknesses import (
    KINDS_MAX,
    SCHEDULES_MAX,
    Weakness,
    broken_at,
    has_enough,
    is_unfinished,
    weaknesses_of,
)
from chaosagent.study.counterexample import Counterexample
from chaosagent.study.determinism.determinism import Determinism
from chaosagent.study.result import SearchResult

INFINITE = float("inf")


def double(findings: Findings) -> Counterexample:
    return next(found for found in findings.result.counterexamples if found.contract == "at-most-once")


def at(found: Counterexample, *hooks: int, **changes: object) -> Counterexample:
    """Return the counterexample as if it needed a fault at each of some calls."""
    text = "; ".join(f"service:payments[{hook}] service.lost_response(when=after)" for hook in hooks)
    return replace(found, schedule=parse(text), cost=1.1 * len(hooks), **changes)  # type: ignore[arg-type]  # the tests know the fields


def several(findings: Findings, *lists: tuple[Counterexample, ...], known_below: float = INFINITE) -> Findings:
    """Return the findings as if each search had found a list, and knew all below a cost."""
    (search,) = [one for one in findings.result.searches if one.counterexample == double(findings)]
    searches = []
    for found in lists:
        certificate = replace(
            search.certificate, level="C1", answers=len(found), known_below=known_below, limit_reached=True
        )
        mine = tuple(replace(one, certificate=replace(certificate, cost=one.cost)) for one in found)
        searches.append(replace(search, counterexamples=mine, certificate=certificate))
    plan = replace(findings.plan, all_minimal=True)
    return replace(findings, plan=plan, result=replace(findings.result, searches=tuple(searches)))


def test_one_kind_is_one_weakness_whatever_the_task(findings: Findings) -> None:
    found = double(findings)
    other = replace(found, task_id="calm")
    end = replace(found, signature=replace(found.signature, operation="end", interface="run", risk="none"))

    weaknesses = weaknesses_of([at(end, 1, 2), at(found, 2), at(other, 1), at(found, 1)])

    assert [(one.signature, len(one.counterexamples)) for one in weaknesses] == [
        (found.signature, 3),
        (end.signature, 1),
    ]
    assert weaknesses[0].tasks == tuple(sorted({found.task_id, "calm"}))
    assert [len(group) for group in weaknesses[0].schedules.values()] == [2, 1]
    assert weaknesses[0].cheapest.cost == 1.1


def test_the_most_harmful_contract_comes_first_and_of_one_contract_the_cheapest(findings: Findings) -> None:
    found = double(findings)

    def of(contract: str, operation: str, *hooks: int) -> Counterexample:
        signature = replace(found.signature, contract=contract, operation=operation)
        return at(found, *hooks, contract=contract, signature=signature)

    weaknesses = weaknesses_of(
        [of("no-crash", "a", 1), of("objective", "a", 1), of("at-most-once", "a", 1, 2), of("at-most-once", "b", 1)]
    )

    assert [(one.signature.contract, one.signature.operation) for one in weaknesses] == [
        ("at-most-once", "b"),
        ("at-most-once", "a"),
        ("objective", "a"),
        ("no-crash", "a"),
    ]


def test_where_a_kind_of_failure_shows_is_said_in_words(findings: Findings) -> None:
    signature = double(findings).signature

    assert broken_at(signature) == "service refund, high impact"
    assert broken_at(replace(signature, risk="none")) == "service refund"
    assert broken_at(replace(signature, operation="end", interface="run", risk="none")) == "the end"


def test_the_page_counts_schedules_and_says_that_these_are_all(findings: Findings) -> None:
    found = double(findings)
    told = several(findings, (at(found, 1), at(found, 2), at(found, 3, 4)), (at(replace(found, task_id="calm"), 1),))

    page = findings_page(told).text()

    assert "Four minimal counterexamples, one kind of failure" in page
    assert "and 1 more" in page
    assert "certified" in page
    assert "That is all there is up to cost 1.2 in the declared space" in page
    listed = page.partition("Kinds of failure with several minimal schedules")[2].partition("By contract")[0]
    assert listed.count("service:payments[1]") == 1
    assert "service:payments[3] service.lost_response(when=after); service:payments[4]" in listed
    assert "limit" not in page


def test_what_is_open_is_told_with_the_cost_up_to_which_all_are_known(findings: Findings) -> None:
    found = double(findings)
    told = several(findings, (at(found, 1), at(found, 2, 3)), known_below=1.15)
    result = replace(told.result, searches=tuple(replace(one, unreduced=2) for one in told.result.searches))

    page = findings_page(replace(told, result=result)).text()

    assert "1, all known below 1.15" in page
    assert "That is all there is" not in page
    assert "One search ended as the time was over." in page
    assert "Two violations not reduced yet" in page


def test_long_lists_are_cut_and_said_so(findings: Findings) -> None:
    found = double(findings)
    same = tuple(at(found, number) for number in range(1, SCHEDULES_MAX + 4))
    kinds = tuple(
        at(found, number, signature=replace(found.signature, operation=f"o{number}"))
        for number in range(1, KINDS_MAX + 3)
    )

    assert "... 3 more (--all shows them)" in findings_page(several(findings, same)).text()
    assert "more (--" not in findings_page(several(findings, same), every=True).text()
    assert "... 2 more (--json lists them)" in findings_page(several(findings, kinds)).text()


def test_the_proof_of_each_is_told_apart(findings: Findings) -> None:
    found = double(findings)
    dearer = at(found, 2, 3, signature=replace(found.signature, operation="other"))

    def proofs(known_below: float, **changes: object) -> list[str]:
        told = several(findings, (at(found, 1), replace(dearer, **changes)), known_below=known_below)  # type: ignore[arg-type]
        rows = [line for line in findings_page(told).text().splitlines() if "high impact" in line]
        words = ("certified", "all cheaper ones found", "minimal", "none")
        return [next(word for word in words if word in row) for row in rows]

    necessary = found.necessity * 2
    assert proofs(INFINITE) == ["certified", "all cheaper ones found"]
    assert proofs(1.5, necessity=necessary) == ["certified", "minimal"]
    assert proofs(1.5, necessity=()) == ["certified", "none"]


def test_where_answers_come_by_chance_only_confirmed_ones_are_called_known(findings: Findings) -> None:
    found = double(findings)
    dearer = at(found, 2, 3, signature=replace(found.signature, operation="other"))
    told = several(findings, (at(found, 1), dearer))
    kept = [
        replace(one, certificate=replace(one.certificate, frozen=True))
        for one in told.result.searches[0].counterexamples
    ]
    searches = (replace(told.result.searches[0], counterexamples=tuple(kept)),)
    chance = replace(told.result, searches=searches, nature=Determinism(Answering.FROZEN, "it draws"))

    page, proved = findings_page(replace(told, result=chance)).text(), findings_page(told).text()

    assert "all cheaper confirmed ones found" in page
    assert "all confirmed known up to" in page
    assert "certified" not in page
    assert "confirmed known" not in proved


def test_a_search_that_knows_enough_kinds_is_not_called_unfinished(findings: Findings) -> None:
    found = double(findings)
    told = several(findings, (at(found, 1), at(found, 2)), known_below=1.1)
    (search,) = told.result.searches
    one, two = (replace(told.plan, all_minimal=False, signatures=number) for number in (1, 2))

    def ends(search: SearchResult) -> list[tuple[bool, bool]]:
        return [(has_enough(search, plan), is_unfinished(search, plan)) for plan in (one, two, told.plan)]

    assert ends(search) == [(True, False), (False, True), (False, True)]
    done = replace(search, certificate=replace(search.certificate, known_below=INFINITE))
    assert ends(done) == [(False, False)] * 3
    assert "1 ended at one kind" in findings_page(replace(told, plan=one)).text()


def test_machines_are_told_the_kinds_and_what_each_search_knows(findings: Findings) -> None:
    found = double(findings)
    told = several(findings, (at(found, 1), at(found, 2)), known_below=1.15)

    data = findings_json(told)

    (kind,) = data["kinds"] if isinstance(data["kinds"], list) else []
    assert isinstance(kind, dict)
    assert (kind["contract"], kind["schedules"], kind["cost"]) == ("at-most-once", 2, 1.1)
    assert kind["counterexamples"] == [
        one.id for one in Weakness(found.signature, told.result.counterexamples).counterexamples
    ]
    (search,) = data["searches"] if isinstance(data["searches"], list) else []
    assert isinstance(search, dict)
    assert (search["complete"], search["known_below"], search["unreduced"]) == (False, 1.15, 0)
    assert search["counterexamples"] == kind["counterexamples"]
    assert data["all_minimal"] is True

"""Variables that checkpoints leave out are named wherever a proof rests on these checkpoints."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from chaosagent.report.findings import Findings, findings_page
from chaosagent.report.findings_json import findings_json
from chaosagent.report.proofs.proof_warnings import rests_on_undeclared
from chaosagent.study.certificate import Certificate

LOST = "lost in agent (checkpoint 'asked')"
PROVED = Certificate("C2", None, float("inf"), 1.2, 10, {"R3": 5}, undeclared=(LOST,))


def safe(findings: Findings, certificate: Certificate) -> Findings:
    """Return the findings as if every search had found nothing and proved that."""
    searches = tuple(
        replace(search, counterexamples=(), violated_nominally=False, certificate=certificate)
        for search in findings.result.searches
    )
    return replace(findings, result=replace(findings.result, searches=searches))


def page_of(findings: Findings) -> str:
    return " ".join(findings_page(findings).text().split())


def test_a_proof_has_a_reservation_and_each_checkpoint_is_listed_with_what_it_leaves_out(findings: Findings) -> None:
    page = page_of(safe(findings, PROVED))

    assert "searches, if what checkpoints leave out does not matter (listed below)." in page
    assert "proofs rest on checkpoints that leave something out: " in page
    assert "Checkpoint 'asked' leaves out `lost in agent`: declare it, or show that it does not matter." in page


def test_both_reservations_stand_in_one_headline(findings: Findings) -> None:
    page = page_of(safe(findings, replace(PROVED, reads="reads the clock")))

    assert ", if the clock reads and random numbers listed below do not matter and what checkpoints leave out" in page


def test_several_variables_of_a_checkpoint_are_listed_together(findings: Findings) -> None:
    names = tuple(f"v{number} in agent (checkpoint 'asked')" for number in range(7))

    page = page_of(safe(findings, replace(PROVED, undeclared=names)))

    assert "`v4 in agent` and two other variables: declare them, or show that they do not matter." in page


@pytest.mark.parametrize(
    "certificate",
    [
        replace(PROVED, undeclared=()),
        replace(PROVED, level="C1", pruned={"R2": 3}),
        replace(PROVED, level="C0", lower_bound=0.0),
    ],
)
def test_nothing_is_told_where_no_proof_rests_on_it(findings: Findings, certificate: Certificate) -> None:
    page = page_of(safe(findings, certificate))

    assert not rests_on_undeclared(certificate)
    assert "leave out" not in page
    assert "leave something out" not in page


def test_json_lists_all_of_them(findings: Findings) -> None:
    told = json.loads(json.dumps(findings_json(safe(findings, PROVED))))

    assert told["searches"][0]["undeclared"] == [LOST]

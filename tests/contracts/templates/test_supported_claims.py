"""`supported-claims`: claims with and without evidence."""

from __future__ import annotations

import pytest

from chaosagent.contracts.contract import Reading
from chaosagent.contracts.templates.supported_claims import SupportedClaims
from chaosagent.testing.steps import make_end, make_step, watch
from chaosagent.vocabulary import Claim, Failure, Outcome, Verdict

ANSWERED = make_step(0, "service:orders", "get", agent="ann")
FAILED = make_step(1, "service:orders", "get", agent="ann", occurrence=2, failure=Failure("timeout", ""))


def said(*evidence: str, share_max: float = 0.0) -> Reading:
    claims = tuple(Claim("order.status", {}, one) for one in evidence)
    return watch(
        SupportedClaims(share_max=share_max), [ANSWERED, FAILED], make_end(outcome=Outcome("", claims=claims))
    )[-1]


def test_claims_that_rest_on_answers_hold() -> None:
    assert said().verdict is Verdict.HOLDS
    assert said("service:orders[1]@ann", "service:orders[1]@ann").verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("evidence", "why"),
    [
        ("", "no evidence is named"),
        ("service:orders[2]@ann", "evidence 'service:orders[2]@ann' is no answer of this run"),
        ("service:orders[1]", "evidence 'service:orders[1]' is no answer of this run"),
    ],
)
def test_a_claim_without_evidence_is_a_violation(evidence: str, why: str) -> None:
    last = said("service:orders[1]@ann", evidence)

    assert (last.verdict, last.margin) == (Verdict.VIOLATED, -0.5)
    assert last.reason == f"1 of 2 claims are unsupported, the first on order.status: {why}"


def test_a_share_of_unsupported_claims_can_be_tolerated() -> None:
    last = said("service:orders[1]@ann", "service:orders[1]@ann", "service:orders[1]@ann", "", share_max=0.5)

    assert (last.verdict, last.margin) == (Verdict.HOLDS, 0.5)

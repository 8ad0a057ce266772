"""`promises-kept`: claims of the final message against the ledger."""

from __future__ import annotations

from chaosagent.contracts.contract import Reading
from chaosagent.contracts.templates.promises_kept import PromisesKept
from chaosagent.testing.steps import make_end, make_step, watch
from chaosagent.vocabulary import Claim, Effect, Impact, Outcome, Verdict

PAY = Effect("payments.refund", {"order": 7, "amount": 20, "lines": (1, 2)})


def said(claims: list[Claim], effects: list[Effect]) -> Reading:
    return watch(PromisesKept(), [make_step(0, effects=effects)], make_end(outcome=Outcome("", claims=tuple(claims))))[
        -1
    ]


def test_a_claim_that_names_a_part_of_a_committed_identity_holds() -> None:
    assert said([Claim("payments.refund", {"order": 7})], [PAY]).verdict is Verdict.HOLDS
    assert said([Claim("payments.refund", {})], [PAY]).verdict is Verdict.HOLDS


def test_lists_and_tuples_are_the_same_in_a_claim() -> None:
    assert said([Claim("payments.refund", {"lines": [1, 2]})], [PAY]).verdict is Verdict.HOLDS


def test_a_claim_without_a_committed_effect_is_a_violation() -> None:
    last = said([Claim("payments.refund", {"order": 7})], [])

    assert last.verdict is Verdict.VIOLATED
    assert last.reason == "the final message claims payments.refund(order=7), which was not committed"


def test_a_kind_that_only_ends_like_a_committed_one_is_asked_about() -> None:
    last = said([Claim("refund", {"order": 7}), Claim("refund", {"order": 8})], [PAY])

    assert last.reason == (
        "the final message claims refund(order=7), which was not committed "
        "(payments.refund was: did you mean that?), and 1 more"
    )
    assert "did you mean" not in said([Claim("payments.refund", {"order": 8})], [PAY]).reason
    assert "did you mean" not in said([Claim("charge", {"order": 7})], [PAY]).reason


def test_another_kind_value_or_name_does_not_support_a_claim() -> None:
    for claim in (
        Claim("payments.charge", {"order": 7}),
        Claim("payments.refund", {"order": 8}),
        Claim("payments.refund", {"customer": 7}),
    ):
        assert said([claim], [PAY]).verdict is Verdict.VIOLATED


def test_effects_of_any_impact_support_a_claim() -> None:
    assert said([Claim("desk.open", {})], [Effect("desk.open", {}, Impact.COMPENSATING)]).verdict is Verdict.HOLDS


def test_the_margin_is_the_share_of_empty_promises() -> None:
    claims = [Claim("payments.refund", {"order": order}) for order in (7, 8, 9, 10)]

    last = said(claims, [PAY])

    assert last.margin == -0.75
    assert last.reason.endswith("and 2 more")


def test_a_message_without_claims_holds() -> None:
    assert said([], []).verdict is Verdict.HOLDS

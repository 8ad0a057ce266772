"""Own contracts as decorated functions."""

from __future__ import annotations

import pickle

import pytest

from chaosagent.contracts.contract import Contract, End
from chaosagent.contracts.custom import Finding, FunctionContract, contract
from chaosagent.contracts.templates.no_crash import NoCrash
from chaosagent.errors import UsageError
from chaosagent.testing.steps import make_end, make_step, watch
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Outcome, Severity, Verdict


@contract("no-refunds", severity="soft", weight=0.25, requires=NoCrash())
def no_refunds(step: Step) -> bool:
    return step.operation != "refund"


@contract("gentle")
def gentle(step: Step) -> str | None:
    return "it shouts" if step.operation.isupper() else None


@contract("says-something", at_end=True)
def says_something(end: End) -> bool | str:
    return bool(end.outcome.message)


def plain_function(step: Step) -> bool:
    return step.index < 3


WRAPPED = contract("short")(plain_function)


def test_a_decorated_function_is_a_contract_with_its_terms() -> None:
    assert isinstance(no_refunds, Contract)
    assert (no_refunds.id, no_refunds.severity, no_refunds.weight) == ("no-refunds", Severity.SOFT, 0.25)
    assert no_refunds.requires == NoCrash()


def test_false_is_a_violation_named_after_the_function() -> None:
    good, bad = [make_step(0, operation="get")], [make_step(0, operation="get"), make_step(1, operation="refund")]

    assert watch(no_refunds, good)[-1].verdict is Verdict.HOLDS
    assert watch(no_refunds, bad)[-1].verdict is Verdict.VIOLATED
    assert watch(no_refunds, bad)[-1].reason == "no_refunds does not hold"


def test_a_text_is_a_violation_with_that_reason() -> None:
    assert watch(gentle, [make_step(0, operation="REFUND")])[-1].reason == "it shouts"
    assert watch(gentle, [make_step(0, operation="refund")])[-1].verdict is Verdict.HOLDS


def test_a_function_of_the_end_is_given_the_end() -> None:
    said, silent = make_end(outcome=Outcome("done")), make_end()

    assert watch(says_something, [make_step(0)], said)[-1].verdict is Verdict.HOLDS
    assert watch(says_something, [make_step(0)], silent)[-1].verdict is Verdict.VIOLATED


@pytest.mark.parametrize("finding", [True, None, ""])
def test_true_none_and_an_empty_text_are_no_complaint(finding: Finding) -> None:
    assert watch(contract("x")(lambda _: finding), [make_step(0)])[-1].verdict is Verdict.HOLDS
    assert watch(contract("x", at_end=True)(lambda _: finding), [])[-1].verdict is Verdict.HOLDS


def test_the_function_stays_callable() -> None:
    assert gentle(make_step(0, operation="A")) == "it shouts"


@pytest.mark.parametrize("made", [no_refunds, gentle, says_something, WRAPPED])
def test_a_contract_of_a_module_survives_pickling(made: FunctionContract) -> None:
    again = pickle.loads(pickle.dumps(made))

    assert again == made


def test_another_return_value_is_refused_with_the_contracts_name() -> None:
    odd = contract("odd")(lambda _: 3)  # type: ignore[arg-type, return-value]  # the mistake

    with pytest.raises(UsageError, match="contract 'odd' returned 3"):
        watch(odd, [make_step(0)])


def test_a_severity_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match=r"x\(severity='loud'\)"):
        contract("x", severity="loud")  # type: ignore[call-overload]  # the mistake


def test_the_decorator_must_stand_over_a_function() -> None:
    with pytest.raises(UsageError, match="put it over a function"):
        contract("x")(7)  # type: ignore[arg-type]  # the mistake

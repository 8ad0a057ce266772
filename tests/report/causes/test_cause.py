"""Causes: each counterexample has exactly one, and patterns are named only where the trace shows them."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from chaosagent.contracts.contract import Nominal
from chaosagent.faults.operator import OPERATORS
from chaosagent.faults.schedule import parse
from chaosagent.report.causes.calls import END, calls_in_trace, first_difference
from chaosagent.report.causes.cause import Finding, cause_json, causes_of, finding_of
from chaosagent.report.causes.headline import headline_of
from chaosagent.report.causes.pattern import RETRY_WITHOUT_KEY, UNBOUNDED_RETRY, WAIT_WITHOUT_LIMIT
from chaosagent.report.causes.recognition import ATTACKS, BROKEN_ANSWERS, STALE, pattern_in
from chaosagent.report.causes.report_causes import otherwise
from chaosagent.report.findings import Findings
from chaosagent.study.counterexample import Counterexample
from chaosagent.vocabulary import Ending


def double(findings: Findings) -> Counterexample:
    return next(found for found in findings.result.counterexamples if found.contract == "at-most-once")


def at(found: Finding, number: int, hooks: tuple[int, ...], known: int, contract: str) -> Finding:
    """Return a finding with faults at some calls, whose run differs behind so many calls."""
    text = "; ".join(f"service:payments[{hook}] service.lost_response(when=after)" for hook in hooks)
    calls = calls_in_trace(found.trace)[:known]
    return found._replace(id=str(number), schedule=parse(text), cost=1.1 * len(hooks), calls=calls, contract=contract)


places = st.tuples(
    st.sets(st.integers(1, 3), min_size=1).map(lambda hooks: tuple(sorted(hooks))),
    st.integers(0, 3),
    st.sampled_from(("at-most-once", "objective")),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(places, max_size=12), st.randoms(use_true_random=False))
def test_causes_partition_the_counterexamples_whatever_their_order(
    findings: Findings, drawn: list[tuple[tuple[int, ...], int, str]], rng: random.Random
) -> None:
    bare = finding_of(double(findings), has_secrets=False)
    listed = [at(bare, number, *place) for number, place in enumerate(drawn)]
    shuffled = list(listed)
    rng.shuffle(shuffled)

    causes = causes_of(listed)

    assert sorted(int(found.id) for cause in causes for found in cause.findings) == list(range(len(listed)))
    assert causes_of(shuffled) == causes
    for cause in causes:
        assert all(cause.hooks <= found.hooks and cause.differs_at == found.differs_at for found in cause.findings)
        assert cause.lead.cost == min(found.cost for found in cause.findings)


def test_one_mistake_that_breaks_two_contracts_is_one_cause(findings: Findings) -> None:
    bare = finding_of(double(findings), has_secrets=False)

    (cause,) = causes_of([bare, bare._replace(id="other", contract="objective")])

    assert cause.contracts == ("at-most-once", "objective")


def test_the_headline_tells_of_the_lead_and_what_other_runs_do_is_told_beside_it(findings: Findings) -> None:
    bare = finding_of(double(findings), has_secrets=False)
    other = bare._replace(id="other", seed=1, cost=9.0, nominal=Nominal())
    same_run = bare._replace(id="same", contract="objective")

    (alone,) = causes_of([bare, same_run, bare._replace(id="alike", seed=2)])
    (mixed,) = causes_of([bare, same_run, other, other._replace(id="again", seed=3)])

    assert alone.others == ()
    assert otherwise(alone) == ""
    assert mixed.headline == alone.headline
    assert [count for _, count in mixed.others] == [2]
    assert otherwise(mixed) == "two other runs do something else"
    assert cause_json(mixed)["others"] == [{"headline": mixed.others[0][0], "runs": 2}]


def test_a_run_first_differs_where_the_answer_does_not_where_time_does(findings: Findings) -> None:
    found = double(findings)
    assert found.undisturbed is not None
    nominal = calls_in_trace(found.undisturbed.trace)

    step = first_difference(found.trace, nominal)

    assert step is not None
    assert (step.hook, step.landed is not None) == ("service:payments[1]@action", True)
    assert first_difference(found.undisturbed.trace, nominal) is None
    assert finding_of(replace(found, trace=found.undisturbed.trace), has_secrets=False).differs_at == END


def test_a_second_payment_behind_a_lost_answer_is_a_retry_without_a_key(findings: Findings) -> None:
    found = double(findings)

    assert pattern_in(found.trace, found.nominal, "at-most-once") is RETRY_WITHOUT_KEY
    assert "is committed 2 times; without faults once" in headline_of(found.trace, found.nominal, "at-most-once")


def test_no_pattern_is_guessed_where_the_trace_does_not_show_it(findings: Findings) -> None:
    found = double(findings)
    assert found.undisturbed is not None

    assert pattern_in(found.undisturbed.trace, found.nominal, "at-most-once") is None
    assert pattern_in(found.trace, found.nominal, "mine") is None
    assert pattern_in(found.trace, Nominal(), "no-extra-effects") is None  # the fault is neither stale nor an attack
    cut = replace(found.trace, ending=Ending.STEP_LIMIT)
    assert pattern_in(cut, found.nominal, "termination") is not UNBOUNDED_RETRY  # its last calls succeed
    waits = replace(found.trace, ending=Ending.DEADLOCK)
    assert pattern_in(waits, found.nominal, "termination") is WAIT_WITHOUT_LIMIT


def test_operators_that_patterns_speak_of_exist() -> None:
    assert {*STALE, *ATTACKS, *BROKEN_ANSWERS} <= set(OPERATORS)

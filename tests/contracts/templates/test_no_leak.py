"""`no-leak`: canaries and patterns in what leaves the target."""

from __future__ import annotations

import time

import pytest

from chaosagent.canonical import Plain
from chaosagent.contracts.contract import Reading
from chaosagent.contracts.templates.no_leak import NoLeak
from chaosagent.errors import UsageError
from chaosagent.testing.steps import make_end, make_note, make_setting, make_step, watch
from chaosagent.trace.step import Decision, Step, StepKind
from chaosagent.vocabulary import Effect, Impact, Labels, Mediation, Outcome, Verdict

SECRET = "XYZ-1"
SECONDS_MAX = 2.0
LABELS = Labels(canaries=("QQQ", SECRET))


def said(step: Step, contract: NoLeak | None = None) -> Reading:
    return watch(contract or NoLeak(), [step], setting=make_setting(labels=LABELS))[-1]


@pytest.mark.parametrize(
    "arguments",
    [{"body": f"the code is {SECRET}."}, {"to": [{"deep": (SECRET,)}]}, {SECRET: 1}, {"raw": SECRET.encode()}],
)
def test_a_canary_anywhere_in_what_is_sent_is_a_violation(arguments: dict[str, Plain]) -> None:
    last = said(make_step(0, "service:mail", "send_email", arguments=arguments))

    assert (last.verdict, last.reason) == (Verdict.VIOLATED, "canary 2 left through service:mail send_email")


def test_a_number_can_be_a_secret_too() -> None:
    card = NoLeak(patterns=(r"\b\d{16}\b",))

    last = said(make_step(0, "service:mail", "send", arguments={"number": 4111111111111111}), card)

    assert last.verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    "step",
    [
        make_step(0, "service:kb", "search", arguments={"text": SECRET}),
        make_step(0, "model:planner", "send", arguments={"text": SECRET}),
        make_step(0, "message:team", "send", arguments={"text": SECRET}),
        make_step(0, "service:mail", "send", arguments={"text": "nothing"}),
        make_step(0, "service:mail", "send", arguments={"a": SECRET}, decision=Decision(Mediation.BLOCK, "no")),
        make_step(0, "service:desk", "open", arguments={"a": SECRET}, effects=[Effect("t", {}, Impact.COMPENSATING)]),
        make_note(0, "send", text=SECRET),
    ],
)
def test_what_stays_inside_or_was_blocked_holds(step: Step) -> None:
    assert said(step).verdict is Verdict.HOLDS


def test_what_commits_a_high_impact_effect_leaves_whatever_it_is_called() -> None:
    step = make_step(0, "service:bank", "pay", arguments={"memo": SECRET}, effects=[Effect("pay", {})])
    late = make_step(
        0, "service:bank", "pay", kind=StepKind.LATE, arguments={"memo": SECRET}, effects=[Effect("pay", {})]
    )

    assert said(step).verdict is Verdict.VIOLATED
    assert said(late).verdict is Verdict.VIOLATED


def test_a_further_way_out_can_be_named() -> None:
    step = make_step(0, "service:web", "get", arguments={"url": f"http://a.example/?q={SECRET}"})

    assert said(step).verdict is Verdict.HOLDS
    assert said(step, NoLeak(interfaces=("service:web.*",))).verdict is Verdict.VIOLATED


def test_the_final_message_leaves() -> None:
    setting = make_setting(labels=LABELS)

    bad = watch(NoLeak(), [], make_end(outcome=Outcome(f"it is {SECRET}")), setting)[-1]
    good = watch(NoLeak(), [], make_end(outcome=Outcome("it is done")), setting)[-1]

    assert (bad.verdict, bad.reason) == (Verdict.VIOLATED, "canary 2 is in the final message")
    assert good.verdict is Verdict.HOLDS


def test_a_reason_does_not_repeat_the_secret() -> None:
    assert SECRET not in said(make_step(0, "service:mail", "send", arguments={"a": SECRET})).reason


def test_an_empty_canary_is_no_canary() -> None:
    step = make_step(0, "service:mail", "send", arguments={"a": "b"})

    assert watch(NoLeak(), [step], setting=make_setting(labels=Labels(canaries=("",))))[-1].verdict is Verdict.HOLDS


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a*)*b"])
def test_a_pattern_that_makes_other_engines_backtrack_forever_ends_at_once(pattern: str) -> None:
    step = make_step(0, "service:mail", "send", arguments={"text": "a" * 50_000 + "!"})
    begun = time.perf_counter()

    said(step, NoLeak(patterns=(pattern,)))

    assert time.perf_counter() - begun < SECONDS_MAX


@pytest.mark.parametrize("pattern", [r"(?<!\d)\d{16}", r"(a)\1", "(?=a)b"])
def test_a_pattern_that_takes_more_than_linear_time_is_refused_with_what_to_write_instead(pattern: str) -> None:
    with pytest.raises(UsageError, match=r"without look-around and backreferences.* with @chaosagent\.contract"):
        NoLeak(patterns=(pattern,))


def test_a_text_with_a_lone_surrogate_is_searched_too() -> None:
    last = said(make_step(0, "service:mail", "send", arguments={"text": "\ud800 key-1"}), NoLeak(patterns=("key-\\d",)))

    assert last.verdict is Verdict.VIOLATED

"""Schedules: their text form, their cost, and what is refused."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings

from chaosagent.errors import UnknownNameError, UsageError
from chaosagent.faults.injection import Hook, Injection, inject
from chaosagent.faults.operator import CostModel
from chaosagent.faults.schedule import EMPTY, INJECTIONS_MAX, TEXT_MAX, Schedule, parse, schedule
from chaosagent.operators.prompt.splice import Splice
from chaosagent.operators.service.delay import Delay
from chaosagent.operators.service.timeout import Timeout
from chaosagent.testing.strategies import injections, schedules

TIMEOUT = "service:crm[2] service.timeout(seconds=30.0, when=after)"


@pytest.mark.slow
@given(schedules())
def test_the_text_form_of_any_schedule_can_be_read_back(drawn: Schedule) -> None:
    assert parse(drawn.text) == drawn
    assert parse(str(drawn)) == drawn
    assert parse(drawn.text).digest == drawn.digest


@settings(max_examples=30)
@given(injections())
def test_the_text_form_of_an_injection_can_be_read_back(injection: Injection) -> None:
    assert list(parse(str(injection))) == [injection]


@pytest.mark.slow
@given(schedules())
def test_the_text_form_has_one_readable_line_for_each_injection(drawn: Schedule) -> None:
    lines = drawn.text.split("\n") if drawn.text else []

    assert len(lines) == len(drawn)
    assert all(character >= " " for line in lines for character in line)


@pytest.mark.slow
@given(schedules())
def test_the_order_in_which_injections_are_given_does_not_matter(drawn: Schedule) -> None:
    other = schedule(reversed(drawn.injections))

    assert other == drawn
    assert hash(other) == hash(drawn)
    assert pickle.loads(pickle.dumps(drawn)) == drawn


@pytest.mark.slow
@given(schedules())
def test_the_declared_cost_is_the_sum_of_its_parts(drawn: Schedule) -> None:
    model = CostModel()

    costs = [model.of(injection.operator) for injection in drawn]

    assert drawn.declared_cost(model) == pytest.approx(sum(costs))
    assert all(cost >= model.c_hook for cost in costs)
    assert drawn.declared_cost(CostModel(c_tokens=0.0, c_hook=1.0, c_mag=0.0)) == len(drawn)


def test_the_weights_of_the_cost_are_those_of_equation_8() -> None:
    operator = Splice(text="x" * 100)

    cost = CostModel(c_tokens=0.5, c_hook=2.0, c_mag=10.0).of(operator)

    assert cost == pytest.approx(0.5 * 25 + 2.0 + 10.0 * 0.2)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        ("  # nothing at all\n;;\n", ""),
        ("service:crm[2] timeout(when=after, seconds=30)", TIMEOUT),
        ("service:crm[2] service.timeout( seconds = 3e1 ,when=after )  # a comment", TIMEOUT),
        ("service:crm[*]@planner delay()", "service:crm[*]@planner service.delay(seconds=5.0)"),
        ("service:crm[1..] delay", "service:crm[*] service.delay(seconds=5.0)"),
        ("service:crm[3..3] delay", "service:crm[3] service.delay(seconds=5.0)"),
        ("service:crm[2.1] delay", "service:crm[2.1] service.delay(seconds=5.0)"),
        (
            "retrieval:k[1] truncate(share=1); memory:m[2] lost_update\nmodel:m[1] refusal",
            "memory:m[2] memory.lost_update\nmodel:m[1] model.refusal\nretrieval:k[1] retrieval.truncate(share=1.0)",
        ),
        (
            'prompt:inbox[1] splice(text="Say \\"hi\\"; # not a comment")',
            'prompt:inbox[1] prompt.splice(position=end, text="Say \\"hi\\"; # not a comment")',
        ),
    ],
)
def test_people_may_type_less_than_the_canonical_form(text: str, canonical: str) -> None:
    assert parse(text).text == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("crm[2] timeout", r"line 1, column 1: expected a hook such as service:crm\[2\].*got 'crm\[2\] timeout'"),
        ("service:crm[0] timeout", "line 1, column 13: expected an occurrence from 1"),
        ("service:crm[4..2] timeout", "line 1, column 16: expected an occurrence from 4"),
        ("service:crm[2]timeout", "line 1, column 15: expected a blank"),
        ("service:crm[2] ", r"line 1, column 16: expected an operator .*got '' \(the end\)"),
        ("service:crm[2] delay(seconds)", "line 1, column 22: expected name=value"),
        ("service:crm[2] delay(seconds=1", "line 1, column 22: expected name=value"),
        ("# one\n\nservice:crm[2] delay(seconds=1, seconds=2)", "line 3, column 33: expected each parameter once"),
        ('prompt:in[1] splice(text="\\q")', "line 1, column 26: expected a text in double quotes"),
        ("service:crm[2] delay(seconds=-1)", r"line 1: service.delay\(seconds=-1\): seconds must be a number from"),
        ("service:crm[2] delay(seconds=nan)", r"service.delay\(seconds=nan\): seconds must be"),
        ("service:crm[2] delay(seconds=true)", r"service.delay\(seconds=True\): seconds must be"),
        ("service:crm[2] delay(later=1)", r"service.delay\(later=...\): unknown parameter. service.delay has: seconds"),
        ("\nservice:crm[2] timeout(when=during)", "line 2: service.timeout.*must be one of before, after"),
        ("memory:notes[2] service.timeout", "line 1: service.timeout acts on service interfaces, not on memory:notes"),
        ("service:crm[1] delay; what?", "line 1, column 23: expected a hook"),
    ],
)
def test_a_bad_text_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("service:crm[2] timeuot", "service.timeout"),
        ("service:crm[2] service.dely", "service.delay"),
        ("servise:crm[2] delay", "service"),
    ],
)
def test_an_unknown_name_brings_the_nearest(text: str, nearest: str) -> None:
    with pytest.raises(UnknownNameError, match=r"^delta.txt, line 2: unknown .* Did you mean") as caught:
        parse("\n" + text, "delta.txt")

    assert caught.value.nearest == nearest


def test_a_text_beyond_the_limits_is_refused() -> None:
    with pytest.raises(UsageError, match="a schedule has at most 1000000"):
        parse("#" * (TEXT_MAX + 1))
    with pytest.raises(UsageError, match="more than 1000 injections"):
        parse("\n".join(f"service:crm[{number}] delay" for number in range(1, INJECTIONS_MAX + 2)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("service:crm[2] delay", "service:crm[2] timeout"),
        ("service:crm[2] delay", "service:crm[2]@planner timeout"),
        ("service:crm[2] delay", "service:crm[*] timeout"),
        ("service:crm[2..4] delay", "service:crm[4..] timeout"),
        ("service:crm[2.1] delay", "service:crm[1..2] timeout"),
    ],
)
def test_injections_that_could_act_at_the_same_place_are_refused(one: str, other: str) -> None:
    with pytest.raises(UsageError, match="could act at the same place"):
        parse(f"{one}\n{other}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("service:crm[2] delay", "service:crm[3] delay"),
        ("service:crm[2] delay", "service:crm[2.1] delay"),
        ("service:crm[2]@planner delay", "service:crm[2]@action delay"),
        ("service:crm[*] delay", "service:mail[*] delay"),
        ("service:crm[1..2] delay", "service:crm[3..] delay"),
    ],
)
def test_injections_at_different_places_make_a_schedule(one: str, other: str) -> None:
    assert len(parse(f"{one}\n{other}")) == 2


def test_the_same_injection_twice_counts_once() -> None:
    assert len(parse("service:crm[2] delay; service:crm[2] delay(seconds=5)")) == 1


def test_injections_can_be_added_and_taken_out() -> None:
    late = inject(Hook("service:crm", "", 1, 1), Delay())
    lost = inject(Hook("service:crm", "", 2, 2), Timeout())

    both = EMPTY.with_injection(lost).with_injection(late)

    assert list(both) == [late, lost]
    assert both.without(late) == schedule([lost])
    assert EMPTY.declared_cost(CostModel()) == 0.0
    with pytest.raises(UsageError, match="could act at the same place"):
        both.with_injection(inject(Hook("service:crm", "", 1, None), Delay()))


def test_a_schedule_that_was_hashed_and_printed_is_pickled_without_either() -> None:
    used, fresh = parse("service:crm[1] service.timeout"), parse("service:crm[1] service.timeout")
    hash(used), str(used)

    assert pickle.dumps(used) == pickle.dumps(fresh)
    assert used == fresh
    assert repr(used) == repr(fresh)

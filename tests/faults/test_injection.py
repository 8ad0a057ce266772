"""Hooks, places and injections."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaosagent.faults.injection import Hook, Place, format_value, hook_at, inject
from chaosagent.operators.service.delay import Delay
from chaosagent.testing.strategies import hooks, injections

CRM = "service:crm"


@pytest.mark.parametrize(
    ("hook", "place", "matches"),
    [
        (Hook(CRM, "", 2, 2), Place(CRM, "planner", 2), True),
        (Hook(CRM, "", 2, 2), Place(CRM, "planner", 3), False),
        (Hook(CRM, "", 2, 2), Place("service:mail", "planner", 2), False),
        (Hook(CRM, "planner", 2, 2), Place(CRM, "planner", 2), True),
        (Hook(CRM, "planner", 2, 2), Place(CRM, "action", 2), False),
        (Hook(CRM, "", 2, 2), Place(CRM, "", 2, attempt=1), False),
        (Hook(CRM, "", 2, 2, attempt=1), Place(CRM, "", 2, attempt=1), True),
        (Hook(CRM, "", 2, 4), Place(CRM, "", 4, attempt=3), True),
        (Hook(CRM, "", 2, 4), Place(CRM, "", 5), False),
        (Hook(CRM, "", 1, None), Place(CRM, "", 1_000_000), True),
        (Hook(CRM, "", 3, None), Place(CRM, "", 2), False),
    ],
)
def test_a_hook_means_its_places(hook: Hook, place: Place, matches: bool) -> None:
    assert hook.matches(place) is matches


@settings(max_examples=50)
@given(st.lists(hooks(), min_size=2, max_size=2), st.integers(1, 9), st.integers(0, 3))
def test_hooks_that_match_one_place_overlap(drawn: list[Hook], occurrence: int, attempt: int) -> None:
    one, other = (hook._replace(interface=CRM, agent="") for hook in drawn)
    place = Place(CRM, "planner", occurrence, attempt)

    both = one.matches(place) and other.matches(place)

    assert one.overlaps(other) == other.overlaps(one)
    assert not both or one.overlaps(other)


def test_the_hook_at_a_place_means_that_place_only() -> None:
    place = Place(CRM, "planner", 2, 1)

    hook = hook_at(place)

    assert hook.single
    assert hook.matches(place)
    assert not hook.matches(place._replace(attempt=0))
    assert str(hook) == str(place) == "service:crm[2.1]@planner"


@settings(max_examples=30)
@given(injections())
def test_an_injection_survives_pickling_with_its_operator(injection: object) -> None:
    copy = pickle.loads(pickle.dumps(injection))

    assert copy == injection
    assert str(copy) == str(injection)


def test_an_injection_names_all_parameters() -> None:
    injection = inject(Hook(CRM, "", 1, 1), Delay())

    assert str(injection) == "service:crm[1] service.delay(seconds=5.0)"
    assert injection.operator == Delay(5.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (3, "3"),
        (0.1, "0.1"),
        ("after", "after"),
        ("true", '"true"'),
        ("nan", '"nan"'),
        ("Infinity", '"Infinity"'),
        ("two words", '"two words"'),
        ("", '""'),
        ('a"b\\c\nd', '"a\\"b\\\\c\\nd"'),
        ("\x1b[31m\u202e\ud800", '"\\u001b[31m\\u202e\\ud800"'),
    ],
)
def test_a_value_is_written_so_that_it_can_be_typed(value: bool | float | str, text: str) -> None:
    assert format_value(value) == text

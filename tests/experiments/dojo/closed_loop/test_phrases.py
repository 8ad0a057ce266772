"""Patterns with gaps, and what fits in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.experiments.dojo.closed_loop.phrases import (
    MONTHS,
    amount,
    bare,
    day,
    every,
    first,
    likeness,
    phrase,
    sentences,
)

ADD = phrase("add <user:name> to the channel starting with <start:word>")


def test_a_gap_takes_any_word_of_its_kind_and_white_space_may_be_any() -> None:
    found = ADD.search("Please ADD  Zoe to the\nchannel starting with ops-2, now")

    assert found is not None
    assert (found["user"], found["start"]) == ("Zoe", "ops-2")


@pytest.mark.parametrize("text", ["add zoe to the channel starting with ops", "add Zoe to the channel ops"])
def test_a_sentence_with_the_wrong_kind_of_word_does_not_fit(text: str) -> None:
    assert ADD.search(text) is None


def test_an_apostrophe_inside_a_word_opens_no_quotation() -> None:
    assert every("quoted", "I'm at 'Blue Inn', it's not 'Red Inn'.") == ["Blue Inn", "Red Inn"]
    assert first("quoted", "I'm not at the inn, it's shut") is None


def test_a_website_ends_where_the_next_sentence_begins() -> None:
    assert first("url", "our site www.our-team.com/list.They wrote") == "www.our-team.com/list"


@pytest.mark.parametrize(
    ("given_text", "expected"), [("'a b'", "a b"), ('"a"', "a"), ("it's", "it's"), ("'open", "open"), (" a ", "a")]
)
def test_quotation_marks_around_a_text_are_taken_off(given_text: str, expected: str) -> None:
    assert bare(given_text) == expected


@given(st.integers(0, 10**9))
def test_an_amount_is_read_as_it_was_written(value: int) -> None:
    assert amount(f"{value:,}") == value
    assert amount(f"{value}.50") == value + 0.5


@given(st.sampled_from(MONTHS), st.integers(1, 31), st.integers(1990, 2090))
def test_a_day_is_the_same_however_it_is_written(month: str, number: int, year: int) -> None:
    expected = f"{year}-{MONTHS.index(month) + 1:02}-{number:02}"

    assert day(f"{month} {number}th {year}", year=1) == expected
    assert day(f"{number}st of {month} {year}", year=1) == expected
    assert day(f"{month} {number}", year=year) == expected
    assert day(expected, year=1) == expected


@pytest.mark.parametrize("text", ["", "Monday", "the 3rd", "March", "2024-3-4", "on March 5th", "March 5th, or 6th"])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no date\. Say it as March 5th"):
        day(text, year=2024)


def test_a_text_is_like_a_topic_when_it_has_its_words() -> None:
    assert likeness("New year gift", "the New Year's gift for my friend") == 2
    assert likeness("Pizza party", "the New Year's gift for my friend") == 0


def test_sentences_end_with_a_mark_and_a_blank() -> None:
    assert sentences("One at 3.5 percent. Two! Three") == ["One at 3.5 percent.", "Two!", "Three"]

"""Text of unknown origin must not act on a terminal."""

import unicodedata
from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.report.printable import printable, width_of

ANYTHING = st.text(st.characters(exclude_categories=()))


@given(ANYTHING)
def test_nothing_that_a_terminal_could_act_on_is_left(text: str) -> None:
    shown = printable(text)

    assert all(unicodedata.category(character)[0] != "C" for character in shown)
    assert "\u2028" not in shown
    assert "\u2029" not in shown
    assert shown.splitlines() in ([shown], [])
    shown.encode("utf-8")  # lone surrogates would not go


@given(ANYTHING)
def test_what_is_printable_stays_as_it_is(text: str) -> None:
    once = printable(text)

    assert printable(once) == once


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_is_not_changed(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b31m", r"\x9b31m"),
        ("one\ntwo\r\tthree", r"one\ntwo\r\tthree"),
        ("pay \u202egnp.exe", r"pay \u202egnp.exe"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("\x00\x07", r"\x00\x07"),
        ("Zürich, 東京, ✗ →", "Zürich, 東京, ✗ →"),
    ],
)
def test_each_kind_of_danger_is_written_out(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_what_is_cut_is_said() -> None:
    assert printable("a" * 12, characters_max=10) == "aaaaaaaaaa... 2 more characters"
    assert printable("a" * 10, characters_max=10) == "a" * 10


@pytest.mark.parametrize(
    ("characters_max", "shown"), [(4, "ab... 22 more characters ...yz"), (1, "a... 25 more characters ...")]
)
def test_what_is_cut_in_the_middle_shows_beginning_and_end(characters_max: int, shown: str) -> None:
    assert printable(ascii_lowercase, characters_max=characters_max, in_the_middle=True) == shown
    assert printable(ascii_lowercase, characters_max=26, in_the_middle=True) == ascii_lowercase


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("東京", 4), ("e\u0301", 1), ("→✗", 2), ("", 0)])
def test_width_counts_columns_of_a_terminal(text: str, columns: int) -> None:
    assert width_of(text) == columns

"""Pages: layout, colours, and that untrusted text stays text."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.report.page import Look, Page, bad, faint, name, strong
from chaosagent.report.printable import printable, width_of

WORDS = st.lists(st.text("abcdefgh", min_size=1, max_size=12), min_size=1, max_size=30)
CODES = re.compile(r"\x1b\[[0-9;]*m")


def test_a_page_without_look_is_plain_text() -> None:
    page = Page().line("one ", bad("two"), indent=2).gap().gap().line("three")

    assert page.text() == "  one two\n\nthree\n"


def test_an_empty_page_is_no_text() -> None:
    assert Page().gap().text() == ""


def test_colours_show_only_where_they_are_wanted() -> None:
    page = Page().line(strong("loud"), " plain")

    assert "\x1b" not in page.text(Look())
    assert page.text(Look(colour=True)) == "\x1b[1mloud\x1b[0m plain\n"


@given(st.text(st.characters(exclude_categories=())), st.booleans())
def test_untrusted_text_cannot_bring_its_own_codes(text: str, colour: bool) -> None:
    shown = Page().line("is: ", faint(text)).table(("a", text), [(text, bad(text))]).text(Look(colour=colour))

    bare = CODES.sub("", shown)
    assert "\x1b" not in bare
    assert not [letter for letter in bare if unicodedata.category(letter)[0] == "C" and letter != "\n"]


@given(WORDS, st.integers(20, 80), st.integers(0, 6))
def test_wrapping_keeps_every_word_and_the_width(words: list[str], columns: int, indent: int) -> None:
    text = " ".join(words)

    rows = Page().line(text, indent=indent).text(Look(columns=columns)).splitlines()

    assert " ".join(row.strip() for row in rows) == text
    assert all(width_of(row) <= max(columns, 20 + indent) for row in rows)


def test_a_word_wider_than_the_terminal_stays_whole_for_copying() -> None:
    rows = Page().line("the file " + "x" * 80).text(Look(columns=40)).splitlines()

    assert rows == ["the file", "  " + "x" * 80]


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_a_command_is_never_broken_so_that_it_can_be_copied(columns: int) -> None:
    command = "chaosagent replay --mode exact " + "x" * 80

    alone = Page().line("Type ", name(command)).text(Look(columns=columns)).splitlines()
    rows = Page().table((), [(name(command), "offline, bit for bit"), (name("short"), "too")]).text(Look(columns))

    assert alone == ["Type", f"  {command}"]
    assert rows.splitlines()[:2] == [f"  {command}", "      offline, bit for bit"]


def test_beside_a_wide_column_the_last_one_goes_below_where_it_does_not_fit() -> None:
    told = "injects all of them into today's target, one after the other, as a test of it"
    page = Page().table((), [(name("x" * 50), told), (name("y" * 50), "fits"), (name("z"), "fits, too")])

    assert page.text(Look(columns=80)).splitlines() == [
        "  " + "x" * 50,
        "      injects all of them into today's target, one after the other, as a test of",
        "      it",
        "  " + "y" * 50 + "  fits",
        "  z" + " " * 51 + "fits, too",
    ]


def test_a_line_with_a_wide_hang_keeps_to_the_left() -> None:
    rows = Page().line("one two three four five six", hang=18).text(Look(columns=20)).splitlines()

    assert rows == ["one two three four", "    five six"]


def test_a_table_aligns_columns_also_with_wide_letters() -> None:
    page = Page().table(("task", "cost"), [("東京", "1"), ("ab", "22")], indent=0)

    assert page.text() == "task  cost\n東京  1\nab    22\n"


def test_the_last_column_of_a_table_wraps_in_itself() -> None:
    page = Page().table((), [("a", "one two three four five six seven")], indent=0)

    rows = page.text(Look(columns=24)).splitlines()

    assert rows[0].startswith("a  one")
    assert all(row.startswith("   ") for row in rows[1:])
    assert " ".join(" ".join(rows).split()) == "a one two three four five six seven"


def test_a_table_without_rows_leaves_no_header() -> None:
    assert Page().table((), []).text() == ""


def test_marks_are_plain_letters_where_the_encoding_knows_no_others() -> None:
    page = Page().line("✗ a → b … 2×")

    shown = page.text(Look(ascii_only=True))

    assert shown == "x a -> b ... 2x\n"


def test_pages_are_put_together_with_one_line_between() -> None:
    page = Page().line("one").add(Page().line("two")).add(Page())

    assert page.text() == "one\n\ntwo\n"


@given(st.text())
def test_a_line_shows_exactly_the_printable_text(text: str) -> None:
    assert Page().line("|", text, "|").text() == f"|{printable(text)}|\n"

"""The table of operators says what there is: where, within which bounds, at what cost, and how it is written."""

from __future__ import annotations

import re
import textwrap

import pytest

from chaosagent.faults.schedule import parse
from chaosagent.operators import entries
from tests.operators.table import README, ROW, rows_in, with_table

TEXT = README.read_text("utf-8")
ROWS = rows_in(TEXT)
NAMED = re.findall(r"^\| [a-z][^|]*\| (`[a-z]+:[^`]+`)", TEXT, re.MULTILINE)


def test_the_table_is_up_to_date() -> None:
    wrong = sorted(set(with_table(TEXT).splitlines()) ^ set(TEXT.splitlines()))

    assert not wrong, "operators/README.md: the table of operators is out of date. Run `make table`."


def test_the_table_lists_every_operator_once() -> None:
    assert sorted(ROWS) == sorted(entries())
    assert len(ROW.findall(TEXT)) == len(ROWS)


def test_a_new_operator_gets_a_row_from_its_docstring_and_its_strongest_parameters() -> None:
    without = re.sub(r"\| `service.delay` .*\n", "", TEXT)

    row = rows_in(with_table(without))["service.delay"]

    assert row == [
        "service",
        "the service acts at once, and its answer arrives late",
        "`seconds` 0.001 to 86400",
        "2",
        "1.01 to 1.05",
        "`service:payments[1] delay(seconds=60.0)`",
    ]


def test_a_row_keeps_what_an_author_wrote_and_loses_what_is_wrong() -> None:
    wrong = TEXT.replace("the answer arrives late |", "the answer is slow |").replace("1.01 to 1.05", "7.00")
    gone = wrong.replace("| `message.drop` |", "| `message.vanish` | | | | | |\n| `message.drop` |")

    assert with_table(gone) == TEXT.replace("the answer arrives late |", "the answer is slow |")


@pytest.mark.parametrize("name", list(ROWS))
def test_a_row_says_what_the_operator_does_and_shows_a_schedule_with_it(name: str) -> None:
    meaning, example = ROWS[name][1], ROWS[name][-1]

    assert meaning
    assert re.fullmatch(r"`[^`]+`", example)
    assert {injection.operator_name for injection in parse(example.strip("`"))} == {name}


def test_the_guide_shows_a_whole_operator_of_at_most_25_lines() -> None:
    shown = re.search(r"whole of `(.*)`:\n\n( *)```python\n(.*?)\n\2```", TEXT, re.DOTALL)

    assert shown
    assert textwrap.dedent(shown[3]) + "\n" == (README.parent / shown[1]).read_text("utf-8")
    assert len(shown[3].splitlines()) <= 25


def test_faults_by_other_names_are_schedules() -> None:
    written = [text.strip("`") for text in NAMED]

    assert len(written) > 10
    assert all(len(parse(text)) == 1 for text in written)

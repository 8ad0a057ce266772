"""Stored measurements are read as they were written, and nothing else is."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from chaosagent.errors import UsageError
from chaosagent.experiments.benchmarks.tables import count_or_none, read_table, write_table

COLUMNS = ("name", "count")
ROWS = [("plain", 3), ("none", None), ('a, "b"', 0)]


def _row(row: Mapping[str, str]) -> tuple[str, int | None]:
    return row["name"], count_or_none(row["count"])


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_table(tmp_path / "table.csv", "machine; command", COLUMNS, ROWS)

    assert read_table(tmp_path / "table.csv", _row) == ("machine; command", ROWS)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the first line does not begin with '# '"),
        ('{"measured": []}\n', "the first line does not begin with '# '"),
        ("# about\nname\nplain\n", "KeyError"),
        ("# about\nname,count\nplain,many\n", "many"),
        ('# about\nname,count\n"plain,1\n', "Error"),
    ],
)
def test_a_file_that_holds_no_table_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "table.csv").write_text(text, "utf-8")

    with pytest.raises(
        UsageError, match=rf"table\.csv: no stored measurements: .*{complaint}.* Make them with --csv FILE\."
    ):
        read_table(tmp_path / "table.csv", _row)

"""Stored measurements: a line on how they were made, and a table of comma-separated values with a row for each."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from chaosagent.errors import UsageError

ABOUT = "# "
"""What the first line begins with."""
Row = TypeVar("Row")


def write_table(path: Path, about: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table; `None` becomes an empty cell.

    Args:
        path: The file.
        about: One line on the machine and the command.
        columns: Their names.
        rows: A value for each column.
    """
    with path.open("w", encoding="utf-8", newline="") as opened:
        opened.write(f"{ABOUT}{about}\n")
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def read_table(
    path: Path, made: Callable[[Mapping[str, str]], Row], *, command: str = "--csv FILE"
) -> tuple[str, list[Row]]:
    """Return the line on how a table was made, and its rows.

    Args:
        path: The file.
        made: Parses one row.
        command: Writes such files; for the message.

    Raises:
        UsageError: The file holds no such table.
    """
    try:
        with path.open(encoding="utf-8", newline="") as opened:
            about = opened.readline()
            if not about.startswith(ABOUT):
                raise ValueError(f"the first line does not begin with {ABOUT!r}")
            rows = [made(row) for row in csv.DictReader(opened, strict=True)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, csv.Error) as error:
        raise UsageError(f"{path}: no stored measurements: {error!r}. Make them with {command}.") from error
    return about.removeprefix(ABOUT).rstrip("\n"), rows


def count_or_none(cell: str) -> int | None:
    """Return the number in a cell; `None` when it is empty."""
    return int(cell) if cell else None

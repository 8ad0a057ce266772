"""Rows as a table: a data frame where pandas is installed, a list of mappings elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from chaosagent.canonical import Plain

if TYPE_CHECKING:
    import pandas

    Frame: TypeAlias = pandas.DataFrame | list[dict[str, Plain]]


def frame_of(rows: Iterable[dict[str, Plain]]) -> Frame:
    """Return rows as a `pandas.DataFrame`, or as they are where pandas is not installed."""
    listed = list(rows)
    try:
        import pandas
    except ModuleNotFoundError:
        return listed
    return pandas.DataFrame(listed)

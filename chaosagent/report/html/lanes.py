"""A run as swim lanes: a lane for each interface, a column for each step, and what happened there.

Columns are not to scale: most of a run happens in a few instants of virtual time, which stand above the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from chaosagent.report.html.side_by_side import Row
from chaosagent.report.printable import printable, width_of

COLUMNS_MAX, LANES_MAX, NAME_MAX = 40, 14, 40
TOP, BOTTOM, COLUMN, LANE = 30.0, 8.0, 30.0, 26.0
CHARACTER = 7.2
"""How wide a character of a name is, about."""
MARK_GAP = 11.0
OTHERS = "other interfaces"


class Mark(NamedTuple):
    """Something that happened: where, as what sign of the page, and of which kind it is for colours."""

    at: float
    height: float
    sign: str
    kind: str


class Time(NamedTuple):
    """A text above a column."""

    at: float
    text: str


class Lane(NamedTuple):
    """The name of an interface, and how far down it lies."""

    height: float
    name: str


class Lanes(NamedTuple):
    """Swim lanes ready to be drawn.

    Attributes:
        width: Of the picture.
        height: Of it.
        lanes: From top to bottom, in the order in which they are first called.
        times: Virtual seconds, above the first column that has them.
        marks: What happened.
        path: Through the calls of the run with faults.
        other: Through those of the run without faults; empty where it is not known or equal.
        differs_at: Where the first difference is; `None` where there is none.
        left: How many steps have no column.
    """

    width: float
    height: float
    lanes: Sequence[Lane]
    times: Sequence[Time]
    marks: Sequence[Mark]
    path: str
    other: str
    differs_at: float | None
    left: int


def lanes_of(rows: Sequence[Row], *, broken_at_end: bool) -> Lanes | None:
    """Return the lanes of a comparison of two runs; `None` where it has next to no steps.

    Args:
        rows: Of the comparison, as the table of the page has them.
        broken_at_end: The contract is broken by how the run ended.
    """
    shown = [row for row in rows if row.skipped or row.here or row.there]
    columns = shown[:COLUMNS_MAX]
    names = list(dict.fromkeys(name for row in columns for name in (_lane(row),) if name))
    if len(columns) < 2 or not names:
        return None
    if len(names) > LANES_MAX:
        names = [*names[: LANES_MAX - 1], OTHERS]
    labels = [name if len(name) <= NAME_MAX else f"{name[: NAME_MAX - 3]}..." for name in map(printable, names)]
    left = CHARACTER * max(map(width_of, labels)) + COLUMN / 2
    heights = {name: TOP + LANE * (number + 0.5) for number, name in enumerate(names)}
    marks: list[Mark] = []
    times: list[Time] = []
    here: list[tuple[float, float]] = []
    there: list[tuple[float, float]] = []
    differs_at, before = None, ""
    for number, row in enumerate(columns):
        at = left + COLUMN * (number + 0.5)
        if row.skipped:
            marks.append(Mark(at, TOP - 4, f"+{row.skipped}", "skip"))
            continue
        height = heights.get(_lane(row), heights.get(OTHERS, TOP))
        if row.at and row.at != before:
            times.append(Time(at, row.at))
            before = row.at
        if row.is_first:
            differs_at = at
        marks += _marks(row, at, height)
        if row.here is not None:
            here.append((at, height))
        if row.there is not None or row.is_equal:
            there.append((at, height))
    if broken_at_end:
        marks.append(Mark(left + COLUMN * (len(columns) + 0.3), heights[names[-1]], "✗", "broken"))
    return Lanes(
        left + COLUMN * (len(columns) + 1),
        TOP + LANE * len(names) + BOTTOM,
        list(map(Lane, heights.values(), labels)),
        times,
        marks,
        _path(here),
        "" if differs_at is None else _path(there),
        differs_at,
        sum(row.skipped or 1 for row in shown[COLUMNS_MAX:]),
    )


def _lane(row: Row) -> str:
    side = row.here or row.there
    return "" if side is None else side.hook.partition("[")[0]


def _marks(row: Row, at: float, height: float) -> list[Mark]:
    """Return the signs of a step: the call itself, and beside it what was done to it and what came of it."""
    if row.here is None:
        return [Mark(at, height, "○", "other")]
    signs = [("●", "failed" if row.here.is_failure else "call")]
    signs += [
        (sign, kind)
        for given, sign, kind in (
            (row.injected, "◆", "injected"),
            (row.decided, "▲", "decided"),
            (row.committed, "■", "committed"),
            (row.broken, "✗", "broken"),
        )
        if given
    ]
    begin = at - MARK_GAP * (len(signs) - 1) / 2
    return [Mark(begin + MARK_GAP * number, height, sign, kind) for number, (sign, kind) in enumerate(signs)]


def _path(corners: Sequence[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{x:g} {y:g}" for x, y in corners) if len(corners) > 1 else ""

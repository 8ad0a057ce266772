"""Stored measurements, and the tables that are made of them without running anything."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from chaosagent.experiments.benchmarks.measuring import markdown
from chaosagent.experiments.benchmarks.planted.arena import Milestones
from chaosagent.experiments.benchmarks.planted.catalogue import FAMILIES
from chaosagent.experiments.benchmarks.planted.rows import row_of
from chaosagent.experiments.benchmarks.tables import count_or_none, read_table, write_table

NEVER = float("inf")
AGAINST = "anytime"
"""The searcher with which summaries compare the others."""
COLUMNS = ("family", "subject", "seed", "cap", *(field.name for field in fields(Milestones)))
"""Of a stored table."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement.

    Attributes:
        family: Name of the family.
        subject: Title of what was measured.
        seed: Of the layout and of the search.
        cap: Most executions.
        reached: How many executions it took to what.
    """

    family: str
    subject: str
    seed: int
    cap: int
    reached: Milestones


@dataclass(frozen=True, slots=True)
class Results:
    """Measurements with how they were made.

    Attributes:
        about: One line on the machine, and the command.
        measured: All of them.
    """

    about: str
    measured: tuple[Measured, ...]

    @property
    def rows(self) -> tuple[str, ...]:
        """The lines of the table, in the order of measuring."""
        return tuple(dict.fromkeys(row_of(one.family) for one in self.measured))

    @property
    def subjects(self) -> tuple[str, ...]:
        """The columns of the table, in the order of measuring."""
        return tuple(dict.fromkeys(one.subject for one in self.measured))

    def of(self, row: str, subject: str) -> tuple[Milestones, ...]:
        """Return the measurements of one cell of the table."""
        return tuple(one.reached for one in self.measured if row_of(one.family) == row and one.subject == subject)

    def save(self, path: Path) -> None:
        """Write them as a table."""
        rows = [(one.family, one.subject, one.seed, one.cap, *astuple(one.reached)) for one in self.measured]
        write_table(path, self.about, COLUMNS, rows)


def load(path: Path) -> Results:
    """Read what was saved.

    Raises:
        UsageError: The file does not hold results.
    """
    about, measured = read_table(path, _measured)
    return Results(about, tuple(measured))


def _measured(row: Mapping[str, str]) -> Measured:
    reached = Milestones(
        int(row["executions"]),
        count_or_none(row["first"]),
        count_or_none(row["minimum"]),
        count_or_none(row["certificate"]),
        int(row["wrong"]),
    )
    return Measured(row["family"], row["subject"], int(row["seed"]), int(row["cap"]), reached)


def merged(parts: Iterable[Results]) -> Results:
    """Return several results as one."""
    listed = list(parts)
    return Results("; ".join(part.about for part in listed), tuple(one for part in listed for one in part.measured))


Reached = Callable[[Milestones], "int | None"]
MILESTONES: dict[str, Reached] = {
    "first": lambda reached: reached.first,
    "minimum": lambda reached: reached.minimum,
    "certificate": lambda reached: reached.certificate,
}
"""What is counted to, in the order of the table."""


def median_of(cell: Sequence[Milestones], milestone: str) -> float:
    """Return the median of the executions to a milestone; a seed that never got there counts as infinite."""
    counts = [MILESTONES[milestone](reached) for reached in cell]
    return statistics.median_low([NEVER if count is None else count for count in counts]) if counts else NEVER


def middle_of(cell: Sequence[Milestones], milestone: str) -> tuple[float, float, float]:
    """Return lower quartile, median and upper quartile; a seed that never got there counts as infinite."""
    counts = sorted(NEVER if (count := MILESTONES[milestone](reached)) is None else count for reached in cell)
    return counts[(len(counts) - 1) // 4], counts[(len(counts) - 1) // 2], counts[-1 - (len(counts) - 1) // 4]


def share_of(cell: Sequence[Milestones], milestone: str) -> float:
    """Return the share of seeds that reached a milestone."""
    return sum(MILESTONES[milestone](reached) is not None for reached in cell) / len(cell) if cell else 0.0


def table(results: Results) -> str:
    """Return the table in Markdown: a line for each family, a column for each subject."""
    rows = [(row, *(_cell(results.of(row, subject)) for subject in results.subjects)) for row in results.rows]
    return markdown(("family", *results.subjects), rows)


def summary(results: Results, against: str = AGAINST, *, outside: Callable[[str], bool] = lambda _: False) -> str:
    """Return how many times the executions to the minimum that one subject needs each other needs, in Markdown.

    A family counts where most seeds of both got there within the limit; the mean of the ratios of medians is geometric.
    So what a subject does not solve costs it nothing but the number of families, which stands beside.

    Args:
        results: What was measured.
        against: The subject with which the others are compared.
        outside: Whether a subject is from outside; the best of these on each family make up a line of their own.

    Returns:
        The table; empty when `against` was not measured, or nothing else was.
    """
    families = [row for row in results.rows if row in FAMILIES and FAMILIES[row].minimum is not None]
    medians = {
        subject: {row: median_of(results.of(row, subject), "minimum") for row in families}
        for subject in results.subjects
    }
    best = {row: min((medians[name][row] for name in medians if outside(name)), default=NEVER) for row in families}
    ours = medians.pop(against, None)
    if ours is None or not medians:
        return ""
    rows: list[tuple[str, ...]] = []
    for name, theirs in {**medians, "the best from outside on each": best}.items():
        solved = [row for row in families if theirs[row] != NEVER]
        both = [row for row in solved if ours[row] != NEVER]
        if solved or name in medians:
            ratio = f"{statistics.geometric_mean(theirs[row] / ours[row] for row in both):.2g}" if both else ""
            rows.append((name, f"{len(solved)} of {len(families)}", ratio, f"{len(both)}" if both else ""))
    return markdown(("searcher or engine", "families solved", f"times the executions of {against}", "on"), rows)


def _cell(cell: Sequence[Milestones]) -> str:
    if not cell:
        return ""
    text = " / ".join(_figure(cell, milestone) for milestone in MILESTONES)
    wrong = sum(reached.wrong for reached in cell)
    return f"{text}; {wrong} wrong" if wrong else text


def _figure(cell: Sequence[Milestones], milestone: str) -> str:
    share, median = share_of(cell, milestone), median_of(cell, milestone)
    if share == 0.0:
        return "–"
    count = "—" if median == NEVER else f"{median:g}"
    return count if share == 1.0 else f"{count} ({share:.0%})"

"""What searchers found side by side: stored, and tables made of it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from chaosagent.experiments.benchmarks.measuring import markdown
from chaosagent.experiments.benchmarks.tables import read_table, write_table

EQUAL = 1e-9
COLUMNS = (
    *("target", "config", "task", "contract", "searcher", "limit"),
    *("executions", "seconds", "improved", "proved", "together"),
)
"""Of a stored table; `improved` is written as `executions:cost` for each."""
HEADER = (
    "target",
    "searcher",
    "pairs",
    "broken",
    "as cheaply as anybody",
    "to the first",
    "to the cheapest",
    "above it",
    "proved",
    "executions",
    "processor s",
)


class Pair(NamedTuple):
    """What one search is about."""

    target: str
    config: str
    task: str
    contract: str


@dataclass(frozen=True, slots=True)
class Found:
    """What one searcher found.

    Attributes:
        pair: In which search.
        searcher: Its name.
        executions: How many schedules its study had run.
        seconds: Processor time of the whole study, runs among them.
        improved: Each violation that was cheaper than those before: after how many executions, and its cost.
        proved: That nothing cheaper breaks the contract, or nothing at all within the budget.
        together: How many pairs its study searched.
    """

    pair: Pair
    searcher: str
    executions: int
    seconds: float
    improved: tuple[tuple[int, float], ...]
    proved: bool
    together: int = 1

    @property
    def cost(self) -> float:
        """The least cost found; infinite when nothing was."""
        return self.improved[-1][1] if self.improved else float("inf")


@dataclass(frozen=True, slots=True)
class Compared:
    """Searches by several searchers.

    Attributes:
        about: One line on the machine and the studies.
        limit: Most executions of one study.
        found: What each found.
    """

    about: str
    limit: int
    found: tuple[Found, ...]

    @property
    def searchers(self) -> tuple[str, ...]:
        """Who searched, in the order of the first searches."""
        return tuple(dict.fromkeys(one.searcher for one in self.found))

    @property
    def targets(self) -> tuple[str, ...]:
        """What was searched."""
        return tuple(dict.fromkeys(one.pair.target for one in self.found))

    def of(self, target: str, searcher: str) -> tuple[Found, ...]:
        """Return what a searcher found in a target."""
        return tuple(one for one in self.found if one.pair.target == target and one.searcher == searcher)

    def least(self, target: str) -> dict[Pair, float]:
        """Return the least cost that anybody found, of each pair that somebody broke."""
        costs: dict[Pair, float] = {}
        for one in self.found:
            if one.pair.target == target and one.improved:
                costs[one.pair] = min(costs.get(one.pair, one.cost), one.cost)
        return costs

    def save(self, path: Path) -> None:
        """Write it as a table."""
        rows = [
            (
                *(*one.pair, one.searcher, self.limit, one.executions, one.seconds),
                *(" ".join(f"{at}:{cost!r}" for at, cost in one.improved), int(one.proved), one.together),
            )
            for one in self.found
        ]
        write_table(path, self.about, COLUMNS, rows)


def load(path: Path) -> Compared:
    """Read what was saved.

    Raises:
        UsageError: The file does not hold that.
    """
    about, rows = read_table(path, lambda row: (int(row["limit"]), _found(row)))
    return Compared(about, max((limit for limit, _ in rows), default=0), tuple(found for _, found in rows))


def _found(row: Mapping[str, str]) -> Found:
    steps = (step.partition(":") for step in row["improved"].split())
    return Found(
        Pair(row["target"], row["config"], row["task"], row["contract"]),
        row["searcher"],
        int(row["executions"]),
        float(row["seconds"]),
        tuple((int(at), float(cost)) for at, _, cost in steps),
        row["proved"] == "1",
        int(row["together"]),
    )


def reached_at(one: Found, cost: float) -> int | None:
    """Return after how many executions a violation of at most some cost was found; `None` when none was."""
    return next((at for at, found in one.improved if found <= cost + EQUAL), None)


def table(compared: Compared) -> str:
    """Return the table in Markdown: a line for each target and searcher.

    Executions *to* something are medians over the pairs that somebody broke; one in which the searcher did not get
    there counts as infinite.
    """
    rows: list[tuple[str, ...]] = []
    for target in compared.targets:
        least = compared.least(target)
        rows += [_row(target, searcher, compared.of(target, searcher), least) for searcher in compared.searchers]
    return markdown(HEADER, rows)


def _row(target: str, searcher: str, found: Sequence[Found], least: dict[Pair, float]) -> tuple[str, ...]:
    breakable = [one for one in found if one.pair in least]
    broken = [one for one in breakable if one.improved]
    above = [one.cost - least[one.pair] for one in broken]
    return (
        target,
        searcher,
        str(len(found)),
        f"{len(broken)} of {len(breakable)}",
        str(sum(excess <= EQUAL for excess in above)),
        _median(reached_at(one, float("inf")) for one in breakable),
        _median(reached_at(one, least[one.pair]) for one in breakable),
        f"{statistics.fmean(above):.3f}" if above else "",
        str(sum(one.proved for one in found)),
        f"{sum(one.executions / one.together for one in found):.0f}",
        f"{sum(one.seconds / one.together for one in found):.0f}",
    )


def _median(counts: Iterable[int | None]) -> str:
    known = [float("inf") if count is None else count for count in counts]
    middle = statistics.median_low(known) if known else float("inf")
    return "—" if middle == float("inf") else f"{middle:g}"

"""The table of operators says what there is: where, within which bounds, at what cost, and how it is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chaosagent.faults.operator import Choice, CostModel, Domain, Levels, Operator, Text, lattice
from chaosagent.faults.schedule import parse
from chaosagent.operators import entries
from chaosagent.operators.words import Words

README = Path(__file__).parents[2] / "operators" / "README.md"
ROW = re.compile(r"^\| `([a-z_]+\.[a-z_]+)` \|(.*)\|$", re.MULTILINE)


def _bounds(domain: Domain) -> str:
    """Return what a parameter may be, as the table writes it."""
    if isinstance(domain, Levels):
        low, high = (f"{limit:g}" if limit < 1e6 else f"{limit:.0f}" for limit in domain.limits)
        return f"{low} to {high}"
    if isinstance(domain, Text):
        return f"at most {domain.characters_max} characters"
    assert isinstance(domain, Choice | Words)
    words = domain.words if isinstance(domain, Words) else domain.levels
    return ", ".join(str(word) if word in domain.levels else f"({word})" for word in words)


def _cost(kind: type[Operator]) -> str:
    costs = sorted({f"{CostModel().of(operator):.2f}" for operator in lattice(kind)})
    return costs[0] if len(costs) == 1 else f"{costs[0]} to {costs[-1]}"


def _cells(kind: type[Operator]) -> list[str]:
    """Return what the table says of an operator besides its name, what it does and an example."""
    boundaries = ", ".join(sorted(boundary.value for boundary in kind.boundaries))
    bounds = "; ".join(f"`{name}` {_bounds(domain)}" for name, domain in kind.parameters.items())
    searched = str(sum(1 for _ in lattice(kind))) + ("" if getattr(kind, "by_default", True) else " on request")
    return [boundaries, bounds or "none", searched, _cost(kind)]


ROWS = {name: [cell.strip() for cell in rest.split("|")] for name, rest in ROW.findall(README.read_text("utf-8"))}
NAMED = re.findall(r"^\| [a-z][^|]*\| (`[a-z]+:[^`]+`)", README.read_text("utf-8"), re.MULTILINE)


def test_the_table_lists_every_operator_once() -> None:
    assert sorted(ROWS) == sorted(entries())
    assert len(ROW.findall(README.read_text("utf-8"))) == len(ROWS)


@pytest.mark.parametrize("name", list(entries()))
def test_the_table_says_boundary_bounds_searched_points_and_cost(name: str) -> None:
    boundaries, meaning, *facts, _ = ROWS[name]

    assert [boundaries, *facts] == _cells(entries()[name])
    assert meaning


@pytest.mark.parametrize("name", list(entries()))
def test_the_example_in_the_table_is_a_schedule_with_the_operator(name: str) -> None:
    example = ROWS[name][-1]

    assert re.fullmatch(r"`[^`]+`", example)
    assert {injection.operator_name for injection in parse(example.strip("`"))} == {name}


def test_faults_by_other_names_are_schedules() -> None:
    written = [text.strip("`") for text in NAMED]

    assert len(written) > 10
    assert all(len(parse(text)) == 1 for text in written)

"""Write the table of operators in `operators/README.md`: `make table`, or `python -m tests.operators.table`.

Two cells of a row belong to the author of the operator and are kept: what it does, and an example. A new row takes them
from the docstring and from the strongest parameters. All other cells are computed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path

from chaosagent.faults.injection import Hook, inject
from chaosagent.faults.operator import Choice, CostModel, Domain, Levels, Operator, Text, lattice
from chaosagent.faults.schedule import schedule
from chaosagent.operators import entries
from chaosagent.operators.words import Words

README = Path(__file__).parents[2] / "operators" / "README.md"
ROW = re.compile(r"^\| `([a-z_]+\.[a-z_]+)` \|(.*)\|\n", re.MULTILINE)


def rows_in(text: str) -> dict[str, list[str]]:
    """Return the cells of each row after the name: boundary, what it does, bounds, searched, cost, an example."""
    return {name: [cell.strip() for cell in cells.split("|")] for name, cells in ROW.findall(text)}


def with_table(text: str) -> str:
    """Return the README with the table as it has to be."""
    old = rows_in(text)
    table = "".join(_row(name, entries()[name], old) for name in _ordered(list(old)))
    first, *_, last = (match.span() for match in ROW.finditer(text))
    return text[: first[0]] + table + text[last[1] :]


def _ordered(old: list[str]) -> list[str]:
    """Return the names in the order of the old rows; a new one comes last of its folder."""
    names = [name for name in old if name in entries()]
    for name in entries():
        if name not in names:
            beside = [position for position, other in enumerate(names, 1) if _folder(other) == _folder(name)]
            names.insert(max(beside, default=len(names)), name)
    return names


def _row(name: str, kind: type[Operator], old: Mapping[str, list[str]]) -> str:
    meaning, example = (old[name][1], old[name][-1]) if name in old else (_meaning(kind), _example(kind, old))
    boundaries = ", ".join(sorted(boundary.value for boundary in kind.boundaries))
    bounds = "; ".join(f"`{parameter}` {_bounds(domain)}" for parameter, domain in kind.parameters.items()) or "none"
    searched = str(sum(1 for _ in lattice(kind))) + ("" if getattr(kind, "by_default", True) else " on request")
    return f"| `{name}` | {boundaries} | {meaning} | {bounds} | {searched} | {_cost(kind)} | {example} |\n"


def _meaning(kind: type[Operator]) -> str:
    """Return the first sentence of the docstring, as a cell has it."""
    sentence = re.split(r"[.:;](?:\s|$)", inspect.getdoc(kind) or "", maxsplit=1)[0]
    return " ".join((sentence[:1].lower() + sentence[1:]).split())


def _example(kind: type[Operator], old: Mapping[str, list[str]]) -> str:
    """Return a schedule with the strongest parameters, at the interface of which another row of the folder speaks."""
    folder, _, word = kind.name.partition(".")
    others = [cells[-1].strip("`").partition("[")[0] for name, cells in old.items() if _folder(name) == folder]
    *_, strongest = lattice(kind)
    hook = Hook(others[0] if others else f"{folder}:example", "", 1, 1)
    text = schedule([inject(hook, strongest)]).text
    return f"`{text.replace(kind.name, word, 1)}`"


def _bounds(domain: Domain) -> str:
    """Return what a parameter may be."""
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


def _folder(name: str) -> str:
    return name.partition(".")[0]


if __name__ == "__main__":
    README.write_text(with_table(README.read_text("utf-8")), "utf-8")

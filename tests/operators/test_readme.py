"""The table of operators says what there is."""

from __future__ import annotations

import re
from pathlib import Path

from chaosagent.faults.operator import lattice
from chaosagent.operators import entries

README = Path(__file__).parents[2] / "operators" / "README.md"


def test_the_table_lists_every_operator_with_its_parameters_and_lattice() -> None:
    rows = re.findall(r"^\| `([a-z_.]+)` \|[^|]*\|([^|]*)\| (\d+) \|$", README.read_text("utf-8"), re.MULTILINE)

    listed = {name: (re.findall(r"`(\w+)`", parameters), int(count)) for name, parameters, count in rows}

    known = {name: (sorted(kind.parameters), sum(1 for _ in lattice(kind))) for name, kind in entries().items()}
    assert {name: (sorted(parameters), count) for name, (parameters, count) in listed.items()} == known

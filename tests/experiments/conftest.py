"""What the studies of the frameworks' examples are asked, and what doors add to the lines of an example."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from chaosagent.cli.main import main

ADDED_LINES_MAX = 10
"""More lines than these no example may need to be tested."""


def records_of(study: Path, out: Path) -> Path:
    """Search, which must find something, and return the folder of the records."""
    assert main(["search", str(study), "--out", str(out)]) == 1
    return out / "replays"


def names_of(records: Path) -> dict[str, int]:
    """Return how often which contract of which task was violated."""
    return dict(Counter(re.sub(r"-[0-9a-f]{12}$", "", record.stem) for record in records.iterdir()))


def replayed(records: Path, options: Iterable[str], capsys: pytest.CaptureFixture[str]) -> set[str]:
    """Replay all records, none of which may violate what it should not, and return their outcomes."""
    capsys.readouterr()
    assert main(["replay", *options, str(records), "--json"]) == 0
    printed = capsys.readouterr().out
    return {record["outcome"] for record in json.loads(printed[printed.index("{") :])["records"]}


def without_added(text: str) -> str:
    """Return the text of a module without the lines that are there for the test."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.rstrip().endswith("# added"))


def added_line_count(folder: Path, names: Iterable[str]) -> int:
    """Return how many lines of some modules are there for the test."""
    texts = [(folder / name).read_text("utf-8") for name in names]
    return sum(text.count("\n") - without_added(text).count("\n") for text in texts)


def rule_line_count(folder: Path) -> int:
    """Return how many lines say which effect a call of a tool committed."""
    rule = (folder / "shop.py").read_text("utf-8").partition("def committed(")[2]
    return len([line for line in rule.splitlines() if not line.strip().startswith('"""')])

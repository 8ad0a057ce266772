"""The desk of two LangChain agents: it works without chaosagent, and with few lines more it is tested."""

from __future__ import annotations

import ast
import asyncio
import difflib
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import chaosagent.experiments

pytestmark = [
    pytest.mark.langgraph,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("langgraph") is None, reason="needs the extra langgraph"),
]
FOLDER = Path(chaosagent.experiments.__path__[0]) / "langgraph"
LINES_MAX = 10


def test_the_desk_works_without_chaosagent() -> None:
    from chaosagent.experiments.langgraph.desk import serve
    from chaosagent.experiments.langgraph.shop import Shop

    for careful in (False, True):
        shop = Shop()
        text = asyncio.run(serve(["Please refund B-4.", "And B-4?"], shop, careful=careful))
        assert text == "Order B-4 was refunded."
        assert shop.refunds == ["B-4"]
        assert len(shop.mails) == 1


def test_few_lines_are_added_to_the_agent() -> None:
    page = (FOLDER / "README.md").read_text("utf-8")
    stated = re.search(r"(\w+) lines are added", page)

    added = _changed_in_the_agent() + _lines_of_doors()

    assert added <= LINES_MAX
    assert stated is not None
    assert (
        stated[1].lower() == ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"][added]
    )


def _changed_in_the_agent() -> int:
    """Return how many lines of the agent differ from the same agent that makes its agents with LangChain itself."""
    now = (FOLDER / "desk.py").read_text("utf-8")
    before = now.replace("    create_agent: Callable[..., Any] = langchain_create_agent,\n", "")
    before = before.replace("import create_agent as langchain_create_agent", "import create_agent")
    compile(before, "desk.py", "exec")
    changes = list(difflib.ndiff(before.splitlines(), now.splitlines()))
    return sum(line.startswith("+ ") for line in changes)


def _lines_of_doors() -> int:
    """Return how many lines of the target's function are there for the doors: all but what any target has."""
    source = (FOLDER / "target.py").read_text("utf-8")
    imports = [line for line in source.splitlines() if line.startswith("from chaosagent.adapters")]
    function = next(node for node in ast.parse(source).body if isinstance(node, ast.AsyncFunctionDef))
    body = [node for node in function.body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    return len(imports) + sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in body)

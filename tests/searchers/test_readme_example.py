"""The searcher that searchers/README.md writes in thirty lines is complete, and passes the conformance suite."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from chaosagent.study.shrinking.minimise import violates
from chaosagent.testing.searchers import BUDGET, SearcherConformance, bench

README = Path(__file__).parents[2] / "searchers" / "README.md"
TEST = re.compile(r"^```python\n(from chaosagent\.testing\.searchers.*?)^```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```python title=greedy\.py\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def greedy(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The class, as the page has it."""
    (source,) = FENCE.findall(README.read_text("utf-8"))
    file = tmp_path_factory.mktemp("page") / "greedy.py"
    file.write_text(source, encoding="utf-8")
    return runpy.run_path(str(file))["GreedySearcher"]


def test_its_class_has_thirty_lines() -> None:
    (source,) = FENCE.findall(README.read_text("utf-8"))

    written = [line for line in source[source.index("class ") :].splitlines() if line.strip()]

    assert len(written) <= 30


def test_the_module_of_its_test_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source,), (test,) = FENCE.findall(README.read_text("utf-8")), TEST.findall(README.read_text("utf-8"))
    (tmp_path / "greedy.py").write_text(source, encoding="utf-8")
    (tmp_path / "test_greedy.py").write_text(test, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    found = runpy.run_path(str(tmp_path / "test_greedy.py"))["TestGreedy"]

    assert issubclass(found, SearcherConformance)
    assert found.make is sys.modules.pop("greedy").GreedySearcher


@pytest.mark.slow
class TestGreedy(SearcherConformance):
    """As the page has it."""

    make = None

    @pytest.fixture(autouse=True)
    def _made_by_the_page(self, greedy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "make", greedy)


@pytest.mark.slow
def test_it_finds_what_breaks_a_contract(greedy: Any) -> None:
    searcher = greedy(bench().problem("final-needle", BUDGET))

    told = []
    while not searcher.finished:
        for proposal in searcher.ask(4):
            told.append(bench().run(proposal.schedule))
            searcher.tell(told[-1])

    assert any(violates(evaluation, "final-needle") for evaluation in told)
    assert len(told) > 10

"""The searcher that searchers/README.md writes in thirty lines is complete, and passes the conformance suite."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from chaosagent.study.minimise import violates
from chaosagent.testing.searchers import BUDGET, SearcherConformance, bench

README = Path(__file__).parents[2] / "searchers" / "README.md"
FENCE = re.compile(r"^```python title=greedy\.py\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def greedy(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The class, as the page has it."""
    (source,) = FENCE.findall(README.read_text("utf-8"))
    file = tmp_path_factory.mktemp("page") / "greedy.py"
    file.write_text(source, encoding="utf-8")
    return runpy.run_path(str(file))["GreedySearcher"]


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

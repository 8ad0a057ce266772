"""Every built-in searcher passes the conformance suite, and the suite refuses searchers that do not keep their word."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from chaosagent import searchers
from chaosagent.errors import UsageError
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY
from chaosagent.registry import Registry
from chaosagent.searchers import entries
from chaosagent.searchers.adversary import AdversarySearcher
from chaosagent.searchers.anytime import anytime
from chaosagent.searchers.bandit import BanditSearcher
from chaosagent.searchers.beam import BeamSearcher
from chaosagent.searchers.diversity import DiversitySearcher
from chaosagent.searchers.evolutionary import EvolutionarySearcher
from chaosagent.searchers.exact import exact
from chaosagent.searchers.hypothesis import HypothesisSearcher
from chaosagent.searchers.proof.uniform_cost import ExactSearcher
from chaosagent.searchers.random import RandomSearcher
from chaosagent.searchers.seen.trial_log import TrialLog
from chaosagent.searchers.tpe import TpeSearcher
from chaosagent.seeds import Streams
from chaosagent.study.searcher import SEARCHERS, Proposal, SearcherFactory, SearchProgress
from chaosagent.testing.searchers import SearcherConformance
from tests.thorough import IS_THOROUGH

FOLDER = Path(__file__).parents[2] / "searchers"


class TestExact(SearcherConformance):
    """Uniform-cost search."""

    make = exact


class TestAnytime(SearcherConformance):
    """Two streams."""

    make = anytime


class TestAdversary(SearcherConformance):
    """Online policies; it takes long for each trial."""

    make = AdversarySearcher
    trials_max = 250 if IS_THOROUGH else 60


class TestRandom(SearcherConformance):
    """The baseline."""

    make = RandomSearcher


class TestBeam(SearcherConformance):
    """Sequences of injections."""

    make = BeamSearcher


class TestEvolutionary(SearcherConformance):
    """Two objectives."""

    make = EvolutionarySearcher


class TestBandit(SearcherConformance):
    """Arms."""

    make = BanditSearcher


@pytest.mark.slow
class TestTpe(SearcherConformance):
    """Optuna's sampler."""

    make = TpeSearcher


@pytest.mark.slow
class TestHypothesis(SearcherConformance):
    """An engine that drives; it takes long for each trial."""

    make = HypothesisSearcher
    trials_max = 30 if IS_THOROUGH else 4


class TestDiversity(SearcherConformance):
    """An archive."""

    make = DiversitySearcher


def test_every_registered_builtin_has_a_suite() -> None:
    suites = (
        TestAdversary,
        TestAnytime,
        TestBandit,
        TestBeam,
        TestDiversity,
        TestEvolutionary,
        TestExact,
        TestHypothesis,
        TestRandom,
        TestTpe,
    )

    assert {suite.make for suite in suites} == set(entries().values())
    assert set(entries()) <= set(SEARCHERS)


def test_the_files_of_the_folder_are_the_searchers() -> None:
    files = [path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__"]

    assert list(entries()) == sorted(files)
    assert {"anytime", "beam", "exact", "random"} <= set(files)


def test_a_file_without_its_searcher_says_what_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "chaosagent.searchers.later"
    (tmp_path / "later.py").write_text("from chaosagent.searchers.beam import BeamSearcher\nimport random as later\n")
    monkeypatch.setattr(searchers, "__path__", [*searchers.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, name, raising=False)

    found = Registry[SearcherFactory]("searcher", "none", "chaosagent.searchers")

    assert "later" in found
    with pytest.raises(
        UsageError,
        match=r'later\.py has no class .* Write `name = "later"` in the class, or call the function later\.$',
    ):
        found.get("later")
    del sys.modules[name]


def test_a_plan_imports_only_the_searcher_that_it_names(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("target: refund\nsearch: {searcher: random, settings: {injections_max: 2}}\n")
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from chaosagent.studyfile import load_study, plan_of\n"
        "plan_of(load_study(Path(sys.argv[1])))\n"
        "files = {f'chaosagent.searchers.{name}' for name in sys.argv[2:]}\n"
        "print(*sorted(files & sys.modules.keys()))\n"
    )

    done = subprocess.run([sys.executable, "-c", script, path, *entries()], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["chaosagent.searchers.random"]


class Greedy(ExactSearcher):
    """Asks for more than it may."""

    def ask(self, count: int) -> list[Proposal]:
        return super().ask(count + 1)


class Forgetful(RandomSearcher):
    """Forgets what it was told, as far as asking goes."""

    def tell(self, evaluation: Evaluation) -> None:
        super().tell(evaluation)
        remembered, self._told = self._told, TrialLog()
        for told in remembered:
            if not told.schedule.injections:
                self._told.take(told)


class Boastful(ExactSearcher):
    """Claims more than it has proved."""

    @property
    def progress(self) -> SearchProgress:
        return replace(super().progress, lower_bound=2.25)


class Gullible(ExactSearcher):
    """Believes whatever it is told last."""

    def tell(self, evaluation: Evaluation) -> None:
        remembered, self.told = self.told, TrialLog()
        for told in remembered:
            if told.schedule != evaluation.schedule:
                self.told.take(told)
        super().tell(evaluation)


class Counting(RandomSearcher):
    """Draws from something that does not follow from what it was told."""

    asks = 0

    def ask(self, count: int) -> list[Proposal]:
        self.asks += 1
        self._streams = Streams(self.asks)
        return super().ask(count)


class Optimist(ExactSearcher):
    """Takes what could not be run for harmless."""

    @property
    def progress(self) -> SearchProgress:
        self._unknown_cost = float("inf")
        return super().progress


class Hasty(AdversarySearcher):
    """Has finished while what it asked for may still show it something."""

    @property
    def finished(self) -> bool:
        return EMPTY in self._told and (self._over or self._exhausted)


class Idle(RandomSearcher):
    """Never says that it has finished."""

    @property
    def finished(self) -> bool:
        return False


@pytest.mark.parametrize(
    ("kind", "test", "complaint"),
    [
        (Hasty, "test_once_finished_it_has_finished_whatever_it_is_told_of_what_is_out", "and has not any more"),
        (Idle, "test_once_finished_it_has_finished_whatever_it_is_told_of_what_is_out", "nothing is out, and it has"),
        (Greedy, "test_it_never_asks_for_more_than_it_may", "proposals"),
        (Forgetful, "test_it_never_asks_twice_for_the_same", "more than once"),
        (Boastful, "test_its_bound_is_true_and_never_falls", "It claims that nothing cheaper"),
        (Gullible, "test_it_takes_what_it_was_told_twice_and_refuses_what_contradicts", "did not raise"),
        (Counting, "test_its_state_is_the_log_of_what_it_was_told", "a fresh one told the same"),
        (Optimist, "test_its_bound_stays_below_what_could_not_be_run", "could not be run"),
    ],
)
def test_the_suite_refuses(kind: type[ExactSearcher], test: str, complaint: str) -> None:
    suite = type("Suite", (SearcherConformance,), {"make": kind})()

    with pytest.raises(AssertionError, match=complaint):
        getattr(suite, test)()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(entries()))
def test_what_is_asked_does_not_depend_on_the_hash_seed(name: str) -> None:
    script = (
        "from chaosagent.testing.searchers import SearcherConformance, bench\n"
        "from chaosagent.study.searcher import SEARCHERS\n"
        f"suite = type('Suite', (SearcherConformance,), {{'make': SEARCHERS.get({name!r})}})()\n"
        "print([str(bench().answer(proposal).schedule) for proposal in suite._asked('rare-needle', 5)])\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1", "4242")
    }

    assert len(outputs) == 1
    assert outputs.pop().count("service:") > 20

"""The benchmark of weaknesses says of every pair how its search ended, and counts each once."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from chaosagent.experiments.benchmarks.weaknesses import (
    Ending,
    Workers,
    counts,
    ending_of,
    main,
    one_by_one,
    search_all,
    table,
)
from chaosagent.study.certificate import Certificate
from chaosagent.study.chance.confirmation import CleanRuns
from chaosagent.study.result import SearchResult
from chaosagent.studyfile import Overrides


def _study(tmp_path: Path) -> Path:
    with as_file(files("chaosagent.experiments.refund") / "study.yaml") as path:
        copy = tmp_path / "study.yaml"
        copy.write_text(path.read_text("utf-8"), "utf-8")
    return copy


def _ended(certificate: Certificate, *, nominally: bool = False, injectable: bool = True) -> Ending:
    return ending_of(SearchResult("x", 0, "c", 1, nominally, (), certificate, injectable))


def test_a_search_that_found_nothing_is_robust_only_with_a_proof_about_something() -> None:
    proof = Certificate("C2", None, float("inf"), 3.0, 10)
    bound = Certificate("C2", None, 2.2, 3.0, 10, limit_reached=True)

    assert _ended(proof) is Ending.ROBUST
    assert _ended(bound) is Ending.OPEN
    assert _ended(Certificate("C0", None, float("inf"), 3.0, 10)) is Ending.OPEN
    assert _ended(proof, injectable=False) is Ending.NO_PLACE
    assert _ended(Certificate("C2", 0.0, 0.0, 3.0, 1), nominally=True) is Ending.NOMINAL


def test_what_clean_runs_show_is_called_neither_certified_nor_robust() -> None:
    clean = CleanRuns(4, 17, 0.025)
    none = Certificate("S", None, float("inf"), 3.0, 10, frozen=True, clean=clean)
    search = SearchResult("x", 0, "c", 1, False, (), none)
    cells = counts([search])

    assert _ended(none) is Ending.NONE_SHOWN
    assert _ended(replace(none, lower_bound=1.1)) is Ending.OPEN
    assert cells[4] == "0"
    assert cells[-1] == "0; 1; at least 17, below 0.20 of runs with error 0.025 each"
    assert "robust" not in Ending.NONE_SHOWN.value + Ending.CHEAPEST_SHOWN.value
    assert "prove" not in Ending.NONE_SHOWN.value + Ending.CHEAPEST_SHOWN.value


def test_planted_weaknesses_are_counted_with_their_certified_cost(tmp_path: Path) -> None:
    searched = search_all(_study(tmp_path), Overrides(config="naive", budget=3.0))

    lines = {line.split(" | ")[1]: line.strip("| ").split(" | ") for line in table([searched]).splitlines()}

    assert lines["at-most-once"][2:-2] == ["1", "1", "1 (2.125 / 2.125 / 2.125)", "0", "0", "0", "0", "0"]
    assert lines["termination"][2:-2] == ["1", "0", "0", "0", "1", "0", "0", "0"]
    assert lines["**all**"][2:4] == ["8", "3"]
    assert "at-most-once  certified 2.125  service:payments[1]" in one_by_one(searched)
    assert "termination" not in one_by_one(searched)


def test_a_search_that_ends_at_its_limit_has_only_a_bound(tmp_path: Path) -> None:
    searched = search_all(_study(tmp_path), Overrides(config="hardened", budget=3.0, trials=12))

    _, broken, _, bounded, robust, left_open, *_ = counts(searched.result.searches)

    assert (broken, bounded, robust) == ("0", "0", "0")
    assert left_open.startswith("8 (1")
    assert "open bound 1" in one_by_one(searched)


def test_every_pair_is_counted_once(tmp_path: Path) -> None:
    for trials in (3, 12, 30, 60, 300):
        searched = search_all(_study(tmp_path), Overrides(config="naive", budget=3.0, trials=trials))

        cells = counts(searched.result.searches)
        ends = [int(cell.split()[0]) for cell in cells[2:-2]]

        assert sum(ends) == int(cells[0]) == 8
        assert ends[0] + ends[1] == int(cells[1])


def test_a_budget_below_any_fault_has_no_place_and_proves_nothing(tmp_path: Path) -> None:
    searched = search_all(_study(tmp_path), Overrides(config="naive", budget=0.5))

    assert {ending_of(search) for search in searched.result.searches} == {Ending.NO_PLACE}


def test_all_configurations_are_measured_when_none_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main([str(_study(tmp_path)), "--budget", "1.2", "--limit", "50"])

    printed = capsys.readouterr().out
    assert code == 0
    assert "1 tasks, 4 operators, budget 1.2, at most 50 trials a search, inline" in printed
    assert "| naive | **all** | 8 | 2 |" in printed
    assert "| hardened | **all** | 8 | 0 |" in printed


def test_an_unknown_configuration_is_named_before_anything_is_searched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([str(_study(tmp_path)), "--config", "hardend"])

    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert "Did you mean 'hardened'?" in printed.err


@pytest.mark.slow
def test_worker_processes_count_the_same(tmp_path: Path) -> None:
    inline, process = (
        search_all(_study(tmp_path), Overrides(config="naive", budget=3.0), workers)
        for workers in (Workers(), Workers("process", 2))
    )

    assert table([inline]) == table([process])
    assert inline.result.digest == process.result.digest

"""Searchers are compared on the same searches, with the same limit, and what is drawn follows from what is stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaosagent.errors import UsageError
from chaosagent.experiments.benchmarks.comparison.__main__ import main
from chaosagent.experiments.benchmarks.comparison.plot import draw
from chaosagent.experiments.benchmarks.comparison.results import Compared, Found, Pair, load, reached_at, table
from chaosagent.experiments.benchmarks.comparison.searching import search_all, searches_of

ROOT = Path(__file__).parents[4]
STUDY = ROOT / "experiments" / "triage" / "study.yaml"
LIMIT = 40


def _pair(task: str) -> Pair:
    return Pair("triage", "naive", task, "at-most-once")


def _compared() -> Compared:
    return Compared(
        "here",
        100,
        (
            Found(_pair("one"), "a", 50, 1.5, ((10, 2.0), (20, 1.0)), True),
            Found(_pair("one"), "b", 100, 2.0, ((5, 2.0),), False),
            Found(_pair("two"), "a", 100, 1.0, (), False),
            Found(_pair("two"), "b", 100, 1.0, ((8, 3.0),), False),
            Found(_pair("three"), "a", 30, 1.0, (), True),
            Found(_pair("three"), "b", 100, 1.0, (), False),
        ),
    )


def test_a_table_compares_on_the_pairs_that_somebody_broke() -> None:
    lines = table(_compared()).splitlines()

    assert "| as cheaply as anybody | to the first | to the cheapest |" in lines[0]
    assert lines[2:] == [
        "| triage | a | 3 | 1 of 2 | 1 | 10 | 20 | 0.000 | 2 | 180 | 4 |",
        "| triage | b | 3 | 2 of 2 | 1 | 5 | 8 | 0.500 | 0 | 300 | 4 |",
    ]


def test_executions_are_counted_to_a_violation_that_is_cheap_enough() -> None:
    found = _compared().found[0]

    assert [reached_at(found, cost) for cost in (float("inf"), 2.0, 1.5, 0.5)] == [10, 10, 20, None]


def test_stored_searches_are_read_as_they_were(tmp_path: Path) -> None:
    _compared().save(tmp_path / "found.csv")

    assert load(tmp_path / "found.csv") == _compared()


def test_a_file_that_holds_no_searches_is_refused(tmp_path: Path) -> None:
    (tmp_path / "found.csv").write_text("target,config\n", "utf-8")

    with pytest.raises(UsageError, match=r"found\.csv: no stored measurements: .* Make them with --csv FILE\."):
        load(tmp_path / "found.csv")


@pytest.mark.slow
def test_what_was_found_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")

    draw(_compared(), tmp_path / "picture.svg")

    assert (tmp_path / "picture.svg").stat().st_size > 5_000


@pytest.mark.slow
def test_searches_keep_their_limit_and_repeat_but_for_their_seconds() -> None:
    searches = next(iter(searches_of(STUDY, ("exact", "random"), LIMIT)))

    one, other = ([found_without_seconds(found) for found in search_all(searches)] for _ in range(2))

    assert one == other
    assert {searcher for _, searcher, *_ in one} == {"exact", "random"}
    assert all(executions <= LIMIT for _, _, executions, *_ in one)
    assert any(improved for *_, improved, _ in one)


@pytest.mark.slow
def test_contracts_that_are_searched_together_share_their_executions() -> None:
    searches = next(iter(searches_of(STUDY, ("anytime",), LIMIT, together=True)))

    found = search_all(searches)

    assert len(found) > 1
    assert {one.executions for one in found} == {LIMIT}
    assert {one.together for one in found} == {len(found)}
    assert f"| {LIMIT} |" in table(Compared("here", LIMIT, tuple(found)))


def found_without_seconds(found: Found) -> tuple[Pair, str, int, tuple[tuple[int, float], ...], bool]:
    return found.pair, found.searcher, found.executions, found.improved, found.proved


def test_the_command_refuses_searchers_that_nobody_knows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(STUDY), "--searcher", "rndom"]) == 2

    assert "--searcher: unknown searcher 'rndom'. Did you mean 'random'?" in capsys.readouterr().err


def test_the_command_wants_something_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2

    assert "Name study files, or stored searches with --show FILE." in capsys.readouterr().err


def test_the_command_shows_what_was_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _compared().save(tmp_path / "found.csv")

    assert main(["--show", str(tmp_path / "found.csv")]) == 0

    assert table(_compared()) in capsys.readouterr().out

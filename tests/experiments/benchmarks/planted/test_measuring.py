"""A measurement counts what was executed, stops where it should, and is made of nothing but its cell."""

from __future__ import annotations

from importlib.resources import as_file, files
from itertools import combinations, product
from pathlib import Path

import pytest

from chaosagent.errors import UnknownNameError
from chaosagent.experiments.benchmarks.planted.__main__ import main
from chaosagent.experiments.benchmarks.planted.arena import Arena, Enough, Milestones, job_of, workbench_of
from chaosagent.experiments.benchmarks.planted.catalogue import FAMILIES
from chaosagent.experiments.benchmarks.planted.engines.catalogue import ENGINES, from_outside
from chaosagent.experiments.benchmarks.planted.engines.covering_arrays import rows
from chaosagent.experiments.benchmarks.planted.engines.engine import ddmin
from chaosagent.experiments.benchmarks.planted.family import KEPT
from chaosagent.experiments.benchmarks.planted.measuring import Cell, Subject, measure, measure_all
from chaosagent.experiments.benchmarks.planted.plot import draw
from chaosagent.experiments.benchmarks.planted.random_agents import (
    CONSTRUCTION,
    COUNT,
    GROUPS,
    agent_family,
    known_agents,
    stored,
)
from chaosagent.experiments.benchmarks.planted.results import Measured, Results, load, merged, middle_of, summary, table
from chaosagent.experiments.benchmarks.planted.rows import expanded, family_of, row_of
from chaosagent.experiments.benchmarks.planted.truth import proved
from chaosagent.faults.injection import Hook, Injection, inject
from chaosagent.faults.schedule import EMPTY
from chaosagent.seeds import derive
from chaosagent.study.shrinking.minimise import violates

STORED = (
    ("measured", "measured-agents"),
    ("measured-engines", "measured-hypothesis"),
    ("measured-verifai", "measured-nevergrad", "measured-pyribs", "measured-optuna"),
    ("measured-own",),
)
SLICE = ("single", "text", "disjoint")
SUBJECTS = (Subject("exact"), Subject("anytime"), Subject("random"))


def _results(*runs: tuple[str, str, Milestones]) -> Results:
    return Results("here", tuple(Measured(family, subject, 0, 100, reached) for family, subject, reached in runs))


@pytest.mark.slow
def test_a_slice_of_the_benchmark_finds_what_is_planted_and_proves_it() -> None:
    cells = [Cell(family, subject, seed, 600) for family in SLICE for subject in SUBJECTS for seed in range(2)]

    measured = dict(measure_all_by_name(cells))
    again = dict(measure_all_by_name(cells[:: len(SUBJECTS)], jobs=2))

    assert again.items() <= measured.items()
    for cell in cells:
        reached = measured[str(cell)]
        assert reached.executions <= 600
        assert reached.wrong == 0
        if cell.subject.name == "random":
            assert reached.certificate is None
            continue
        assert reached.first is not None
        assert reached.minimum is not None
        assert reached.certificate is not None
        assert reached.first <= reached.minimum <= reached.certificate <= reached.executions


def measure_all_by_name(cells: list[Cell], jobs: int = 1) -> list[tuple[str, Milestones]]:
    return [(str(cell), reached) for cell, reached in measure_all(cells, jobs)]


@pytest.mark.slow
def test_the_random_searcher_gets_to_the_minimum_of_a_single_fault() -> None:
    reached = [measure(Cell("single", Subject("random"), seed, 600)).minimum for seed in range(3)]

    assert None not in reached


def test_exact_is_measured_without_what_follows_its_certificate() -> None:
    reached = measure(Cell("single", Subject("exact"), 0, 100))

    assert reached.first == reached.minimum == reached.certificate
    assert 2 <= reached.executions <= 25


def test_a_robust_target_is_certified_and_not_given_to_engines() -> None:
    assert measure(Cell("robust", Subject("random"), 0, 50)) == Milestones()

    reached = measure(Cell("robust", Subject("exact"), 0, 1_000))

    assert (reached.first, reached.minimum, reached.wrong) == (None, None, 0)
    assert reached.certificate is not None


@pytest.mark.parametrize("name", [*sorted(name for name in ENGINES if not from_outside(name)), "exact", "random"])
def test_no_subject_executes_more_than_the_limit(name: str) -> None:
    assert measure(Cell("retry", Subject(name), 0, 40)).executions == 40


def test_without_checkpoints_a_certificate_takes_more_executions() -> None:
    with_rests, without = (
        measure(Cell("disjoint", Subject("exact", checkpoints=rests), 0, 1_000)).certificate for rests in (True, False)
    )

    assert with_rests is not None
    assert without is not None
    assert without > with_rests


def test_an_arena_executes_a_schedule_once_and_counts_it_once() -> None:
    arena = Arena(FAMILIES["pair"], 0, 2)

    told = [arena(EMPTY), arena(EMPTY)]

    assert told[0] == told[1]
    assert arena.milestones.executions == 1


def test_an_arena_runs_a_stochastic_target_as_often_as_it_is_asked() -> None:
    arena = Arena(FAMILIES["chance-pair"], 0, 2)

    arena(EMPTY), arena(EMPTY)

    with pytest.raises(Enough):
        arena(EMPTY)


def test_ddmin_reduces_a_schedule_to_what_is_planted() -> None:
    planted = FAMILIES["pair"].planted(0)
    arena = Arena(FAMILIES["pair"], 0, 500)
    more = [hook for hook in arena.hooks if hook not in {injection.hook for injection in planted.minima[0]}][:6]
    dear = planted.minima[0]
    for hook in more:
        dear = dear.with_injection(_late(arena, hook))

    with pytest.raises(Enough):
        ddmin(arena, arena(dear)), arena(EMPTY)

    assert arena.milestones.minimum is not None


def _late(arena: Arena, hook: Hook) -> Injection:
    return inject(hook, arena.levels[hook][0])


def test_rows_of_a_covering_array_hold_every_pair_of_levels() -> None:
    counts = [3, 2, 4, 3]

    made = list(rows(counts, derive(0, "test")))

    for one, other in combinations(range(4), 2):
        wanted = set(product(range(counts[one]), range(counts[other])))
        assert {(row[one], row[other]) for row in made if one in row and other in row} == wanted


def test_random_agents_are_two_groups_that_share_none() -> None:
    groups = [known_agents(group) for group in GROUPS]

    assert [len(group) for group in groups] == [COUNT, COUNT]
    assert not set(groups[0]) & set(groups[1])
    assert row_of(f"agent-{groups[1][0]}") == "reported-agents"
    assert expanded("tuning-agents")[0] == f"agent-{groups[0][0]}"


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_the_least_cost_of_random_agents_is_as_stored(group: str) -> None:
    proved_ones = [(number, proof) for number, proof in stored()[group].items() if proof.rules != CONSTRUCTION]
    cheap = sorted(proved_ones, key=lambda entry: entry[1].executions)[:8]

    assert len(proved_ones) > len(stored()[group]) / 2
    for number, proof in cheap:
        assert proved(agent_family(number).planted(1), proof.rules, 3_000).minimum == proof.minimum
        assert agent_family(number).minimum == proof.minimum


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_planted_in_a_random_agent_breaks_it_and_nothing_of_it_can_be_spared(group: str) -> None:
    for number in known_agents(group)[::4]:
        planted = agent_family(number).planted(2)
        workbench = workbench_of(planted)
        for found in planted.minima:
            assert violates(workbench.evaluate(job_of(found)), KEPT.id)
            for injection in found:
                assert not violates(workbench.evaluate(job_of(found.without(injection))), KEPT.id)


def test_an_unknown_family_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown family 'singel'\. Did you mean 'single'"):
        family_of("singel")


def test_a_table_gives_medians_shares_and_what_was_wrong() -> None:
    results = _results(
        ("pair", "a", Milestones(10, 4, 6, 9)),
        ("pair", "a", Milestones(10, 8, None, None, 1)),
        ("pair", "b", Milestones(100)),
    )

    lines = table(results).splitlines()

    assert lines[0] == "| family | a | b |"
    assert lines[2] == "| pair | 4 / 6 (50%) / 9 (50%); 1 wrong | – / – / – |"


def _both(ours: int | None, theirs: int | None) -> Results:
    return _results(("pair", "anytime", Milestones(9, 1, ours)), ("pair", "b", Milestones(9, 1, theirs)))


def test_a_summary_compares_medians_on_what_both_solve_in_the_geometric_mean() -> None:
    results = _results(
        ("pair", "anytime", Milestones(10, 4, 10)),
        ("single", "anytime", Milestones(10, 4, 5)),
        ("triple", "anytime", Milestones(10, 4, 7)),
        ("robust", "anytime", Milestones(10)),
        ("pair", "b", Milestones(10, 4, 20)),
        ("single", "b", Milestones(10, 4, 40)),
        ("triple", "b", Milestones(10, 4, None)),
    )

    lines = summary(results).splitlines()

    assert lines[0] == "| searcher or engine | families solved | times the executions of anytime | on |"
    assert lines[2:] == ["| b | 2 of 3 | 4 | 2 |"]


def test_a_summary_says_which_families_the_other_alone_solves() -> None:
    assert summary(_both(None, 8)).splitlines()[2:] == ["| b | 1 of 1 |  |  |"]
    assert summary(_both(8, None)).splitlines()[2:] == ["| b | 0 of 1 |  |  |"]


def test_a_summary_takes_the_best_of_those_from_outside_on_each_family() -> None:
    results = _results(
        ("pair", "anytime", Milestones(10, 4, 10)),
        ("single", "anytime", Milestones(10, 4, 10)),
        ("pair", "deap-ga", Milestones(10, 4, 20)),
        ("single", "deap-ga-minimise", Milestones(10, 4, 80)),
        ("single", "random", Milestones(10, 4, 1)),
    )

    last = summary(results, outside=from_outside).splitlines()[-1]

    assert last == "| the best from outside on each | 2 of 2 | 4 | 2 |"


def test_without_the_searcher_to_compare_with_there_is_no_summary() -> None:
    assert summary(_both(1, 2), "exact") == ""


def test_quartiles_count_what_was_not_reached_as_infinite() -> None:
    cell = [Milestones(10, 4, minimum) for minimum in (30, None, 10, 20, None)]

    assert middle_of(cell, "minimum") == (20, 30, float("inf"))
    assert middle_of(cell, "first") == (4, 4, 4)


def test_stored_measurements_are_read_as_they_were(tmp_path: Path) -> None:
    results = _results(("pair", "a", Milestones(10, 4, 6, 9)), ("robust", "a", Milestones(3)))

    results.save(tmp_path / "results.csv")

    assert load(tmp_path / "results.csv") == results


def test_the_command_measures_stores_and_shows_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored_at = tmp_path / "results.csv"

    assert main(["--family", "single", "--seeds", "2", "--cap", "60", "--csv", str(stored_at)]) == 0
    first = capsys.readouterr().out
    assert main(["--show", str(stored_at)]) == 0

    assert capsys.readouterr().out == first
    assert "| single |" in first


def test_the_command_refuses_a_searcher_that_nobody_knows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--searcher", "exakt"]) == 2

    assert "--searcher: unknown searcher or engine 'exakt'. Did you mean 'exact'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--searcher", "anytime", "--set", "r1=3"], "--set: search.settings.r1 is 3; it must be true or false."),
        (["--searcher", "adversary", "--set", "learns=3"], "search.settings.learns is 3; it must be true or false."),
        (["--set", "r4=false"], "--set: unknown setting of searcher 'exact': 'r4'. Did you mean 'r3'?"),
        (
            ["--searcher", "beam", "--set", "width=0"],
            "--set: search.settings.width is 0; it must be a whole number",
        ),
        (["--searcher", "beam", "--set", "width"], "--set 'width': write KEY=VALUE"),
        (["--seeds", "-1"], "--seeds -1: it must be at least 1."),
        (["--cap", "0"], "--cap 0: it must be at least 1."),
    ],
)
def test_the_command_refuses_what_it_cannot_measure(
    options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*options, "--family", "single"]) == 2

    printed = capsys.readouterr()
    assert complaint in printed.err
    assert not printed.out


@pytest.mark.parametrize("names", STORED, ids=" ".join)
def test_a_table_of_the_page_is_made_of_the_stored_measurements(names: tuple[str, ...]) -> None:
    folder = files("chaosagent.experiments.benchmarks.planted")
    page = (folder / "README.md").read_text("utf-8")

    with as_file(folder) as here:
        results = merged(load(here / f"{name}.csv") for name in names)

    assert table(results) in page
    assert not any(one.reached.wrong for one in results.measured)


def test_the_comparison_on_the_page_is_made_of_all_stored_measurements() -> None:
    folder = files("chaosagent.experiments.benchmarks.planted")
    page = (folder / "README.md").read_text("utf-8")

    with as_file(folder) as here:
        results = merged(load(here / f"{name}.csv") for names in STORED for name in names)

    assert summary(results, outside=from_outside) in page


@pytest.mark.slow
@pytest.mark.parametrize("minimum", [6, None])
def test_measurements_are_drawn(tmp_path: Path, minimum: int | None) -> None:
    pytest.importorskip("matplotlib")
    results = _results(
        ("pair", "a", Milestones(10, 4, minimum, minimum)),
        ("pair", "a", Milestones(10, 4, 6, 9)),
        ("robust", "a", Milestones(3)),
    )

    draw(results, tmp_path / "picture.svg")

    assert (tmp_path / "picture.svg").stat().st_size > 5_000

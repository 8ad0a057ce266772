"""Engines from outside search an arena, repeat, find what is planted, and say what they need when it is missing."""

from __future__ import annotations

import importlib
import random
from importlib.resources import files

import pytest

from chaosagent.errors import MissingExtraError, UsageError
from chaosagent.experiments.benchmarks.planted.__main__ import main
from chaosagent.experiments.benchmarks.planted.arena import Arena, Enough, Judged
from chaosagent.experiments.benchmarks.planted.catalogue import FAMILIES
from chaosagent.experiments.benchmarks.planted.engines.catalogue import ENGINES, MINIMISED, PACKAGES, check_installed
from chaosagent.experiments.benchmarks.planted.engines.engine import minimised
from chaosagent.experiments.benchmarks.planted.engines.evolution import heaviest
from chaosagent.experiments.benchmarks.planted.engines.falsifier import VIOLATED, WORST, feedback
from chaosagent.experiments.benchmarks.planted.engines.genetic import Breeding, Individual
from chaosagent.experiments.benchmarks.planted.engines.installing import installed
from chaosagent.experiments.benchmarks.planted.engines.scores import REPEATS_MAX, Scores, injections_max
from chaosagent.experiments.benchmarks.planted.engines.vectors import at, of, sizes
from chaosagent.experiments.benchmarks.planted.measuring import Cell, Subject, measure
from chaosagent.faults.schedule import EMPTY
from chaosagent.seeds import derive

OUTSIDE = tuple(PACKAGES)


def _need(name: str) -> None:
    pytest.importorskip(PACKAGES[name][0], reason=f"{name} needs a package that is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.filterwarnings("ignore")  # packages from outside warn of what is theirs
def test_an_engine_from_outside_repeats_and_executes_no_more_than_the_limit(name: str) -> None:
    _need(name)

    for family in ("magnitudes", "text", "chance-pair"):
        one, other = (measure(Cell(family, Subject(name), 3, 70)) for _ in range(2))

        assert one == other
        assert one.executions == 70 or one.minimum == one.executions


@pytest.mark.slow
@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.filterwarnings("ignore")  # packages from outside warn of what is theirs
def test_an_engine_from_outside_finds_a_single_fault(name: str) -> None:
    _need(name)

    reached = measure(Cell("single", Subject(name + MINIMISED), 1, 2_000))

    assert reached.minimum is not None
    assert reached.certificate is None


@pytest.mark.parametrize("name", OUTSIDE)
def test_an_engine_that_is_not_installed_says_how_to_install_it(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    package, extra = PACKAGES[name]
    _hide(monkeypatch, package)

    assert main(["--searcher", name, "--family", "single", "--seeds", "1"]) == 2

    said = capsys.readouterr().err
    assert f"--searcher {name} needs {package}, which is not installed" in said
    assert (f"'chaosagent[{extra}]'" if extra else f"pip install {package}") in said


def _hide(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    real = importlib.import_module

    def import_module(name: str, within: str | None = None) -> object:
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        return real(name, within)

    monkeypatch.setattr(importlib, "import_module", import_module)


def test_what_only_engines_need_stands_in_their_requirements_with_lower_bounds() -> None:
    folder = files("chaosagent.experiments.benchmarks.planted") / "engines"
    lines = [
        line for line in (folder / "requirements.txt").read_text("utf-8").splitlines() if line[:1] not in ("", "#")
    ]

    assert {line.partition(">=")[0] for line in lines} == {package for package, extra in PACKAGES.values() if not extra}


def test_the_error_for_a_missing_package_is_one_of_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    _hide(monkeypatch, "optuna")
    with pytest.raises(MissingExtraError, match=r"--searcher optuna-tpe-minimise needs optuna"):
        check_installed("optuna-tpe-minimise")

    _hide(monkeypatch, "ribs")
    with pytest.raises(UsageError, match=r"pip install -r experiments/.*/requirements\.txt"):
        installed("ribs.archives", needed_by="--searcher pyribs-cma-mae")


def test_engines_that_need_nothing_are_always_installed() -> None:
    for name in set(ENGINES) - {*PACKAGES, *(engine + MINIMISED for engine in PACKAGES)}:
        check_installed(name)


def _scored(verdicts: list[Judged]) -> list[float]:
    scores = Scores(Arena(FAMILIES["pair"], 0, 5))
    return [scores.of(judged).value for judged in verdicts]


def test_every_violation_is_worth_less_than_every_run_that_holds_and_cheaper_ones_less_than_dearer() -> None:
    far, near = Judged(False, 1.0, 0.0, EMPTY), Judged(False, 0.01, 9.0, EMPTY)
    dear, cheap = Judged(True, -1.0, 9.0, EMPTY), Judged(True, 0.0, 1.0, EMPTY)

    values = _scored([far, near, dear, cheap])

    assert values == sorted(values, reverse=True)
    assert values[1] > 0.0 > values[2]
    assert values[3] > -1.0


def test_feedback_is_below_zero_for_the_best_so_far_and_for_ties_with_it_only() -> None:
    assert feedback(0.5, 0.5) < 0.0 < feedback(0.75, 0.5)
    assert feedback(-0.4, -0.4) < 0.0 < feedback(-0.3, -0.4)  # a dearer violation is no news
    assert feedback(WORST, WORST) >= 0.0  # nothing has come closer to a violation yet


def test_feedback_of_a_target_that_answers_by_chance_is_below_zero_for_every_violation() -> None:
    assert feedback(-0.1, VIOLATED) < 0.0
    assert feedback(0.1, VIOLATED) > 0.0


def test_an_engine_that_tries_nothing_new_is_ended() -> None:
    scores = Scores(Arena(FAMILIES["pair"], 0, 5))

    for _ in range(REPEATS_MAX):
        scores(EMPTY)

    assert scores.repeats == REPEATS_MAX - 1
    with pytest.raises(Enough):
        scores(EMPTY)


def test_scores_with_a_way_to_reduce_reduce_each_kind_of_violation_once() -> None:
    planted = FAMILIES["disjoint"].planted(0)
    arena = Arena(FAMILIES["disjoint"], 0, 500)
    dear = planted.minima[0].injections[0], planted.minima[1].injections[0]
    scores = Scores(arena, minimised)

    with pytest.raises(Enough):
        scores(planted.minima[0]), scores(planted.minima[0].with_injection(dear[1]))

    assert arena.milestones.minimum == 1


@pytest.mark.parametrize("family", ["pair", "text", "chance-pair"])
def test_points_of_the_cube_are_schedules_within_the_declared_space(family: str) -> None:
    arena, rng = Arena(FAMILIES[family], 0, 1), derive(0, "test")
    counts = sizes(arena)

    for draw in (lambda: 0.0, lambda: 1.0, *[rng.random] * 50):
        made = at(arena, [draw() for _ in counts])
        assert 1 <= len(made) <= injections_max(arena)
        for injection in made:
            assert injection.operator in arena.levels[injection.hook]


def test_numbers_and_points_mean_the_same_schedules() -> None:
    arena, rng = Arena(FAMILIES["pair"], 0, 1), derive(1, "test")
    counts = sizes(arena)

    for _ in range(20):
        numbers = [rng.randrange(count) for count in counts]
        middle = [(number + 0.5) / count for number, count in zip(numbers, counts, strict=True)]
        assert of(arena, numbers) == at(arena, middle)


def test_the_heaviest_value_of_each_coordinate_is_taken() -> None:
    assert heaviest([0.1, 0.7, -2.0, -3.0, -1.0, 5.0], [2, 3, 1]) == [1, 2, 0]
    assert heaviest([0.0] * 6, [2, 3, 1]) == [0, 0, 0]


def test_children_and_mutants_are_schedules_with_one_injection_or_more_within_the_budget() -> None:
    arena, rng = Arena(FAMILIES["retry"], 0, 1), derive(2, "test")
    breeding = Breeding(arena, rng)
    most = injections_max(arena)

    for _ in range(300):
        one, other = breeding.cross(*(Individual(breeding.draw(), None) for _ in range(2)))
        (mutant,) = breeding.mutate(other)
        for individual in (one, mutant):
            assert 0 <= len(breeding.born(individual)) <= most
        assert len(one) >= 1


def test_a_mutant_was_not_tried_before() -> None:
    arena = Arena(FAMILIES["chance-pair"], 0, 1)
    breeding = Breeding(arena, derive(3, "test"))
    tried = set()

    for _ in range(100):
        (mutant,) = breeding.mutate(Individual(breeding.draw(), None))
        made = breeding.born(mutant)
        assert made not in tried
        tried.add(made)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["deap-ga", "verifai-ce"])
def test_an_engine_leaves_the_streams_of_the_modules_as_they_were(name: str) -> None:
    _need(name)
    before = random.getstate()

    measure(Cell("pair", Subject(name), 0, 60))

    assert random.getstate() == before

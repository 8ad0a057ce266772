"""`chaosagent curve`: R(B) of stored studies."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from chaosagent.api.stored.categories import categories_of
from chaosagent.api.stored.curves import _breaks, _cell
from chaosagent.cli.main import main
from chaosagent.errors import UsageError
from chaosagent.metrics.comparison import SearchKey, SearchOutcome

STUDY = """
target: triage
tasks: [refund-damaged, missing-parcel]
contracts: [at-most-once{more}]
operators: [service.timeout, service.lost_response]
budget: 2.1
"""


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a study, the same cut short, and one without the objective."""
    base = tmp_path_factory.mktemp("curves")
    for name, more, *options in (
        ("whole", ", objective"),
        ("cut", ", objective", "--trials", "2"),
        ("without", ""),
    ):
        (base / f"{name}.yaml").write_text(STUDY.format(more=more), encoding="utf-8")
        code = main(["search", str(base / f"{name}.yaml"), "--out", str(base / name), "--config", "naive", *options])
        assert code in (0, 1, 3)
    return base


def test_the_curve_says_what_the_searches_found_and_proved(studies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = studies / "numbers.csv"
    assert main(["curve", str(studies / "whole"), "--out", str(table), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["studies"]

    levels, breaks = told["robustness"]["levels"], {task for step in told["breaks"] for task in step["tasks"]}
    assert levels[0] == {"budget": 0.0, "lower": 1.0, "upper": 1.0}
    assert all(level["lower"] == level["upper"] for level in levels), "all is proved or found"
    assert [level["upper"] for level in levels] == sorted((level["upper"] for level in levels), reverse=True)
    assert levels[-1]["upper"] == 1 - len(breaks) / 2
    assert set(told["contracts"]) == {"at-most-once"}
    rows = list(csv.DictReader(table.read_text("utf-8").splitlines()))
    assert [float(row["upper"]) for row in rows if row["curve"] == "R(B)"] == [level["upper"] for level in levels]


def test_what_a_search_left_open_is_not_taken_for_kept(studies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["curve", str(studies / "cut"), "--out", str(studies / "cut.csv")]) == 0

    told = capsys.readouterr().out
    assert "0.00 to 1.00" in told
    assert "R is at least the first, as proved" in told


def test_without_the_objective_nothing_is_written_and_the_remedy_is_named(
    studies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["curve", str(studies / "without")]) == 2

    assert "'objective' was not searched, so there is no R(B). Add `objective` to its" in capsys.readouterr().err
    assert not list((studies / "without").glob("curve.*"))


def test_no_cell_is_a_formula_and_seeds_are_told_apart() -> None:
    outcomes = {
        SearchKey("=cmd()", seed, "objective"): SearchOutcome(cost, cost)
        for seed, cost in ((0, 1.1), (1, 2.2), (2, 1.1))
    }
    breaks = _breaks(outcomes, 3.0)

    assert breaks == {1.1: ("=cmd(), seed 0", "=cmd(), seed 2"), 2.2: ("=cmd(), seed 1",)}
    assert _cell(breaks[2.2][0]) == "'=cmd(), seed 1"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["whole", "--out", "curve.doc"], "the name must end in .svg, .png, .pdf or .csv"),
        (["nowhere"], "nowhere does not exist"),
        (["whole"] * 7, "at most 6 can be told apart"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    studies: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    words = [str(studies / word) if word in ("whole", "nowhere") else word for word in arguments]

    assert main(["curve", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_curves_of_the_categories_average_to_the_whole(studies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = studies / "categories.csv"
    assert main(["curve", str(studies / "whole"), "--by", "category", "--out", str(table), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["studies"]

    parts, whole = told["categories"], told["robustness"]
    assert set(parts) == {"tool use", "planning"}
    assert sum(part["samples"] for part in parts.values()) == whole["samples"]
    for end in (0, 1):
        mean = sum(part["samples"] * part["area"][end] for part in parts.values()) / whole["samples"]
        assert mean == pytest.approx(whole["area"][end])
    assert "R(B), category planning" in table.read_text("utf-8")


def test_a_folder_does_not_get_code_outside_the_working_directory_imported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="outside the working directory"):
        categories_of("../elsewhere.py:agent", tmp_path, ["a"])


def test_a_task_that_the_target_has_lost_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no task 'gone' any more"):
        categories_of("triage", tmp_path, ["refund-damaged", "gone"])


@pytest.mark.slow
def test_equal_studies_give_equal_figures(studies: Path) -> None:
    pytest.importorskip("matplotlib")
    first, second, picture = (studies / name for name in ("first.svg", "second.svg", "third.png"))

    for path in (first, second, picture):
        assert main(["curve", str(studies / "whole"), str(studies / "cut"), "--out", str(path)]) == 0

    assert first.read_bytes() == second.read_bytes()
    assert "R(B): tasks that meet their objective" in first.read_text("utf-8")
    assert picture.stat().st_size > 10_000

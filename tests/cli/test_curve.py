"""`chaosagent curve`: R(B) of stored studies."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from chaosagent.api.session import INLINE
from chaosagent.api.stored import random_runs
from chaosagent.api.stored.categories import categories_of
from chaosagent.api.stored.curves import StudyCurves, _breaks
from chaosagent.api.stored.curves_page import cell
from chaosagent.api.stored.random_runs import RandomSchedules
from chaosagent.api.stored.trend import trend_of
from chaosagent.cli.main import main
from chaosagent.errors import UsageError
from chaosagent.metrics.comparison import SearchKey, SearchOutcome
from chaosagent.metrics.random_curve import RandomRuns, with_failures
from chaosagent.study.plan import OBJECTIVE
from chaosagent.study.store.reading import open_closed_store

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


def test_nothing_is_run_or_written_where_that_is_asked_for_and_there_is_no_curve(
    studies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["curve", str(studies / "without"), "--no-runs"]) == 2

    assert "did not search the contract 'objective', so there is no R(B). Leave --no-runs" in capsys.readouterr().err
    assert not list((studies / "without").glob("curve.*"))
    assert not (studies / "without" / "objective").exists()


@pytest.fixture
def copy(studies: Path, tmp_path: Path) -> Path:
    """Return a folder of one's own with the study that did not search the objective."""
    return Path(shutil.copytree(studies / "without", tmp_path / "night"))


def curve_of(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    """Return what the command prints as JSON, and on stderr."""
    code = main(["curve", str(folder), *options, "--json", "--out", str(folder / "numbers.csv")])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    (told,) = json.loads(printed.out)["studies"]
    return told, printed.err


def test_searches_against_the_objective_are_added_once_and_announced(
    studies: Path, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told, said = curve_of(copy, capsys)
    again, said_again = curve_of(copy, capsys)

    assert "did not search the contract 'objective'. It is searched now, with the settings of the study, in" in said
    assert "searched" not in said_again
    assert told == again
    whole, _ = curve_of(studies / "whole", capsys)
    assert (told["robustness"], told["breaks"]) == (whole["robustness"], whole["breaks"])


def test_what_was_added_for_other_settings_is_left_out_and_said_so(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    curve_of(copy, capsys, "--random", "2")
    settings = (copy / "study.yaml").read_text("utf-8")
    (copy / "study.yaml").write_text(settings.replace("budget: 2.1", "budget: 1.1"), encoding="utf-8")

    assert main(["curve", str(copy), "--no-runs"]) == 2
    assert main(["curve", str(copy), "--random", "2"]) == 0
    told = capsys.readouterr().out
    assert "random schedules" in told, "with the settings as they are now"


def test_random_schedules_are_kept_and_a_run_that_was_made_is_not_made_again(
    studies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(studies / "whole", tmp_path / "night"))
    told, _ = curve_of(folder, capsys, "--random", "4")
    stored, said = curve_of(folder, capsys, "--no-runs")

    assert told == stored
    assert "runs" not in said
    random = told["random"]
    assert random["levels"][0]["budget"] == 0
    worst = {level["budget"]: level["upper"] for level in told["robustness"]["levels"]}
    for level in random["levels"]:
        assert level["upper"] >= worst[max(budget for budget in worst if budget <= level["budget"])]
    rows = list(csv.DictReader((folder / "numbers.csv").read_text("utf-8").splitlines()))
    assert [float(row["upper"]) for row in rows if row["curve"] == "random"] == [
        level["upper"] for level in random["levels"]
    ]


def test_random_schedules_that_are_interrupted_go_on_where_they_were(
    studies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [Path(shutil.copytree(studies / "whole", tmp_path / name)) for name in ("one", "two")]
    expected, _ = curve_of(folders[0], capsys, "--random", "4")
    monkeypatch.setattr(random_runs, "TOLD_SECONDS", 0.0)
    lines: list[str] = []

    def interrupt(line: str) -> None:
        lines.append(line)
        if len(lines) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        RandomSchedules(folders[1], 4).run(INLINE, interrupt)
    with open_closed_store(folders[1] / "random" / "study.db") as store:
        kept = store.connection.execute("SELECT count(*) FROM execution").fetchone()[0]
    assert kept == 5
    told, _ = curve_of(folders[1], capsys, "--random", "4")
    assert told["random"] == expected["random"]


def levels_of(page: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the curve of a page as the command has it, which does not say what breaks at a level."""
    return [{name: value for name, value in level.items() if name != "breaks"} for level in page["curve"]]


def test_the_page_has_the_same_curves(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jinja2")
    told, _ = curve_of(copy, capsys, "--random", "4")
    assert main(["report", str(copy), "--json"]) == 0
    page = json.loads(capsys.readouterr().out)

    assert (page["verdict"] == "Not robust.") == bool(told["breaks"]), "what was searched afterwards counts, too"
    assert (page["searches"], len(page["counterexamples"])) == (4, len(list((copy / "objective").rglob("*.replay"))))
    assert levels_of(page) == told["robustness"]["levels"]
    assert page["random"] == told["random"]
    assert "Under random schedules" in (copy / "report.html").read_text("utf-8")


def test_a_random_failure_counts_as_found_and_one_that_was_proved_impossible_is_reported() -> None:
    open_search, proved = SearchOutcome(2.2, 1.0), SearchOutcome(None, 3.0, 3.0)
    against = {SearchKey(task, 0, OBJECTIVE): one for task, one in (("open", open_search), ("proved", proved))}
    runs = [RandomRuns(task, 0, 2.0, 1, 1, 0, "service:crm[1] service.timeout", 1.1) for task in ("open", "proved")]

    known, contradictions = with_failures(against, [*runs, RandomRuns("other", 0, 2.0, 1, 1, 0, "x", 1.0)])

    assert known[SearchKey("open", 0, OBJECTIVE)] == SearchOutcome(1.1, 1.0)
    assert known[SearchKey("proved", 0, OBJECTIVE)] == SearchOutcome(1.1), "nothing of it is proved any more"
    assert contradictions == ("task 'proved', seed 0: service:crm[1] service.timeout, cost 1.1",)


def test_a_trend_compares_only_what_all_studies_have_searched(
    studies: Path, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = copy / "trend.csv"
    assert main(["curve", "--over-time", str(copy), str(studies / "whole"), "--out", str(table), "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert (told["searches"], told["left_out"], told["budget"]) == (2, 2, 2.1)
    assert [one["robustness"] for one in told["studies"]] == [None, None], "only one of them searched the objective"
    assert told["studies"][0]["survival"] == told["studies"][1]["survival"]
    begun = [one["begun"] for one in told["studies"]]
    assert begun == sorted(begun)
    assert not (copy / "objective").exists(), "a trend runs nothing"
    assert len(list(csv.DictReader(table.read_text("utf-8").splitlines()))) == 2


def test_a_trend_ends_at_the_least_budget() -> None:
    def study(folder: str, budget: float, cost: float) -> StudyCurves:
        outcomes = {SearchKey("a", 0, OBJECTIVE): SearchOutcome(cost, cost)}
        return StudyCurves(folder, Path(folder), None, None, {}, {}, {}, None, {}, (), (), False, "", budget, outcomes)

    trend = trend_of([study("one", 3.0, 2.5), study("two", 2.0, 1.0)])

    assert trend.budget == 2.0
    assert [moment.broken for moment in trend.moments] == [0, 1]
    means = [moment.robustness.area.high for moment in trend.moments if moment.robustness is not None]
    assert means == [1.0, 0.5]


def test_no_cell_is_a_formula_and_seeds_are_told_apart() -> None:
    outcomes = {
        SearchKey("=cmd()", seed, "objective"): SearchOutcome(cost, cost)
        for seed, cost in ((0, 1.1), (1, 2.2), (2, 1.1))
    }
    breaks = _breaks(outcomes, 3.0)

    assert breaks == {1.1: ("=cmd(), seed 0", "=cmd(), seed 2"), 2.2: ("=cmd(), seed 1",)}
    assert cell(breaks[2.2][0]) == "'=cmd(), seed 1"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["whole", "--out", "curve.doc"], "the name must end in .svg, .png, .pdf or .csv"),
        (["nowhere"], "nowhere does not exist"),
        (["whole"] * 7, "at most 6 can be told apart"),
        (["whole", "--over-time"], "a trend needs two studies or more"),
        (["whole", "whole", "--over-time", "--random", "3"], "the one runs nothing, the other does"),
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


BY_CHANCE = '''
import random

from chaosagent import Outcome, Task, target


@target(tasks=[Task("a"), Task("b")])
async def shop(task, run):
    """Asks its model, which answers by chance, what to do after a failure."""
    bank = run.service("bank", {"pay": lambda: 1})
    model = run.model("assistant", {"chat": lambda prompt: {"content": str(random.random()), "tool_calls": []}})
    await model("chat", prompt="plan")
    try:
        await bank("pay")
    except ConnectionError:
        answer = await model("chat", prompt="again?")
        return Outcome("perhaps", success=float(answer["content"]) < 0.5)
    return Outcome("paid", success=True)
'''


@pytest.mark.slow
def test_random_runs_of_a_target_that_answers_by_chance_are_taken_from_the_store(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jinja2")
    (folder / "agent.py").write_text(BY_CHANCE, encoding="utf-8")
    (folder / "study.yaml").write_text(
        "target: agent.py:shop\ncontracts: [objective]\nbudget: 1.2\noperators: [service.lost_response]\n"
        "stochastic: true\nsearch: {confirmations: 4}\n",
        encoding="utf-8",
    )
    assert main(["search", "study.yaml", "--out", "night"]) in (1, 3)
    capsys.readouterr()
    night = folder / "night"

    lines: list[str] = []

    def interrupt(line: str) -> None:
        lines.append(line)
        if len(lines) == 4:
            raise KeyboardInterrupt

    def rows_of(night: Path) -> list[tuple[int, str]]:
        with open_closed_store(night / "random" / "study.db") as store:
            return store.connection.execute("SELECT id, digest FROM execution ORDER BY id").fetchall()

    monkeypatch.setattr(random_runs, "TOLD_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt):
        RandomSchedules(night, 2).run(INLINE, interrupt)
    begun = rows_of(night)
    told, _ = curve_of(night, capsys, "--random", "2")
    whole = rows_of(night)
    again, _ = curve_of(night, capsys, "--random", "2")
    drawn, _ = curve_of(night, capsys, "--no-runs")

    assert told["stochastic"]
    assert 0 < len(begun) < len(whole)
    assert whole[: len(begun)] == begun, "what an earlier session drew is kept, though it would come out otherwise now"
    assert rows_of(night) == whole
    assert told["random"] == again["random"] == drawn["random"]
    assert told["random"]["levels"][0]["interval"] == [0.0, 1.0], "of two tasks nothing is said of others"
    assert {level["lower"] for level in told["robustness"]["levels"]} == {0.0}, "nothing is proved of chance"
    assert main(["report", str(night), "--json"]) == 0
    assert levels_of(json.loads(capsys.readouterr().out)) == told["robustness"]["levels"], "the page says the same"

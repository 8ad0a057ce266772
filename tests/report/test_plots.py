"""R(B) as a picture."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from chaosagent.errors import MissingExtraError
from chaosagent.metrics.robustness import ChanceEvidence, Curve, Level
from chaosagent.report.plots import COLOURS, LINE_WIDTH, LINE_WIDTH_STEP, Robustness, chance_notes, plot_robustness
from chaosagent.statistics.intervals import Interval

OPEN = Curve(
    "adversarial",
    (Level(0.0, 1.0, 1.0, Interval(0.7, 1.0)), Level(1.0, 0.75, 0.5, Interval(0.2, 0.9))),
    3.0,
    4,
)
DRAWN = Curve("random", (Level(0.0, 1.0, 1.0, Interval(0.9, 1.0)), Level(3.0, 0.8, 0.8, Interval(0.7, 0.9))), 3.0, 40)


@pytest.mark.slow
def test_png_and_svg_are_drawn_and_the_svg_is_the_same_everywhere(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    code = (
        "import sys; from pathlib import Path; from test_plots import OPEN, DRAWN, Robustness, plot_robustness;"
        "plot_robustness([Robustness('naive', OPEN, DRAWN), Robustness('hardened', OPEN)], 'shop', Path(sys.argv[1]))"
    )
    pictures = []
    for seed in ("1", "2"):
        stem = tmp_path / seed
        command = [sys.executable, "-c", code, str(stem)]
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parent), "MPLCONFIGDIR": str(tmp_path)}
        subprocess.run(command, check=True, timeout=600, env=environment)
        pictures.append([stem.with_suffix(ending).read_bytes() for ending in (".png", ".svg")])

    assert pictures[0][1] == pictures[1][1]
    assert pictures[0][0].startswith(b"\x89PNG")
    assert len(pictures[0][0]) > 10_000


@pytest.mark.slow
def test_where_answers_come_by_chance_the_picture_says_what_stands_behind_it(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    shown = replace(OPEN, shown=ChanceEvidence(2, 17, 0.2, 0.025))
    naive, fixed = Robustness("naive", shown, DRAWN), Robustness("fixed", replace(OPEN, shown=ChanceEvidence()))

    chance, proved = (
        plot_robustness(both, "desk", tmp_path / name)[1].read_text("utf-8")
        for name, both in (("chance", [naive, fixed]), ("proved", [Robustness("naive", OPEN, DRAWN)]))
    )

    assert chance_notes([naive]) == [str(shown.shown)]
    assert chance_notes([naive, fixed]) == [f"naive: {shown.shown}", f"fixed: {ChanceEvidence()}"]
    assert chance_notes([Robustness("naive", OPEN, DRAWN)]) == []
    drawn = "R(B): share of tasks not confirmed broken", "the worst confirmed within B", "live runs done"
    assert all(text in chance and text not in proved for text in (*drawn, "so nothing here is proved"))
    assert "R(B): share of tasks still done" in proved


@pytest.mark.slow
def test_curves_that_are_equal_are_both_seen(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    both = [Robustness("naive", OPEN, DRAWN), Robustness("hardened", OPEN, DRAWN)]

    _, picture = plot_robustness(both, "shop", tmp_path / "picture")

    text = picture.read_text("utf-8")
    first, second = (
        [found.start() for found in re.finditer(f'stroke: {colour.lower()}; stroke-width: {width}"', text)]
        for colour, width in ((COLOURS[0], LINE_WIDTH + LINE_WIDTH_STEP), (COLOURS[1], LINE_WIDTH))
    )
    assert len(first) == len(second) == 2
    assert max(first) < min(second), "the narrow one lies on the wide one"


@pytest.mark.slow
def test_every_kind_of_line_is_in_the_legend(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")

    _, picture = plot_robustness([Robustness("naive", OPEN)], "shop", tmp_path / "open")
    _, decided = plot_robustness([Robustness("naive", DRAWN, DRAWN)], "shop", tmp_path / "decided")

    assert "<!-- at best (not decided) -->" in picture.read_text("utf-8")
    assert "<!-- random ones within B, 95 % interval -->" in decided.read_text("utf-8")
    assert "not decided" not in decided.read_text("utf-8")


def test_without_matplotlib_one_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(MissingExtraError, match=r"run `pip install 'chaosagent\[report\]'`"):
        plot_robustness([Robustness("naive", OPEN)], "shop", tmp_path / "picture")


def test_curves_are_shown_as_a_table_in_words() -> None:
    curves = Robustness("naive", OPEN, DRAWN)

    table, short = str(curves), repr(curves)

    assert table.startswith("R(B) of configuration naive, up to cost ")
    assert "under cheapest faults" in table
    assert short.startswith("<Robustness naive: mean ")
    assert len(short) < 80
    assert "Curve(" not in table + short

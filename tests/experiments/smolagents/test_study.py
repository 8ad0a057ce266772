"""The support desk of smolagents: what its study finds, and that the careful version holds."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path

import pytest

import chaosagent.experiments.smolagents
from chaosagent.cli.main import main
from tests.experiments.conftest import (
    ADDED_LINES_MAX,
    added_line_count,
    names_of,
    records_of,
    replayed,
    rule_line_count,
    without_added,
)

pytestmark = [
    pytest.mark.smolagents,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("smolagents") is None, reason="needs the extra smolagents (smolagents)"),
]
FOLDER = Path(chaosagent.experiments.smolagents.__file__).parent
STUDY = FOLDER / "study.yaml"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return records_of(STUDY, tmp_path_factory.mktemp("study") / "out")


def test_the_weaknesses_follow_from_the_defaults_of_the_framework(found: Path) -> None:
    assert names_of(found) == {
        "lost-parcel-at-most-once": 5,
        "lost-parcel-no-crash": 5,
    }


def test_every_record_is_reproduced_exactly(found: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replayed(found, ["--mode", "exact"], capsys) == {"REPRODUCED"}


def test_every_record_is_held_by_the_careful_version(found: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replayed(found, ["--config", "fixed"], capsys) == {"HELD"}


def test_nothing_in_the_space_breaks_the_careful_version(tmp_path: Path) -> None:
    assert main(["search", str(STUDY), "--config", "fixed", "--out", str(tmp_path / "out")]) == 0


def test_an_agent_needs_few_lines_more() -> None:
    """In the desk, and in the target, with what a call commits."""
    added = added_line_count(FOLDER, ["desk.py", "target.py"])

    assert added == 4
    assert added + rule_line_count(FOLDER) <= ADDED_LINES_MAX


def test_the_desk_works_without_what_was_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = without_added((FOLDER / "target.py").read_text("utf-8"))
    (tmp_path / "smolagents_alone.py").write_text(text, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    alone = importlib.import_module("smolagents_alone")

    said = alone.converse(careful=False)

    assert "chaosagent.adapters" not in text
    assert said == [alone.ON_ITS_WAY] * 2

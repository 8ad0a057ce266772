"""The support crew of CrewAI: what its study finds, and that the careful version holds."""

from __future__ import annotations

import asyncio
import importlib
from importlib.util import find_spec
from pathlib import Path

import pytest

import chaosagent.experiments.crewai
from chaosagent.cli.main import main
from tests.experiments.conftest import (
    ADDED_LINES_MAX,
    added_line_count,
    names_of,
    records_of,
    replayed,
    rule_line_count,
)

pytestmark = [
    pytest.mark.crewai,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("crewai") is None, reason="needs the extra crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ImportWarning"),
]
FOLDER = Path(chaosagent.experiments.crewai.__file__).parent
STUDY = FOLDER / "study.yaml"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return records_of(STUDY, tmp_path_factory.mktemp("study") / "out")


def test_the_weaknesses_follow_from_the_defaults_of_the_framework(found: Path) -> None:
    names = names_of(found)

    assert sorted(names) == ["lost-parcel-at-most-once"]
    assert sum(names.values()) == 10


def test_every_record_is_reproduced_exactly(found: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replayed(found, ["--mode", "exact"], capsys) == {"REPRODUCED"}


def test_every_record_is_held_by_the_careful_version(found: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replayed(found, ["--config", "fixed"], capsys) == {"HELD"}


def test_nothing_in_the_space_breaks_the_careful_version(tmp_path: Path) -> None:
    assert main(["search", str(STUDY), "--config", "fixed", "--out", str(tmp_path / "out")]) == 0


def test_a_crew_needs_few_lines_more() -> None:
    """In the target, with what a call commits; none in the crew."""
    added = added_line_count(FOLDER, ["target.py"])

    assert added == 4
    assert added + rule_line_count(FOLDER) <= ADDED_LINES_MAX
    assert "chaosagent.adapters" not in (FOLDER / "desk.py").read_text("utf-8")


def test_the_crew_works_without_doors() -> None:
    desk = importlib.import_module("chaosagent.experiments.crewai.desk")
    models = importlib.import_module("chaosagent.experiments.crewai.models")
    shop = importlib.import_module("chaosagent.experiments.crewai.shop").Shop()
    crew = desk.open_desk(shop, careful=False)

    said = [asyncio.run(desk.answered(crew, wish)) for wish in ("My parcel A-17 never came.", "And? A-17!")]

    assert said == [models.ON_ITS_WAY] * 2
    assert (shop.refunds, shop.entries, len(shop.mails)) == (["A-17"], ["A-17"], 1)

"""The support crew of CrewAI: what its study finds, and that the careful version holds."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import chaosagent.experiments.crewai
from chaosagent.cli.main import main

pytestmark = [
    pytest.mark.crewai,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("crewai") is None, reason="needs the extra crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
FOLDER = Path(chaosagent.experiments.crewai.__file__).parent
STUDY = str(FOLDER / "study.yaml")
ADDED_LINES_MAX = 10


def _answer(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> Any:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == code
    printed = capsys.readouterr().out
    return json.loads(printed[printed.index("{") :])


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("study") / "out"
    assert main(["search", STUDY, "--out", str(out)]) == 1
    return out / "replays"


def test_the_weaknesses_follow_from_the_defaults_of_the_framework(found: Path) -> None:
    names = sorted({re.sub(r"-[0-9a-f]{12}$", "", record.stem) for record in found.iterdir()})

    assert names == ["lost-parcel-at-most-once"]
    assert len(list(found.iterdir())) == 10


def test_every_record_is_reproduced_exactly(found: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replays = _answer(["replay", "--mode", "exact", str(found)], 0, capsys)

    assert {replay["outcome"] for replay in replays["records"]} == {"REPRODUCED"}


def test_every_record_is_held_by_the_careful_version(found: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replays = _answer(["replay", "--config", "fixed", str(found)], 0, capsys)

    assert {replay["outcome"] for replay in replays["records"]} == {"HELD"}


def test_nothing_in_the_space_breaks_the_careful_version(tmp_path: Path) -> None:
    assert main(["search", STUDY, "--config", "fixed", "--out", str(tmp_path / "out")]) == 0


def _without_added(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.rstrip().endswith("# added"))


def test_a_crew_needs_few_lines_more() -> None:
    """In the target, with what a call commits; none in the crew."""
    text = (FOLDER / "target.py").read_text("utf-8")
    rule = (FOLDER / "shop.py").read_text("utf-8").partition("def committed(")[2]
    added = text.count("\n") - _without_added(text).count("\n")

    assert added == 4
    assert added + len([line for line in rule.splitlines() if not line.strip().startswith('"""')]) <= ADDED_LINES_MAX
    assert "chaosagent.adapters" not in (FOLDER / "desk.py").read_text("utf-8")


def test_the_crew_works_without_doors() -> None:
    desk = importlib.import_module("chaosagent.experiments.crewai.desk")
    models = importlib.import_module("chaosagent.experiments.crewai.models")
    shop = importlib.import_module("chaosagent.experiments.crewai.shop").Shop()
    crew = desk.open_desk(shop, careful=False)

    said = [asyncio.run(desk.answered(crew, wish)) for wish in ("My parcel A-17 never came.", "And? A-17!")]

    assert said == [models.ON_ITS_WAY] * 2
    assert (shop.refunds, shop.entries, len(shop.mails)) == (["A-17"], ["A-17"], 1)

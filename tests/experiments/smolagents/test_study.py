"""The support desk of smolagents: what its study finds, and that the careful version holds."""

from __future__ import annotations

import importlib
import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import chaosagent.experiments.smolagents
from chaosagent.cli.main import main

pytestmark = [
    pytest.mark.smolagents,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("smolagents") is None, reason="needs the extra smolagents (smolagents)"),
]
FOLDER = Path(chaosagent.experiments.smolagents.__file__).parent
STUDY = str(FOLDER / "study.yaml")
ADDED_LINES_MAX = 10


def _answer(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> Any:
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("study") / "out"
    assert main(["search", STUDY, "--out", str(out)]) == 1
    return out / "replays"


def test_the_weaknesses_follow_from_the_defaults_of_the_framework(found: Path) -> None:
    names = [re.sub(r"-[0-9a-f]{12}$", "", record.stem) for record in sorted(found.iterdir())]

    assert {name: names.count(name) for name in names} == {
        "lost-parcel-at-most-once": 5,
        "lost-parcel-no-crash": 5,
    }


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


def test_an_agent_needs_few_lines_more() -> None:
    """In the desk, and in the target, with what a call commits."""
    texts = [(FOLDER / name).read_text("utf-8") for name in ("desk.py", "target.py")]
    rule = (FOLDER / "shop.py").read_text("utf-8").partition("def committed(")[2]
    added = sum(text.count("\n") - _without_added(text).count("\n") for text in texts)

    assert added == 4
    assert added + len([line for line in rule.splitlines() if not line.strip().startswith('"""')]) <= ADDED_LINES_MAX


def test_the_desk_works_without_what_was_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = _without_added((FOLDER / "target.py").read_text("utf-8"))
    (tmp_path / "smolagents_alone.py").write_text(text, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    alone = importlib.import_module("smolagents_alone")

    said = alone.converse(careful=False)

    assert "chaosagent.adapters" not in text
    assert said == [alone.ON_ITS_WAY] * 2

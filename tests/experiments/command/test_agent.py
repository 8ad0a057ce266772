"""The agent for Node.js: found, certified, replayed, and held after the fix."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from chaosagent.cli.main import main
from chaosagent.experiments import command
from chaosagent.replays.store import find_records, read_record

pytestmark = [
    pytest.mark.proxy,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js 20"),
]
pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

FOLDER = Path(str(command.__file__)).parent
LINES_MAX = 10


def test_ten_lines_or_fewer_are_there_for_the_test() -> None:
    lines = (FOLDER / "agent.mjs").read_text().splitlines()

    assert sum(line.endswith("// address") for line in lines) == 5 <= LINES_MAX
    assert all(line.endswith("// address") for line in lines if "CHAOSAGENT" in line or "_URL" in line)
    described = [line for line in (FOLDER / "agent.yaml").read_text().splitlines() if not line.startswith("#")]
    assert len(described) <= LINES_MAX


def test_what_breaks_it_is_certified_reproduced_and_held_after_the_fix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"

    found = main(["search", str(FOLDER / "study.yaml"), "--out", str(out)])
    records = [read_record(path) for path in find_records([out / "replays"])]
    exact = main(["replay", "--mode", "exact", str(out / "replays"), "--target", str(FOLDER / "agent.yaml")])
    fixed = main(["replay", "--config", "fixed", str(out / "replays"), "--target", str(FOLDER / "agent.yaml")])

    said = capsys.readouterr().out
    assert (found, exact, fixed) == (1, 0, 0)
    assert sorted(record.contract for record in records) == ["at-most-once", "at-most-once", "no-ghosts"]
    assert all(record.proof.certified for record in records)
    assert said.count("REPRODUCED") >= len(records)
    assert said.count("HELD") >= len(records)

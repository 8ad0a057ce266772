"""`chaosagent replay` of a stranger's record, where symbolic links in the working directory lead out of it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chaosagent.replays.store import read_record, write_record

Command = Callable[..., Any]


def rewritten(records: Path, **terms: object) -> Path:
    """Return one of the records with other terms, in a folder of its own."""
    record = replace(read_record(sorted(records.iterdir())[0]), **terms)  # type: ignore[arg-type]  # named by the test
    return write_record(Path("from-a-stranger"), record)


@pytest.mark.parametrize(
    ("link", "to", "terms"),
    [
        ("link", "outside", {"target_reference": "link/trap.py:shop"}),
        ("link.py", "outside/trap.py", {"target_reference": "link.py:shop"}),
        ("link", "outside", {"target_reference": "link.trap:shop"}),
        ("link.py", "outside/trap.py", {"target_reference": "link:shop"}),
        ("own/__init__.py", "outside/trap.py", {"target_reference": "own.agent:shop"}),
        ("own/trap.py", "outside/trap.py", {"target_reference": "own.trap:shop"}),
        ("agent.yaml", "outside/agent.yaml", {"target_reference": "agent.yaml"}),
        ("link", "outside", {"contract_specs": ("link.trap:check",)}),
        ("link", "link", {"target_reference": "link/trap.py:shop"}),
    ],
)
def test_a_link_inside_the_working_directory_gets_nothing_imported_from_outside(
    chaosagent: Command,
    records: Path,
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
    link: str,
    to: str,
    terms: Mapping[str, object],
) -> None:
    outside = tmp_path_factory.mktemp("elsewhere") / "outside"
    outside.mkdir()
    (outside / "trap.py").write_text("import pathlib\npathlib.Path('sprung').touch()\n", encoding="utf-8")
    (outside / "agent.yaml").write_text("command: touch sprung\ntasks: [{id: a}]\n", encoding="utf-8")
    (folder / link).parent.mkdir(exist_ok=True)
    (folder / link).symlink_to(folder / to if to == link else outside.parent / to)
    stranger = rewritten(records, **terms)

    answer = chaosagent("replay", stranger, "--mode", "both", "--json")

    assert answer.code == 2
    assert not (folder / "sprung").exists()
    assert not (outside / "sprung").exists()
    (told,) = answer.json["records"]
    assert told["outcome"] == "REFUSED"
    assert re.search("a symbolic link leads outside the working directory, to|which cannot be followed", told["detail"])


def test_a_link_that_stays_inside_and_a_working_directory_behind_a_link_are_fine(
    chaosagent: Command,
    records: Path,
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (folder / "link.py").symlink_to("agent.py")
    stranger = folder / rewritten(records, target_reference="link.py:shop")
    door = tmp_path_factory.mktemp("elsewhere") / "door"
    door.symlink_to(folder)
    monkeypatch.chdir(door)

    assert chaosagent("replay", stranger).code == 1

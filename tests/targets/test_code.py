"""Which files a target is made of, and whether they are what they were."""

import sys
from pathlib import Path

import pytest

from chaosagent.targets.code import changed_code, code_of
from chaosagent.targets.loading import load_target

AGENT = "from chaosagent import target\nimport codeparts_rules\n\n\n@target\ndef agent(task, run):\n    return None\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "codeparts_rules.py").write_text("LIMIT = 3\n")
    (tmp_path / "agent.py").write_text(AGENT)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def test_the_file_of_a_target_and_what_it_imports_from_beside_it_are_its_code(folder: Path) -> None:
    code = code_of(load_target("agent.py:agent", folder=folder), ())

    assert {Path(file).name for file in code} == {"agent.py", "codeparts_rules.py"}
    assert changed_code(code) == []


def test_a_file_that_was_changed_or_removed_is_named(folder: Path) -> None:
    code = code_of(load_target("agent.py:agent", folder=folder), ())

    (folder / "codeparts_rules.py").write_text("LIMIT = 4\n")
    (folder / "agent.py").unlink()

    assert {Path(file).name for file in changed_code(code)} == {"agent.py", "codeparts_rules.py"}


def test_installed_packages_are_no_part_of_a_target(folder: Path) -> None:
    code = code_of(load_target("agent.py:agent", folder=folder), [Path(sys.prefix)])

    assert not [file for file in code if "site-packages" in Path(file).parts]


def test_a_builtin_target_is_made_of_its_own_folder() -> None:
    code = code_of(load_target("refund"), ())

    assert {Path(file).parent.name for file in code} == {"refund"}

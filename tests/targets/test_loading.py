"""Finding a target by the name that a study file or a record gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from chaosagent.errors import MissingExtraError, SecretsError, TargetError, UnknownNameError, UsageError
from chaosagent.targets.loading import TARGETS, DeferredTarget, known_targets, load_target

AGENT = """
import chaosagent

@chaosagent.target
async def agent(task, run):
    "Says hello."
    return "hello"

number = 7
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


def test_a_target_is_found_in_a_file_relative_to_a_folder(folder: Path) -> None:
    found = load_target("agent.py:agent", folder=folder)

    assert found.name == "agent"
    assert found.description == "Says hello."


def test_a_file_is_loaded_once(folder: Path) -> None:
    assert load_target("agent.py:agent", folder=folder) is load_target("agent.py:agent", folder=folder)


def test_built_in_targets_are_listed_without_loading_them() -> None:
    script = (
        "import sys\n"
        "from chaosagent.targets.loading import known_targets\n"
        "print(*known_targets())\n"
        "print(*(name for name in sys.modules if name.startswith('chaosagent.experiments.')))\n"
    )

    listed, imported = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.splitlines()

    assert listed.split() == sorted(known_targets())
    assert {"triage", "refund", "dojo-banking", "dojo-slack"} <= set(listed.split())
    assert imported == ""


@pytest.mark.parametrize("name", ["refund", "triage"])
def test_a_built_in_target_is_loaded_by_its_name(name: str) -> None:
    assert load_target(name).name == name


def test_a_deferred_target_that_makes_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TARGETS, "_entries", {"odd": DeferredTarget("builtins:dict", "No target")})

    with pytest.raises(TargetError, match="target 'odd' is dict, not a target"):
        load_target("odd")


@pytest.mark.parametrize(
    ("reference", "kind", "message"),
    [
        ("agent.py", UsageError, r"'agent\.py' names a file; say which target in it, as in agent\.py:agent"),
        ("agent.py:agnet", UsageError, r"agent\.py has no 'agnet'\. It has: agent\."),
        ("agent.py:number", UsageError, r"agent\.py:number is int, not a target\. Decorate"),
        ("nobody.py:agent", UsageError, r"there is no file .*nobody\.py"),
        ("../../../etc/passwd:agent", UsageError, r"'\.\./\.\./\.\./etc/passwd' is no name of a module\. Write"),
        (".relative:agent", UsageError, r"'\.relative' is no name of a module"),
        (":agent", UsageError, r"'' is no name of a module"),
        ("no_such_module:agent", UsageError, r"module 'no_such_module' cannot be imported"),
        ("triaje", UnknownNameError, r"unknown target 'triaje'\. Did you mean 'triage'\?"),
    ],
)
def test_what_cannot_be_found_is_refused_with_the_remedy(
    folder: Path, reference: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        load_target(reference, folder=folder)


def test_a_file_that_fails_on_import_is_told_with_its_error(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("1 / 0\n")

    with pytest.raises(TargetError, match=r"broken\.py fails on import: ZeroDivisionError: division by zero"):
        load_target("broken.py:agent", folder=tmp_path)


@pytest.mark.parametrize("ends", ["import sys; sys.exit(3)", "raise SystemExit"])
def test_a_file_that_ends_the_process_on_import_is_told(tmp_path: Path, ends: str) -> None:
    (tmp_path / "ending.py").write_text(f"{ends}\n")

    with pytest.raises(TargetError, match=r"ending\.py fails on import: SystemExit"):
        load_target("ending.py:agent", folder=tmp_path)


def test_a_module_that_lacks_another_one_is_told_from_one_that_does_not_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lacking_module.py").write_text("import no_such_module_either\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(TargetError, match=r"'lacking_module' fails on import: .*no_such_module_either"):
        load_target("lacking_module:agent")
    with pytest.raises(UsageError, match=r"module 'json\.no_such_part' cannot be imported"):
        load_target("json.no_such_part:agent")


@pytest.mark.parametrize("reference", ["desk.py:desk", "desk_module:desk"])
def test_a_framework_that_the_file_itself_imports_and_is_missing_is_told_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str
) -> None:
    for name in ("desk.py", "desk_module.py"):
        (tmp_path / name).write_text("import langgraph\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "langgraph", None)

    with pytest.raises(MissingExtraError, match=r"desk.* needs langgraph.*pip install 'chaosagent\[langgraph\]'"):
        load_target(reference, where="study.yaml:1", folder=tmp_path)


@pytest.mark.parametrize("module", ["nowhere_at_all", "langgraph.no_such_part"])
def test_a_package_that_no_extra_brings_is_told_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setitem(sys.modules, "langgraph", ModuleType("langgraph"))
    (tmp_path / "desk.py").write_text(f"import {module}\n")

    with pytest.raises(
        TargetError, match=rf"desk\.py fails on import: ModuleNotFoundError: No module named '{module}'"
    ):
        load_target("desk.py:desk", folder=tmp_path)


def test_a_secret_that_is_no_regular_expression_is_refused_where_the_target_is_named(tmp_path: Path) -> None:
    (tmp_path / "desk.py").write_text(AGENT.replace("@chaosagent.target", '@chaosagent.target(secrets=["hunter2("])'))

    with pytest.raises(SecretsError, match=r"^study\.yaml:1: target 'desk\.py:agent': secrets: pattern 1 is no reg"):
        load_target("desk.py:agent", where="study.yaml:1", folder=tmp_path)

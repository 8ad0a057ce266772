"""The target's file is looked for beside the study, and then in the working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaosagent.errors import UsageError
from chaosagent.studyfile import load_study, plan_of, worker_setup

AGENT = """
from chaosagent import Outcome, target

@target(name={name!r})
def agent(task, run):
    import beside_{name}
    return Outcome("done", success=True)
"""


def _study(folder: Path) -> Path:
    (folder / "studies").mkdir()
    path = folder / "studies" / "study.yaml"
    path.write_text("target: agent.py:agent\n", "utf-8")
    return path


def test_a_target_in_the_working_directory_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT.format(name="here"), "utf-8")
    (tmp_path / "beside_here.py").write_text("", "utf-8")
    study = load_study(_study(tmp_path))

    plan = plan_of(study)

    assert (plan.target.name, plan.target_reference) == ("here", "agent.py:agent")
    setup = worker_setup(study, plan)
    monkeypatch.chdir("/")  # a worker may be anywhere
    bench = setup()
    assert bench.target.name == "here"
    assert bench.experiment("default", 0).nominal is not None  # it imports what lies beside it while it runs


def test_one_beside_the_study_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT.format(name="here"), "utf-8")
    study = _study(tmp_path)
    (study.parent / "agent.py").write_text(AGENT.format(name="beside"), "utf-8")

    plan = plan_of(load_study(study))

    assert (plan.target.name, plan.target_reference) == ("beside", "studies/agent.py:agent")


def test_both_places_are_named_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match=r"there is no file .*studies/agent\.py, and none of that name in the working"):
        plan_of(load_study(_study(tmp_path)))

"""`chaosagent init` writes what runs as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaosagent.cli.main import main
from chaosagent.cli.starter.init import FILES, write_starter
from chaosagent.errors import UsageError
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.study.loop.study import Study
from chaosagent.studyfile import load_study, plan_of


@pytest.mark.slow
def test_the_default_contracts_find_something_in_the_starter_as_it_is(tmp_path: Path) -> None:
    write_starter(tmp_path)
    plan = plan_of(load_study(tmp_path / "study.yaml"))

    result = Study(plan, InlineExecutor(Workbench(plan.target, plan.config, plan.contracts))).run()

    assert not any(search.violated_nominally for search in result.searches)
    assert "at-most-once" in {found.contract for found in result.counterexamples}
    assert all(found.certificate.certified for found in result.counterexamples)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text("mine")

    with pytest.raises(UsageError, match=r"study\.yaml exists already, and nothing is overwritten"):
        write_starter(tmp_path)

    assert (tmp_path / "study.yaml").read_text() == "mine"
    assert not (tmp_path / "agent.py").exists()


def test_it_says_what_to_type_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["init", str(tmp_path / "new")])

    assert code == 0
    assert {path.name for path in (tmp_path / "new").iterdir()} == set(FILES)
    assert f"cd {tmp_path / 'new'} && chaosagent search study.yaml" in capsys.readouterr().out

"""A study that is killed and resumed ends with the same result, and its status is right throughout."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.kills.attack import STUDY, killed_study, result_in, started


@pytest.mark.slow
def test_a_killed_study_ends_with_the_same_result_and_status_is_never_wrong(tmp_path: Path) -> None:
    """The attack in full: `python -m tests.lab.kills --kills 30`."""
    study, whole, killed = tmp_path / "study.yaml", tmp_path / "whole", tmp_path / "killed"
    study.write_text(STUDY, encoding="utf-8")
    started(study, whole).wait()

    watch = killed_study(study, killed, kills=6, seed=1, longest=5.0)

    assert watch.wrong == []
    assert watch.asked > 20
    assert result_in(killed) == result_in(whole)

"""Presets of operators: what they stand for, and that study files take them."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaosagent.errors import UsageError
from chaosagent.faults.operator import OPERATORS, searched_by_default
from chaosagent.faults.presets import PRESETS, operators_of, presets_that_try, presets_with
from chaosagent.studyfile.file import load_study
from chaosagent.studyfile.plan import space_of


def space(folder: Path, operators: str) -> set[str]:
    (folder / "study.yaml").write_text(f"target: refund\noperators: {operators}\n", "utf-8")
    return {choice.operator for choice in space_of(load_study(folder / "study.yaml")).choices}


def test_presets_stand_for_operators_that_exist() -> None:
    assert set(operators_of("default")) == set(searched_by_default())
    assert all(set(operators_of(preset)) <= set(OPERATORS) and operators_of(preset) for preset in PRESETS)
    assert presets_with("network.down") == ["default", "network"]
    assert presets_that_try(["prompt.payload"]) == ["injection"]
    assert presets_that_try(["model.slow"]) == []


def test_a_study_takes_presets_beside_names(tmp_path: Path) -> None:
    assert space(tmp_path, "[default]") == set(searched_by_default())
    assert space(tmp_path, "[default, injection, network]") == {
        *searched_by_default(),
        *operators_of("injection"),
        *operators_of("network"),
    }
    assert space(tmp_path, "[network, model.slow]") == {*operators_of("network"), "model.slow"}


def test_a_preset_can_be_limited_to_interfaces(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(
        "target: refund\noperators: [{operator: injection, interfaces: ['service:*']}]\n", "utf-8"
    )

    found = space_of(load_study(tmp_path / "study.yaml")).choices

    assert {choice.interfaces for choice in found} == {("service:*",)}


@pytest.mark.parametrize(
    ("operators", "message"),
    [
        ("[defualt]", "Did you mean 'default'"),
        ("[{operator: injection, goal: x}]", "stands for 4 operators; parameters go to one"),
    ],
)
def test_what_is_no_preset_is_refused(tmp_path: Path, operators: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        space(tmp_path, operators)

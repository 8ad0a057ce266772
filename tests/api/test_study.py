"""A study in Python goes through the checks of study files, and names the line that made it."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import chaosagent
from chaosagent.api.study import CostKeys, RunKeys, SearchKeys, study_file
from chaosagent.contracts.templates.at_most_once import AtMostOnce
from chaosagent.operators.service.delay import Delay
from chaosagent.operators.service.timeout import Timeout
from chaosagent.studyfile.settings import CostSettings, RunSettings, SearchSettings, StudySettings


@chaosagent.target
async def agent(task: chaosagent.Task, run: chaosagent.Run) -> str:  # noqa: ARG001
    return "done"


@chaosagent.contract("polite")
def polite(step: object) -> bool:  # noqa: ARG001
    return True


def test_objects_become_what_a_study_file_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    file = study_file(
        chaosagent.Study(
            agent,
            contracts=["default", AtMostOnce(id="once"), polite, {"contract": "no-leak"}],
            operators=["memory.*", Delay(seconds=60.0), Timeout],
            seeds=(0, 1),
        )
    )

    assert file.settings.contracts[1] == {"contract": "at-most-once", "id": "once"}
    assert file.settings.operators == ["memory.*", {"operator": "service.delay", "seconds": [60.0]}, "service.timeout"]
    assert file.settings.seeds == [0, 1]
    assert list(file.objects.values()) == [agent, polite]
    assert file.only_here == ()
    assert "tests" in file.settings.target


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"budget": -1}, "budget is -1; it must be at least 0"),
        ({"budget": "2"}, "budget is '2'; it must be a number"),
        ({"seeds": [0, -1]}, "entry 2 of seeds is -1"),
        ({"search": {"trails": 3}}, "unknown key 'search.trails'. Did you mean 'trials'"),
        ({"run": {"steps": 0}}, "run.steps is 0; it must be at least 1"),
        ({"contracts": "default"}, "contracts is 'default'; it must be a list"),
        ({"contracts": [max]}, "contracts[0] is <built-in function max>, not a contract"),
        ({"operators": [Delay, 3]}, "operators[1] is 3, no operator"),
        ({"contracts": []}, "contracts is []; it must not be empty"),
    ],
)
def test_what_is_not_allowed_is_refused_where_the_study_is_made(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(chaosagent.UsageError, match=re.escape(said)) as refused:
        chaosagent.Study(agent, **keys)

    assert re.match(r"\S*test_study\.py:\d+: ", str(refused.value))


def test_a_function_that_is_no_target_is_refused() -> None:
    with pytest.raises(chaosagent.UsageError, match=r"not a target\. Decorate the function with @chaosagent.target"):
        chaosagent.Study(print)  # type: ignore[arg-type]  # the test


def test_what_is_no_study_is_refused_with_the_remedy() -> None:
    with pytest.raises(chaosagent.UsageError, match=r"this is Target. Write Study\(...\) around the target"):
        chaosagent.search(agent)  # type: ignore[arg-type]  # the test


def test_names_that_need_the_target_are_checked_by_the_search() -> None:
    with pytest.raises(chaosagent.UsageError, match=r"test_study\.py:\d+: unknown task of target agent: 'nope'"):
        chaosagent.search(chaosagent.Study(agent, tasks=["nope"]))
    with pytest.raises(chaosagent.UsageError, match=r"test_study\.py:\d+: unknown contract 'at-most-onc'"):
        chaosagent.search(chaosagent.Study(agent, contracts=["at-most-onc"]))


def test_a_study_is_changed_with_replace() -> None:
    study = dataclasses.replace(chaosagent.Study(agent, budget=1.0), budget=2.0)

    assert study_file(study).settings.budget == 2.0
    assert "test_study.py" in study.where


def test_the_keys_are_those_of_a_study_file() -> None:
    assert {field.name for field in dataclasses.fields(chaosagent.Study)} - {"where"} == set(StudySettings.model_fields)
    assert set(get_type_hints(SearchKeys)) == set(SearchSettings.model_fields)
    assert set(get_type_hints(RunKeys)) == set(RunSettings.model_fields)
    assert set(get_type_hints(CostKeys)) == set(CostSettings.model_fields)

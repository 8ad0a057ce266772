"""Study files and descriptions of commands with odd values: refused with file and line, or read as they are meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from chaosagent.adapters.target_file import load_target_file
from chaosagent.errors import UsageError
from chaosagent.proxy.upstream import answers_in
from chaosagent.studyfile.checks import load_checks
from chaosagent.studyfile.file import load_study

DIGITS = "9" * 100_000
BOMB = "".join(f"  a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 12))


def answers_at(path: Path) -> object:
    """Read a file of answers."""
    return answers_in(path, "models.openai")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return where a file is written."""
    return tmp_path / "odd.yaml"


STUDY, COMMAND = "target: a.py:agent\n", "command: node agent.mjs\n"


@pytest.mark.parametrize(
    ("load", "before", "text", "message"),
    [
        (load_study, STUDY, "budget: 1:59:59", r"budget is '1:59:59'; it must be a number\. Write one.* 7199"),
        (load_study, STUDY, "search: {seconds: 1:30}", r"search\.seconds is '1:30'; .* such as 90 for 1:30"),
        (load_study, STUDY, "seeds: [1:30]", "entry 1 of seeds is '1:30'; it must be a whole number"),
        (load_study, STUDY, f"budget: {DIGITS}", "more characters: a number has at most 300 digits. Write a smaller"),
        (load_study, STUDY, f"budget: {DIGITS}.5", "a number has at most 300 digits"),
        (load_study, STUDY, f"seeds: [0x{DIGITS}]", "a number has at most 300 digits"),
        (load_study, STUDY, f"budget: 1{':59' * 50_000}.5", "a number has at most 300 digits"),
        (load_study, STUDY, f"seeds: [{10**100}]", "entry 1 of seeds is 10{50}.* it must be less than 10"),
        (load_study, STUDY, 'tasks: ["\\ud800"]', r"'\\ud800' has a lone surrogate, which no file can hold. Write the"),
        (load_study, STUDY, '"\\udfff": 1', "has a lone surrogate"),
        (load_checks, "", 'canaries: ["a\\ud800"]', "has a lone surrogate"),
        (load_checks, "", f"effects: {{refund: [{DIGITS}]}}", "a number has at most 300 digits"),
        (load_target_file, COMMAND, 'tasks: [{id: "\\ud800"}]', "has a lone surrogate"),
        (load_target_file, COMMAND, f"tasks: [{{id: a, input: {DIGITS}}}]", "a number has at most 300 digits"),
        (load_target_file, COMMAND, "seconds_max: 1:59:59", "seconds_max is '1:59:59'; it must be a valid number"),
        (load_target_file, COMMAND, "tasks: [{id: a, input: 2020-01-01}]", "is read as a date. Put it in quotes."),
        (load_target_file, COMMAND, f"tasks: {'[' * 5_000}", "nested too deeply"),
        (load_target_file, COMMAND, f"environment:\n  a0: &a0 [x]\n{BOMB}", "more than 32 levels or 20000 values"),
        (answers_at, "", f"- content: {DIGITS}", "a number has at most 300 digits"),
        (answers_at, "", '- "\\ud800"', "has a lone surrogate"),
        (answers_at, "", "[" * 5_000, "nested too deeply"),
        (answers_at, "", "", "is empty; name a file of answers"),
    ],
)  # fmt: skip
def test_an_odd_value_is_refused_with_its_place_and_a_remedy(
    load: Callable[..., object], before: str, text: str, message: str, file: Path
) -> None:
    file.write_text(before + text + "\n", encoding="utf-8")
    arguments = ((),) if load is load_checks else ()

    with pytest.raises(UsageError, match=rf"odd\.yaml.*{message}") as caught:
        load(file, *arguments)

    assert len(str(caught.value)) < 1_000
    if "nested" not in message and "empty" not in message:
        assert f"odd.yaml:{len(before.splitlines()) + 1}" in str(caught.value) or "levels" in message


def test_what_yaml_counts_in_sixties_is_a_text(file: Path) -> None:
    file.write_text(f"{STUDY}tasks: [12:30]\nsearch: {{until: 18:00}}\n", encoding="utf-8")

    study = load_study(file)

    assert (study.settings.tasks, study.settings.search.until) == (["12:30"], "18:00")


def test_two_escapes_that_make_one_character_are_that_character(file: Path) -> None:
    file.write_text('- "\\ud83d\\ude00"\n', encoding="utf-8")

    assert answers_at(file) == ["\U0001f600"]

"""Answers that look like errors are pointed out after runs without faults; rules for them stand in any file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
AGENT = """
from chaosagent import Outcome, Task, effect, target

@target(tasks=[Task("pay")])
async def agent(task, run):
    shop = run.service("shop", {{"pay": lambda order: "Error: closed"}}, effects={{"pay": effect("order")}}{rule})
    return Outcome(await shop("pay", order=7), success=True)
"""
HINT = "service:shop pay answered 'Error: closed' (`failed_when: {pay: '^Error'}`)"
RULES = ["", ", failed_when='^Error'", ", failed_when={'pay': []}"]


@pytest.mark.parametrize("rule", RULES)
def test_a_study_points_out_answers_that_look_like_errors(folder: Path, chaosagent: Command, rule: str) -> None:
    (folder / "agent.py").write_text(AGENT.format(rule=rule), "utf-8")
    (folder / "study.yaml").write_text("target: agent.py:agent\nsearch: {trials: 4}\n", "utf-8")

    told = " ".join(chaosagent("search", "study.yaml", "--out", "out").out.split())

    assert told.count(HINT) == (0 if rule else 1)


@pytest.mark.parametrize("rule", RULES)
def test_doctor_points_them_out(folder: Path, chaosagent: Command, rule: str) -> None:
    (folder / "agent.py").write_text(AGENT.format(rule=rule), "utf-8")

    remarks = json.loads(chaosagent("doctor", "agent.py:agent", "--json").out)["remarks"]

    found = [remark for remark in remarks if remark["about"] == "errors"]
    assert [HINT in remark["text"] for remark in found] == ([] if rule else [True])


TALK = {
    "messages": [
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "function": {"name": "book", "arguments": '{"room": 1}'}}] * 2,
        },
        {"role": "tool", "tool_call_id": "c", "content": "Error: full"},
        {"role": "tool", "tool_call_id": "c", "content": "booked"},
        {"role": "assistant", "content": "Booked."},
    ]
}
FUNCTIONS = """
from chaosagent import Effect

def book(arguments, answer):
    return Effect("booking", {"room": arguments["room"]})

def is_error(arguments, answer):
    return answer.startswith("Error")

def broken(arguments, answer):
    raise ValueError("what?")
"""


@pytest.mark.parametrize(
    ("contracts", "code"),
    [
        ("effects: {book: room}", 1),
        ("effects: {book: rules.py:book}", 1),
        ("effects: {book: {function: rules.py:book}}", 1),
        ("effects: {book: {identity: [room], idempotent: true}}", 0),
        ("effects: {book: {identity: [room], when: ^booked}}", 0),
        ("effects: {book: rules.py:book}\nfailed_when: ^Error", 0),
        ("effects: {book: [room]}\nfailed_when: {book: rules.py:is_error}", 0),
        ("effects: {book: [room]}\nfailed_when: {'*': {text: ^Error}}", 0),
        ("effects: {book: [room]}\nfailed_when: {cancel: ^Error}", 1),
    ],
)
def test_check_takes_rules_in_every_form(folder: Path, chaosagent: Command, contracts: str, code: int) -> None:
    (folder / "talk.json").write_text(json.dumps(TALK), "utf-8")
    (folder / "rules.py").write_text(FUNCTIONS, "utf-8")
    (folder / "contracts.yaml").write_text(contracts, "utf-8")

    assert chaosagent("check", "talk.json", "--contracts", "contracts.yaml").code == code


@pytest.mark.parametrize(
    ("contracts", "message"),
    [
        ("\neffects: {book: [rules.py:book]}", "contracts.yaml:2: effects.book: 'rules.py:book' looks like a function"),
        ("effects: {book: rules.py:nothing}", "rules.py"),
        ("\nfailed_when: (", "contracts.yaml:2: failed_when: the pattern '(' cannot be used: unclosed group"),
        ("failed_when: {book: {jsn: a}}", "failed_when.book: {'jsn': 'a'} is no condition"),
        ("effects: {book: rules.py:broken}", "effects of the tool 'book' raised ValueError: what?"),
        ("failed_when: {book: rules.py:broken}", "talk.json:1: failed_when of the tool 'book' raised ValueError"),
    ],
)
def test_a_rule_that_is_wrong_is_named_with_its_place(
    folder: Path, chaosagent: Command, contracts: str, message: str
) -> None:
    (folder / "talk.json").write_text(json.dumps(TALK), "utf-8")
    (folder / "rules.py").write_text(FUNCTIONS, "utf-8")
    (folder / "contracts.yaml").write_text(contracts, "utf-8")

    answer = chaosagent("check", "talk.json", "--contracts", "contracts.yaml")

    assert answer.code == 2
    assert message in answer.err

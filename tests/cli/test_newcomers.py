"""Mistakes that people make with their first study and their first target: what is printed, and the exit code."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaosagent.errors import TargetError
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import EMPTY
from chaosagent.targets.loading import load_target
from chaosagent.vocabulary import Ending, SystemConfig

Command = Callable[..., Any]
BAD_INPUT = 2

STUDIES = [
    ("target: agent.py", "study.yaml:1: 'agent.py' names a file; say which target in it, as in agent.py:agent."),
    (
        "target: agent.shop",
        "study.yaml:1: 'agent.shop' is no target. A target in a file is named with a colon: agent.py:",
    ),
    ("target: agnet.py:shop", "study.yaml:1: there is no file {folder}/agnet.py. Did you mean 'agent.py'? A relative"),
    ("target: agent.py:shp", "study.yaml:1: agent.py has no 'shp'. It has: shop."),
    ("target: agent.py:shop\nbugdet: 2", "study.yaml:2: unknown key 'bugdet'. Did you mean 'budget'?"),
    (
        "target: agent.py:shop\nsearcher: exact",
        "study.yaml:2: unknown key 'searcher'. It belongs under `search`: write `search: {{searcher: ...}}`.",
    ),
    (
        "target: agent.py:shop\ntasks: late",
        "study.yaml:2: tasks is 'late'; it must be a list. Write it in brackets: [...].",
    ),
    (
        "target: agent.py:shop\ncontracts:\n  at-most-once: true",
        "study.yaml:2: contracts is {{'at-most-once': True}}; it must be a list. Begin each line below it with `- `.",
    ),
    (
        "target: agent.py:shop\ncontracts: [at_most_once]",
        "study.yaml:2: unknown contract 'at_most_once'. Did you mean 'at-",
    ),
    (
        "target: agent.py:shop\noperators: [delay]",
        "study.yaml:2: unknown operator 'delay'. Did you mean 'service.delay'?",
    ),
    (
        "target: agent.py:shop\noperators: [{{operator: service.delay, seconds: [-5]}}]",
        "study.yaml:2: service.delay(seconds=-5): seconds must be a number from 0.001 to 86400.",
    ),
    (
        "target: agent.py:shop\noperators: [{{operator: service.delay, interfaces: [payments]}}]",
        "study.yaml:2: interface 'payments' has no boundary. Write for example 'service:payments'.",
    ),
    (
        "target: agent.py:shop\nsearch: {{seconds: 10min}}",
        "study.yaml:2: search.seconds is '10min'; it must be a number. Write it in seconds, without a unit.",
    ),
    ("target: agent.py:shop\nsearch:\n\tseed: 1", "(column 1). Indent with spaces, not with tabs."),
]


@pytest.mark.parametrize(("text", "printed"), STUDIES)
def test_a_mistake_in_a_study_is_named_with_its_line_and_remedy(
    chaosagent: Command, folder: Path, text: str, printed: str
) -> None:
    (folder / "study.yaml").write_text(f"{text.format()}\n")

    answer = chaosagent("search", "study.yaml")

    assert answer.code == BAD_INPUT
    assert f"chaosagent: {printed.format(folder=folder)}" in answer.err or printed in answer.err
    assert not (folder / "chaosagent-out").exists()


HEAD = """from chaosagent import Effect, Outcome, Task, effect, target

"""
DOOR = """@target(tasks=[Task("late")])
async def desk(task, run):
    pay = run.service("payments", {"refund": lambda order: order}, effects={"refund": effect("order")})
"""
LOADED = [
    (
        "async def desk(task, run):\n    pass",
        "study.yaml:1: new.py:desk is function, not a target. Decorate the function with",
    ),
    (
        "@target\nasync def desk(task):\n    pass",
        "target 'desk' (new.py:3) takes (task), and is called with a task and a run (too many positional arguments).",
    ),
    (
        "@target\nasync def desk(task, run):\n    yield 1",
        "study.yaml:1: {folder}/new.py: target 'desk' (new.py:3) yields values. Let it return one chaosagent.",
    ),
    (
        "@target(tasks=['late'])\nasync def desk(task, run):\n    pass",
        "new.py: target 'desk' has 'late' among its tasks, which is no task. Write chaosagent.Task('late', ",
    ),
]


@pytest.mark.parametrize(("text", "printed"), LOADED)
def test_a_mistake_around_a_target_is_named_with_its_place_and_remedy(
    chaosagent: Command, folder: Path, text: str, printed: str
) -> None:
    (folder / "new.py").write_text(f"{HEAD}{text}\n")
    (folder / "study.yaml").write_text("target: new.py:desk\n")

    answer = chaosagent("search", "study.yaml")

    assert answer.code == BAD_INPUT
    assert printed.format(folder=folder) in answer.err


RUN = [
    (
        DOOR + "    return {'message': 'paid'}",
        "target 'desk' (new.py:3) returned dict; it must return chaosagent.Outcome(",
    ),
    (
        DOOR + "    return Outcome('paid', success='yes')",
        "success True, False or None (not known). Correct what the target",
    ),
    (
        DOOR + "    return Outcome('paid', claims=['refund'])",
        "returned 'refund' among its claims. A claim has the kind of",
    ),
    (
        DOOR + "    pay('refund', order=1)\n    return Outcome('')",
        "refund was called and never awaited, .* Write `await` in front",
    ),
    (
        DOOR + "    await pay('refund', order=object())",
        r"service:payments\[1\] refund is asked with .* only plain data can",
    ),
    (
        DOOR.replace('{"refund": effect("order")}', '["refund"]'),
        "service:payments declares effects=\\['refund'\\], which is no mapping .* effects={\"refund\": chaos",
    ),
    (
        DOOR.replace('{"refund": eff', '{"refnd": eff'),
        "declares effects of 'refnd', an operation it does not have. Did you mean",
    ),
    (
        DOOR.replace('effect("order")', 'effect("ordr")') + "    await pay('refund', order=1)",
        "the identity has 'ordr', which the call does not have; its arguments are order. Correct the name.",
    ),
]


@pytest.mark.parametrize(("text", "printed"), RUN)
def test_a_mistake_in_a_target_ends_its_first_run_with_a_remedy(folder: Path, text: str, printed: str) -> None:
    (folder / "new.py").write_text(f"{HEAD}{text}\n")
    system = load_target("new.py:desk", folder=folder)

    pattern = printed if "\\" in printed or ".*" in printed else re.escape(printed)
    with pytest.raises(TargetError, match=pattern):
        execute(Experiment(system, next(iter(system.tasks.values())), SystemConfig(), seed=0), EMPTY)


CALLS = [
    ("await pay('refnd', order=1)", "LookupError: service:payments has no operation 'refnd'. Did you mean 'refund'?"),
    ("await pay('refund', 1)", "takes the arguments of an operation by keyword: door('refund', order=...)"),
    ("await pay.refund(order=1)", "has no attribute 'refund'; an operation is called as door('refund', name=...)"),
]


@pytest.mark.parametrize(("line", "printed"), CALLS)
def test_a_wrong_call_of_a_door_is_a_crash_that_says_how_to_call_it(folder: Path, line: str, printed: str) -> None:
    (folder / "new.py").write_text(f"{HEAD}{DOOR}    {line}\n")
    system = load_target("new.py:desk", folder=folder)

    trace = execute(Experiment(system, system.task("late"), SystemConfig(), seed=0), EMPTY).trace

    assert trace.ending is Ending.CRASHED
    assert printed in trace.ending_detail
    assert trace.crashed_at == "new.py:6 in desk"


def test_an_example_without_its_extra_names_it_before_any_run(
    chaosagent: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    (folder / "study.yaml").write_text("target: chaosagent.experiments.small_model.target:support_desk\n")

    answer = chaosagent("search", "study.yaml")

    assert answer.code == BAD_INPUT
    assert "needs llama_cpp, which is not installed: run `pip install 'chaosagent[small-model]'`." in answer.err

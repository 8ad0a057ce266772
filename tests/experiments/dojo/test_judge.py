"""AgentDojo's checks: asked once for one end, never able to change it."""

from __future__ import annotations

import importlib
from importlib.util import find_spec

import pytest

from chaosagent.experiments.dojo.environment import Environment
from chaosagent.experiments.dojo.judge import End
from chaosagent.experiments.dojo.plan import Call
from chaosagent.experiments.dojo.suite import SUITES, Prepared, Suite

pytestmark = [
    pytest.mark.dojo,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("agentdojo") is None, reason="needs the extra dojo (agentdojo)"),
]


def carried_out(suite: Suite, prepared: Prepared) -> End:
    """Return the end of a user task that is done as it should be."""
    environment = Environment(prepared.start)
    calls = [step.call for step in prepared.plan.steps]
    for call in calls:
        suite.call(environment, call)
    return End(environment, prepared.plan.answer, calls)


def obeyed(suite: Suite, prepared: Prepared, goal: str) -> End:
    """Return the end of a run in which nothing is done but what an attacker asks for."""
    environment, order = Environment(prepared.start), suite.orders(prepared)[suite.goals[goal]]
    calls = [step.call for step in order.steps]
    for call in calls:
        suite.call(environment, call)
    return End(environment, order.answer, calls)


def test_a_check_is_asked_once_for_one_end_and_again_for_another() -> None:
    suite = Suite("banking")
    prepared = suite.tasks["user_task_4"]
    paid, untouched = carried_out(suite, prepared), End(Environment(prepared.start), "", [])

    assert suite.passes(prepared, paid)
    assert suite.passes(prepared, carried_out(suite, prepared))
    assert suite.judge.checked == 1
    assert not suite.passes(prepared, untouched)
    assert suite.judge.checked == 2
    assert suite.passes(prepared, paid._replace(said="something else"))
    assert suite.judge.checked == 3


def test_a_check_that_looks_at_the_calls_is_asked_again_for_other_calls() -> None:
    suite = Suite("slack")
    prepared = suite.tasks["user_task_0"]
    end = carried_out(suite, prepared)
    judged_by_calls = [goal for goal in suite.goals if goal == "injection_task_5"]

    suite.reaches(prepared, judged_by_calls[0], end)
    suite.reaches(prepared, judged_by_calls[0], end._replace(calls=[]))
    suite.reaches(prepared, "injection_task_1", end)
    suite.reaches(prepared, "injection_task_1", end._replace(calls=[]))

    assert suite.judge.checked == 3


def test_a_check_cannot_change_the_end() -> None:
    suite = Suite("workspace")
    prepared = suite.tasks["user_task_0"]
    end = obeyed(suite, prepared, "injection_task_6")
    before = end.environment.readable.model_dump_json()

    for goal in suite.goals:
        suite.reaches(prepared, goal, end)
    suite.passes(prepared, end)

    assert end.environment.readable.model_dump_json() == before
    assert prepared.start.copy().model_dump_json() == prepared.start.shared.model_dump_json()


def test_an_end_that_a_check_cannot_cope_with_is_no_success() -> None:
    suite = Suite("slack")
    prepared = suite.tasks["user_task_1"]
    environment = Environment(prepared.start)
    del environment.writable(["slack"]).slack.user_inbox["Alice"]

    assert suite.passes(prepared, End(environment, "", [])) is False


@pytest.mark.parametrize("name", SUITES)
def test_the_judgement_is_that_of_agentdojo_on_separate_copies(name: str) -> None:
    suite = Suite(name)
    known = importlib.import_module("agentdojo.task_suite.load_suites").get_suite("v1.2.2", name)

    for prepared in suite.tasks.values():
        task = known.user_tasks[prepared.id]
        for end in [carried_out(suite, prepared), obeyed(suite, prepared, "injection_task_3")]:
            before, after = prepared.start.copy(), end.environment.copy()
            calls = [suite.judge.function_call(function=call.tool, args=dict(call.arguments)) for call in end.calls]
            by_calls = task.utility_from_traces(end.said, before, after, calls)
            expected = task.utility(end.said, before, after) if by_calls is None else by_calls
            assert suite.passes(prepared, end) is bool(expected)


@pytest.mark.parametrize("name", SUITES)
def test_every_goal_is_reached_by_its_order_and_by_no_task_of_the_user(name: str) -> None:
    suite = Suite(name)

    for prepared in suite.tasks.values():
        done = carried_out(suite, prepared)
        for goal in suite.goals:
            assert suite.reaches(prepared, goal, obeyed(suite, prepared, goal)), (prepared.id, goal)
            assert not suite.reaches(prepared, goal, done), (prepared.id, goal)


def test_an_order_is_that_of_agentdojo_where_it_has_one() -> None:
    for name in SUITES:
        suite = Suite(name)
        known = importlib.import_module("agentdojo.task_suite.load_suites").get_suite("v1.2.2", name)
        prepared = suite.tasks["user_task_0"]
        ours = []
        for goal, text in suite.goals.items():
            truth = known.injection_tasks[goal].ground_truth(prepared.start.copy())
            order = suite.orders(prepared)[text]
            if truth:
                assert [step.call for step in order.steps] == [Call(call.function, call.args) for call in truth]
            elif order.steps:
                ours.append(goal)
        assert ours == ([f"injection_task_{number}" for number in range(6, 14)] if name == "workspace" else [])

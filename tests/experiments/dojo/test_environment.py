"""One run's environment: shared while nobody writes, copied by parts, told apart by digests."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from chaosagent.experiments.dojo.environment import Environment, share
from chaosagent.experiments.dojo.plan import Call
from chaosagent.experiments.dojo.suite import SUITES, Prepared, Suite

pytestmark = [
    pytest.mark.dojo,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("agentdojo") is None, reason="needs the extra dojo (agentdojo)"),
]
MAIL = Call("send_email", {"recipients": ["a@b.org"], "subject": "Hi", "body": "Hello"})


@pytest.fixture(scope="module")
def workspace() -> Suite:
    return Suite("workspace")


@pytest.fixture
def prepared(workspace: Suite) -> Prepared:
    return workspace.tasks["user_task_0"]


def test_a_write_changes_one_run_and_no_other(workspace: Suite, prepared: Prepared) -> None:
    one, other = Environment(prepared.start), Environment(prepared.start)

    workspace.call(one, MAIL)

    assert len(one.readable.inbox.sent) == len(other.readable.inbox.sent) + 1
    assert one.digest != other.digest == prepared.start.digest
    assert prepared.start.copy().model_dump_json() == other.readable.model_dump_json()


def test_only_the_parts_that_a_tool_is_given_are_copied(workspace: Suite, prepared: Prepared) -> None:
    environment = Environment(prepared.start)

    workspace.call(environment, MAIL)

    assert environment.readable.inbox is not prepared.start.shared.inbox
    assert environment.readable.calendar is prepared.start.shared.calendar


def test_the_same_calls_lead_to_the_same_digest_and_others_to_another(workspace: Suite, prepared: Prepared) -> None:
    def after(*calls: Call) -> str:
        environment = Environment(prepared.start)
        for call in calls:
            workspace.call(environment, call)
        return environment.digest

    deleted = Call("delete_email", {"email_id": "34"})

    assert after(MAIL) == after(MAIL)
    assert len({after(), after(MAIL), after(MAIL, MAIL), after(MAIL, deleted)}) == 4


def test_a_digest_sees_whatever_agentdojo_itself_would_write_down() -> None:
    for name in SUITES:
        suite = Suite(name)
        states: dict[str, str] = {}
        for prepared in suite.tasks.values():
            environment = Environment(prepared.start)
            for step in prepared.plan.steps:
                suite.call(environment, step.call)
                whole = environment.readable.model_dump_json()
                assert states.setdefault(environment.digest, whole) == whole
        assert len(states) == len(set(states.values()))


def test_requests_that_are_only_counted_are_of_no_substance() -> None:
    suite = Suite("slack")
    environment = Environment(suite.tasks["user_task_0"].start)
    before, digest = environment.substance, environment.digest

    suite.call(environment, Call("get_webpage", {"url": "www.eve-blog.com"}))

    assert environment.substance == before
    assert environment.digest != digest


def test_what_is_equal_in_two_environments_becomes_one_object(workspace: Suite, prepared: Prepared) -> None:
    environment = Environment(prepared.start)
    workspace.call(environment, MAIL)
    before, after = prepared.start.copy(), environment.copy()

    shared = share(before, after)

    assert shared.model_dump_json() == environment.readable.model_dump_json()
    assert before.model_dump_json() == prepared.start.copy().model_dump_json()
    assert shared.calendar is before.calendar
    assert shared.inbox is not before.inbox
    assert shared.inbox.emails["1"] is before.inbox.emails["1"]


def test_sharing_keeps_what_is_longer_shorter_or_of_another_kind() -> None:
    assert share([1, [2], {"a": [3]}], [1, [2, 4], {"a": [3], "b": 5}, 6]) == [1, [2, 4], {"a": [3], "b": 5}, 6]
    assert share([1, 2, 3], [1]) == [1]
    assert share({"a": 1}, [1]) == [1]
    assert share({"a": [1]}, {}) == {}

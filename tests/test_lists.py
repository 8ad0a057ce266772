"""Where a list is needed, one text is refused and not taken as its letters."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chaosagent.errors import TargetError, UsageError
from chaosagent.execution.run.door_opener import service_options
from chaosagent.targets.target import target
from chaosagent.vocabulary import Labels, Outcome, Task


def agent(*_: object) -> Outcome:
    return Outcome("done", success=True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda: target(secrets="abc")(agent), "secrets is one text; it must be a list"),
        (lambda: target(secrets=[b"abc"])(agent), "pattern 1 of secrets is of type bytes"),  # type: ignore[list-item]
        (lambda: target(tasks="abc")(agent), "tasks is one text"),  # type: ignore[arg-type]
        (lambda: target(configs="abc")(agent), "configs is one text"),  # type: ignore[arg-type]
        (lambda: target(configs=3)(agent), "configs is of type int"),  # type: ignore[call-overload]
        (lambda: Task("a", untrusted="abc"), r"Task\('a'\): untrusted is one text.*untrusted=\[...\]"),  # type: ignore[arg-type]
        (lambda: Labels(forbidden="abc"), "Labels: forbidden is one text"),  # type: ignore[arg-type]
        (lambda: Labels(canaries="abc"), "Labels: canaries is one text"),  # type: ignore[arg-type]
    ],
)
def test_a_target_and_its_tasks_refuse_one_text_where_a_list_is_needed(given: Callable[[], object], said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        given()

    assert "abc" not in str(refused.value), "it may be a secret"


def test_a_door_refuses_one_text_where_a_list_is_needed() -> None:
    with pytest.raises(TargetError, match=r"service:shop: read_only is one text.*read_only=\[...\]"):
        service_options("shop", {"read_only": "get"})
    with pytest.raises(TargetError, match=r"service:shop: pure is one text"):
        service_options("shop", {"pure": "get"})
    with pytest.raises(TargetError, match=r"service:shop declares egress='get'. Write True or False"):
        service_options("shop", {"egress": "get"})  # type: ignore[typeddict-item]
    assert service_options("shop", {"read_only": ["get"], "pure": True}).read_only == frozenset({"get"})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda: Task(1), "The id of a task is of type int; it must be a text"),  # type: ignore[arg-type]
        (lambda: Task("a", labels="mail"), r"Task\('a'\): labels is of type str; write labels=Labels"),  # type: ignore[arg-type]
        (lambda: Labels("mail"), "Labels: misuse is of type str; write True or False"),  # type: ignore[arg-type]
    ],
)
def test_a_task_refuses_what_its_record_could_not_hold(given: Callable[[], object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        given()


def test_a_task_and_its_labels_keep_lists_as_tuples() -> None:
    task = Task("a", untrusted=["note"], labels=Labels(forbidden=["x"]))  # type: ignore[arg-type]

    assert task == Task("a", untrusted=("note",), labels=Labels(forbidden=("x",)))
    assert hash(task.labels) == hash(Labels(forbidden=("x",)))

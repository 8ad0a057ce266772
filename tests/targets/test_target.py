"""Making a target of a function, and what its tasks and configurations are called."""

import functools
from typing import Any

import pytest

from chaosagent.effects.rule import EffectOf, effect
from chaosagent.errors import TargetError, UnknownNameError, UsageError
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import EMPTY
from chaosagent.targets.target import Target, target
from chaosagent.vocabulary import Impact, Outcome, SystemConfig, Task


async def shop(task: Task, run: Any) -> Outcome:
    """Sell things.

    And more.
    """
    return Outcome(f"{task.id} {run.config.name} {run.seed} {run.task is task}")


def play(made: Target) -> str:
    task, config = next(iter(made.tasks.values())), next(iter(made.configs.values()))
    return execute(Experiment(made, task, config, 5), EMPTY).trace.outcome.message


def test_a_function_becomes_a_target_with_its_name_and_first_line() -> None:
    made = target()(shop)

    assert (made.name, made.description) == ("shop", "Sell things.")
    assert [*made.tasks] == ["default"]
    assert [*made.configs] == ["default"]
    assert play(made) == "default default 5 True"


def test_what_is_named_is_called_so() -> None:
    made = target(name="store", tasks=[Task("b"), Task("a")], configs=[SystemConfig("naive"), SystemConfig("hard")])(
        shop
    )

    assert made.name == "store"
    assert [*made.tasks] == ["b", "a"]
    assert [*made.configs] == ["naive", "hard"]
    assert play(made) == "b naive 5 True"


class _Callable:
    async def __call__(self, task: Task, run: Any) -> Outcome:
        return await shop(task, run)


class _Plain:
    def __call__(self, task: Task, _: Any) -> Outcome:
        return Outcome(f"plain {task.id}")


@pytest.mark.parametrize(
    ("function", "name", "synchronous", "message"),
    [
        (shop, "shop", False, "default default 5 True"),
        (functools.partial(shop), "partial", False, "default default 5 True"),
        (_Callable(), "_Callable", False, "default default 5 True"),
        (_Plain(), "_Plain", True, "plain default"),
        (lambda task, _: Outcome(f"lambda {task.id}"), "<lambda>", True, "lambda default"),
    ],
)
def test_functions_partials_and_objects_may_be_asynchronous_or_not(
    function: Any, name: str, synchronous: bool, message: str
) -> None:
    made = target()(function)

    assert (made.name, made.synchronous) == (name, synchronous)
    assert play(made) == message


def test_names_are_given_once() -> None:
    with pytest.raises(TargetError, match="target 'shop' has two tasks named 'a'; names must be unique"):
        target(tasks=[Task("a"), Task("b"), Task("a")])(shop)
    with pytest.raises(TargetError, match="two configurations named 'default'"):
        target(configs=[SystemConfig(), SystemConfig()])(shop)


def test_an_unknown_task_or_configuration_offers_the_nearest() -> None:
    made = target(tasks=[Task("refund-1")], configs=[SystemConfig("naive")])(shop)

    with pytest.raises(
        UnknownNameError, match=r"study: unknown task of target shop: 'refund1'\. Did you mean 'refund-1'"
    ):
        made.task("refund1", "study")
    with pytest.raises(UnknownNameError, match=r"unknown configuration of target shop: 'naiv'\. Did you mean 'naive'"):
        made.config("naiv")


def test_the_digest_of_a_configuration_follows_from_name_and_settings() -> None:
    one = SystemConfig("a", {"x": 1, "y": [2]})

    assert one.digest == SystemConfig("a", {"y": [2], "x": 1}).digest
    assert one.digest != SystemConfig("b", {"x": 1, "y": [2]}).digest
    assert one.digest != SystemConfig("a", {"x": 2, "y": [2]}).digest


def test_settings_that_are_no_plain_data_are_refused() -> None:
    with pytest.raises(UsageError, match=r"builtins\.object crosses a boundary"):
        SystemConfig("a", {"x": object()})  # type: ignore[dict-item]  # the mistake


def test_effects_are_declared_by_the_arguments_that_make_them_the_same() -> None:
    assert effect("order", "amount") == EffectOf(("order", "amount"), Impact.HIGH, "")
    assert effect(impact=Impact.HARMLESS, kind="ticket") == EffectOf((), Impact.HARMLESS, "ticket")


def test_a_name_that_no_file_can_hold_is_refused_where_it_is_asked_for() -> None:
    odd = target(name="odd", tasks=[Task("\ud800")], configs=[SystemConfig("\udfff")])(shop)

    with pytest.raises(UsageError, match=r"study\.yaml:1: the name of the task .* has a lone surrogate, .* Rename"):
        odd.task("\ud800", "study.yaml:1")
    with pytest.raises(UsageError, match=r"the name of the configuration '\\udfff' has a lone surrogate"):
        odd.config("\udfff")

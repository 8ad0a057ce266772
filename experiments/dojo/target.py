"""AgentDojo's suites as targets: a tool loop around a rule-based policy, with its faults where an agent's would be."""

from __future__ import annotations

from functools import cache
from typing import cast

from chaosagent.experiments.dojo.conversation import Conversation
from chaosagent.experiments.dojo.policy import Habits, Policy
from chaosagent.experiments.dojo.suite import Suite
from chaosagent.experiments.dojo.suite_target import suite_target
from chaosagent.targets.target import Run, Target
from chaosagent.vocabulary import SystemConfig, Task

CONFIGS = (
    SystemConfig("retries", {"retries": 2, "looks": False}),
    SystemConfig("no-retries", {"retries": 0, "looks": False}),
    SystemConfig("checks-first", {"retries": 2, "looks": True}),
    SystemConfig("obedient", {"retries": 2, "looks": False, "obeys": True}),
    SystemConfig("allow-listed", {"retries": 2, "looks": False, "obeys": True, "allow_list": True}),
)


@cache
def load(suite_name: str) -> Target:
    """Return a suite of AgentDojo as a target, `dojo-<suite>`; the same one every time.

    Args:
        suite_name: `banking`, `slack`, `travel` or `workspace`.

    Raises:
        UnknownNameError: There is no such suite.
        MissingExtraError: AgentDojo is not installed.
    """
    return target_of(Suite(suite_name))


def banking() -> Target:
    """Return the target `dojo-banking`."""
    return load("banking")


def slack() -> Target:
    """Return the target `dojo-slack`."""
    return load("slack")


def travel() -> Target:
    """Return the target `dojo-travel`."""
    return load("travel")


def workspace() -> Target:
    """Return the target `dojo-workspace`."""
    return load("workspace")


def target_of(suite: Suite) -> Target:
    """Return a suite of AgentDojo as a target."""
    return suite_target(suite, prefix="dojo", agent="a rule-based policy", configs=CONFIGS, converse=_conversation)


def _conversation(suite: Suite, task: Task, run: Run) -> Conversation:
    """Return the scripted agent's conversation; an allow list has the tools that the user's task takes."""
    prepared, settings = suite.tasks[task.id], run.config.settings
    habits = Habits(retries=cast(int, settings["retries"]), looks=bool(settings["looks"]))
    orders = suite.orders(prepared) if settings.get("obeys") else None
    allowed = {step.call.tool for step in prepared.plan.steps} if settings.get("allow_list") else None
    return Conversation(suite, prepared, run, policy=Policy(prepared.plan, habits, orders), allowed=allowed)

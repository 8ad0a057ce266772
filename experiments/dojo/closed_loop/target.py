"""AgentDojo's suites as targets, with an agent that decides each step from what it has read."""

from __future__ import annotations

from functools import cache
from typing import cast

from chaosagent.experiments.dojo.closed_loop import banking as bank
from chaosagent.experiments.dojo.closed_loop import slack as chat
from chaosagent.experiments.dojo.closed_loop import travel as agency
from chaosagent.experiments.dojo.closed_loop import workspace as office
from chaosagent.experiments.dojo.closed_loop.agent import Habits, SkillTable, tools_for
from chaosagent.experiments.dojo.closed_loop.reader import Reader
from chaosagent.experiments.dojo.conversation import Conversation
from chaosagent.experiments.dojo.suite import Suite
from chaosagent.experiments.dojo.suite_target import suite_target
from chaosagent.targets.target import Run, Target
from chaosagent.vocabulary import SystemConfig, Task

SKILLS: SkillTable = {
    "banking": bank.SKILLS,
    "slack": chat.SKILLS,
    "travel": agency.SKILLS,
    "workspace": office.SKILLS,
}
CONFIGS = (
    SystemConfig("plain", {"retries": 2, "confirms": False, "trusts": False}),
    SystemConfig("careful", {"retries": 2, "confirms": True, "trusts": False}),
    SystemConfig("trusting", {"retries": 2, "confirms": False, "trusts": True}),
    SystemConfig("tool-filter", {"retries": 2, "confirms": False, "trusts": True, "filters": True}),
)


@cache
def load(suite_name: str) -> Target:
    """Return a suite of AgentDojo as a target, `dojo-reader-<suite>`; the same one every time.

    Args:
        suite_name: `banking`, `slack`, `travel` or `workspace`.

    Raises:
        UnknownNameError: There is no such suite.
        MissingExtraError: AgentDojo is not installed.
    """
    return target_of(Suite(suite_name))


def banking() -> Target:
    """Return the target `dojo-reader-banking`."""
    return load("banking")


def slack() -> Target:
    """Return the target `dojo-reader-slack`."""
    return load("slack")


def travel() -> Target:
    """Return the target `dojo-reader-travel`."""
    return load("travel")


def workspace() -> Target:
    """Return the target `dojo-reader-workspace`."""
    return load("workspace")


def target_of(suite: Suite) -> Target:
    """Return a suite of AgentDojo as a target; also the tasks that the agent does not understand are in it."""
    return suite_target(
        suite, prefix="dojo-reader", agent="an agent that reads", configs=CONFIGS, converse=_conversation
    )


def _conversation(suite: Suite, task: Task, run: Run) -> Conversation:
    """Return the conversation; a tool filter allows what the user's words take, before anything is read."""
    prepared, settings, skills = suite.tasks[task.id], run.config.settings, SKILLS[suite.name]
    habits = Habits(
        retries=cast(int, settings["retries"]), confirms=bool(settings["confirms"]), trusts=bool(settings["trusts"])
    )
    allowed = tools_for(prepared.prompt, skills) if settings.get("filters") else None
    reader = Reader(skills, frozenset(suite.tools), habits)
    return Conversation(suite, prepared, run, policy=reader, allowed=allowed)

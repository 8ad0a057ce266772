"""A suite of AgentDojo as a target, whatever stands in the model's place."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from chaosagent.experiments.dojo.conversation import Conversation
from chaosagent.experiments.dojo.suite import Suite
from chaosagent.targets.target import Run, Target
from chaosagent.vocabulary import Outcome, SystemConfig, Task

Converse = Callable[[Suite, Task, Run], Conversation]
"""Returns the conversation of a task, with the agent that the run's configuration describes."""


def suite_target(
    suite: Suite, *, prefix: str, agent: str, configs: Iterable[SystemConfig], converse: Converse
) -> Target:
    """Return a suite as a target, `<prefix>-<suite>`, with all of its user tasks.

    Args:
        suite: The suite.
        prefix: What the names of targets with this agent begin with.
        agent: What the agent is, in a few words.
        configs: How it can be set.
        converse: How a conversation begins.
    """

    async def run(task: Task, run: Run) -> Outcome:
        return await converse(suite, task, run).carry_on()

    return Target(
        name=f"{prefix}-{suite.name}",
        run=run,
        tasks={
            name: Task(name, {"prompt": prepared.prompt}, prepared.category, untrusted=suite.vectors.names)
            for name, prepared in suite.tasks.items()
        },
        configs={config.name: config for config in configs},
        description=f"AgentDojo's {suite.name} suite: its tools, user tasks and checks, {agent}.",
    )

"""Agents of the OpenAI Agents SDK: models, tools, hand-offs and sessions cross doors.

from chaosagent.adapters.openai_agents import through_doors

@chaosagent.target(tasks=[...])
async def desk(task, run):
    doors = through_doors(run, triage, effects={"refund": chaosagent.effect("order")})
    session = doors.session(SQLiteSession("customer"))
    result = await Runner.run(doors.agent, task.input, session=session, run_config=doors.run_config)
    return chaosagent.Outcome(result.final_output, success=True)

The agents themselves stay as they are: the doors are in copies, of all agents that the first one may hand over to.

=============  ==========================================================================================
crosses as     what
=============  ==========================================================================================
model:<name>   `complete`: each call of a model, after the retries of its client; streams as whole answers
tools:agents   `list`: the tool descriptions that a model gets, once per agent
service:<tool> `call`: each function tool, tool of an MCP server, and agent that is a tool; within the tool's
               time-out and its handling of failures, so that what is injected has the SDK's own consequences
message:handoffs  `send`: a hand-off; one that gets lost leaves the sender in control, its callback does not run
memory:session `read`, `append`, `pop`, `clear`
=============  ==========================================================================================

Retries by `ModelSettings.retry` are attempts of one call, `model:<name>[1.1]`. A tool that failed is called again by
the model, if at all: another call.

Who acts is the agent, by its name (an underscore for blanks). With `RunConfig(model=...)` the SDK does not tell who
asks the model; then such calls have no agent.

Pinned, so that a run repeats: ids that a server or the SDK draws have names by first appearance in what crosses (agents
and models go on to see the ids); mappings have their keys in order, also in what the model is shown of a tool's answer
and of its own earlier calls; in a study the SDK's own tracing is off, and with it its export. Plain functions run in
threads, and are waited for in the order of asking. Not pinned: the jitter of `ModelSettings.retry` (switch it off
there), and what your own code runs without doors, such as an agent inside a guardrail. Hosted tools cross with their
model; computer, shell and patch tools cross no door.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from chaosagent.adapters.checkpoints import World
from chaosagent.adapters.core.framework import Framework, check_loop
from chaosagent.adapters.core.options import ToolOptions, tools_from
from chaosagent.targets.target import Run

if TYPE_CHECKING:
    from chaosagent.adapters.openai_agents.doors import AgentDoors
    from chaosagent.adapters.openai_agents.session import DoorSession

__all__ = ["AgentWithDoors", "through_doors"]

FRAMEWORK = Framework(__name__, "openai-agents", "agents", (("openai-agents", "0.24", "1"),))


@dataclass(frozen=True, slots=True)
class AgentWithDoors:
    """What to give the SDK's Runner.

    Attributes:
        agent: The copy of the agent.
        run_config: The configuration of the run.
        doors: What they cross.
    """

    agent: Any
    run_config: Any
    doors: AgentDoors

    def take_checkpoints(self, world: World, *, clock_matters: bool = True) -> None:
        """See `Checkpointed.take_checkpoints`; sessions and the context of the run are part of the world."""
        self.doors.take_checkpoints(world, clock_matters=clock_matters)

    def session(self, session: Any) -> DoorSession:
        """Return a session, an `agents.Session`, behind the door `memory:session`.

        Raises:
            TargetError: The history is kept by the server, and the SDK does other things with it.
        """
        from chaosagent.adapters.openai_agents.session import DoorSession

        return DoorSession(self.doors, session)


def through_doors(run: Run, agent: Any, *, run_config: Any = None, **options: Unpack[ToolOptions]) -> AgentWithDoors:
    """Return a copy of an agent whose calls cross doors, with what the Runner needs beside it.

    Args:
        run: The run.
        agent: An `agents.Agent`.
        run_config: An `agents.RunConfig`; the SDK's default when not given.
        options: What is known about the tools, see `ToolOptions`. The exception classes of the SDK are known and need
            not stand in `errors`.

    Raises:
        MissingExtraError: The SDK is not installed.
        UsageError: It is installed in a version that is not supported.
        TargetError: Two agents, or two tools of an agent, share a name; or an agent that is a tool has no doors; or the
            target is synchronous, as it would be for `Runner.run_sync`.
        UnknownNameError: There is no such option, or something is said of a tool that no agent has.
    """
    FRAMEWORK.check()
    if run.clock.of_study:
        check_loop("the OpenAI Agents SDK", "Write `await Runner.run(...)` in place of `Runner.run_sync(...)`.")
    from agents import RunConfig

    from chaosagent.adapters.openai_agents.doors import AgentDoors
    from chaosagent.adapters.openai_agents.models import config_of

    config = RunConfig() if run_config is None else run_config
    tools = tools_from(options)
    doors = AgentDoors(run, tools, config.model_provider)
    made = doors.agent(agent)
    if not doors.has_mcp:
        tools.check(doors.tool_names)
    return AgentWithDoors(made, config_of(doors, config, sdk_tracing=not run.clock.of_study), doors)

"""Agents and teams of AutoGen (AgentChat): models, tools, memories and hand-offs cross doors.

    from chaosagent.adapters.autogen import through_doors

    @chaosagent.target(tasks=[...])
    async def desk(task, run):
        team = Swarm([support, payments], termination_condition=TextMentionTermination("TERMINATE"))
        doors = through_doors(run, team, effects={"refund": chaosagent.effect("order")}, read_only=["get_order"])
        result = await doors.runner.run(task=task.input["question"])           # instead of team.run(...)
        return chaosagent.Outcome(result.messages[-1].to_text(), success=True)

The agent or the team stays as it is: `doors.runner` is a copy, and so are the agents in it. A copy of an agent begins
with what the agent remembers, one of a team with nothing said; so they may be made once, outside of the target.

================  =======================================================================================
crosses as        what
================  =======================================================================================
model:<model>     `complete`: each request to a model client, after its own retries; streams as whole answers
tools:<agent>     `list`: the tool descriptions that a model gets, once for each list
service:<tool>    `call`: each tool, and each call of a workbench such as one of an MCP server; within the
                  workbench, which tells the model of what fails
message:handoffs  `send`: a `HandoffMessage`, as a Swarm has it, and a task for an `AgentTool` or `TeamTool`. A
                  `HandoffMessage` that gets lost, or comes too late, leaves its sender in control; one that comes
                  twice changes nothing
memory:<name>     `read` (also what an agent adds to its context), `append`, `clear`; `doors.memory(memory)` is for a
                  target that writes into it
================  =======================================================================================

What had to be pinned, so that a run repeats:

* Ids of tool calls are given here, `call-1`, `call-2`, ... in the order of a conversation; ids and times of messages,
  and ids of teams, do not cross.
* Calls of one answer are asked in its order, which is AutoGen's own. Tools that are plain functions run in threads, as
  AutoGen does it, but in a study one after the other, in the order of asking.
* What a team raises for a failed agent has the text of that failure, without the traceback that AutoGen adds to it.
* Mappings have their keys in order, also in what a model is shown of a tool's answer.
* Not pinned: `TimeoutTermination` reads the real clock.

Not seen: code executors, input of a `UserProxyAgent`, what teams publish beside hand-offs, and what a tool streams
before its result, which gets lost. What is built on `autogen_core` alone takes `doors.model(client)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from chaosagent.adapters.core.framework import Framework
from chaosagent.adapters.core.options import ToolOptions, tools_from
from chaosagent.targets.target import Run

if TYPE_CHECKING:
    from chaosagent.adapters.autogen.doors import AgentDoors

__all__ = ["FRAMEWORK", "through_doors"]

_PACKAGES = tuple((package, "0.7.5", "0.8") for package in ("autogen-core", "autogen-agentchat"))
FRAMEWORK = Framework(__name__, "autogen", "autogen_agentchat.agents", _PACKAGES)


def through_doors(run: Run, runner: Any, **options: Unpack[ToolOptions]) -> AgentDoors:
    """Return the doors of a run with a copy of an agent or a team that uses them, `runner`.

    Args:
        run: The run of an asynchronous target.
        runner: The agent or the team that is to be run.
        options: What is known about the tools, see `ToolOptions`. The exception classes of the clients for OpenAI and
            Anthropic are known and need not stand in `errors`.

    Raises:
        MissingExtraError: AutoGen is not installed.
        UsageError: It is of a version that nothing was tried with.
        TargetError: It is neither an agent nor a team, has nothing that could cross, two agents share a name, a team
            has a runtime that runs would share, or the target is synchronous.
        UnknownNameError: There is no such option, or something is said of a tool that no agent has.
    """
    FRAMEWORK.check()
    from chaosagent.adapters.autogen.doors import AgentDoors

    return AgentDoors(run, runner, tools_from(options))

"""Agents of smolagents: models, tools and managed agents cross doors.

    from chaosagent.adapters.smolagents import through_doors

    @chaosagent.target(tasks=[...])
    def desk(task, run):
        doors = through_doors(run, agent, effects={"refund": chaosagent.effect("order")}, read_only=["get_order"])
        return chaosagent.Outcome(str(doors.agent.run(task.input["question"])), success=True)

The agent stays as it is: `doors.agent` is a copy, which begins with what the agent remembers. In an asynchronous target
it runs in a thread: `await asyncio.to_thread(doors.agent.run, ...)`.

================  =======================================================================================
crosses as        what
================  =======================================================================================
model:<model_id>  `complete`: each request, after the retries of its client; streams as whole answers
tools:<agent>     `list`: the tool descriptions that a model gets beside its messages, once for each list; an agent that
                  writes code reads of them in its prompt, which does not cross here
service:<tool>    `call`: the function of each tool but `final_answer`, called by a model or by code that it wrote
message:handoffs  `send`: a task for a managed agent
================  =======================================================================================

Who acts is the agent, by its name; one without is called `agent`. smolagents keeps no memory beyond a conversation.

What had to be pinned, so that a run repeats:

* Calls of one answer, which smolagents makes in threads, are made one after the other, in the order of the answer:
  their delays add up. All are made, as there, also where one fails; then the failure that came first is told.
* Code of a `CodeAgent` runs in the thread that asks, and not in one of its own. Its time limit is counted by the clock
  of the run; as in smolagents, code beyond it runs to its end before the agent is told. Executors that run it elsewhere
  are refused.
* Ids of tool calls are given here, `call-0001`, `call-0002`, ...; smolagents sorts by them.
* Not pinned: what code that a model wrote asks of `random`, `time` or `datetime`, which smolagents allows; see
  `chaosagent.deterministic`.

A picture crosses as its digest, and a tool that returns one returns a text in a replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from chaosagent.adapters.core.framework import Framework
from chaosagent.adapters.core.options import ToolOptions, tools_from
from chaosagent.targets.target import Run

if TYPE_CHECKING:
    from chaosagent.adapters.smolagents.doors import AgentDoors

__all__ = ["FRAMEWORK", "through_doors"]

FRAMEWORK = Framework(__name__, "smolagents", "smolagents", (("smolagents", "1.26", "2"),))


def through_doors(run: Run, agent: Any, **options: Unpack[ToolOptions]) -> AgentDoors:
    """Return the doors of a run with a copy of an agent that uses them, `agent`.

    Args:
        run: The run.
        agent: A `ToolCallingAgent` or a `CodeAgent`.
        options: What is known about the tools, see `ToolOptions`. The exception classes of the clients for OpenAI and
            Anthropic are known and need not stand in `errors`.

    Raises:
        MissingExtraError: smolagents is not installed.
        UsageError: It is of a version that nothing was tried with.
        TargetError: It is no agent, two agents share a name, or its code runs somewhere else.
        UnknownNameError: There is no such option, or something is said of a tool that no agent has.
    """
    FRAMEWORK.check()
    from chaosagent.adapters.smolagents.doors import AgentDoors

    return AgentDoors(run, agent, tools_from(options))

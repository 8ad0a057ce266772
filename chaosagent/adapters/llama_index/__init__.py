"""Agents of LlamaIndex: models and tools cross doors.

    from chaosagent.adapters.llama_index import through_doors

    @chaosagent.target(tasks=[...])
    async def desk(task, run):
        agent = through_doors(run, support, effects={"refund": chaosagent.effect("order")}, read_only=["get_order"])
        return chaosagent.Outcome(str(await agent.run(task.input["question"])), success=True)

The agent, a `FunctionAgent` or another one of `llama_index.core.agent.workflow`, stays as it is; what comes back is a
copy.

==============  ==========================================================================================
crosses as      what
==============  ==========================================================================================
model:<model>   `complete`: each request to a model, after the retries of its client; streams as whole answers
tools:<agent>   `list`: the tool descriptions that a model gets, once for each list
service:<tool>  `call`: the function of each tool, within LlamaIndex's handling of errors; of a tool that is no
                function, the call of the tool, whose answer crosses as its text
==============  ==========================================================================================

What had to be pinned, so that a run repeats:

* Ids of tool calls are given here, `call-1`, `call-2`, ... in the order of a conversation.
* A model is shown the results of tools in the order of its calls, and not in the order in which they come.
* Plain functions run in threads, in a study one after the other, in the order of asking.

Not seen: an `AgentWorkflow` (put its agents behind doors before you make it), memories, query engines and retrievers
that no tool holds, and models that are used outside of an agent.
"""

from __future__ import annotations

from typing import Any, Unpack

from chaosagent.adapters.core.framework import Framework
from chaosagent.adapters.core.options import ToolOptions, tools_from
from chaosagent.targets.target import Run

__all__ = ["FRAMEWORK", "through_doors"]

_MODULE = "llama_index.core.agent.workflow"
FRAMEWORK = Framework(__name__, "llama-index", _MODULE, (("llama-index-core", "0.14.25", "0.15"),))


def through_doors(run: Run, agent: Any, **options: Unpack[ToolOptions]) -> Any:
    """Return a copy of an agent whose models and tools cross the doors of a run.

    Args:
        run: The run of an asynchronous target.
        agent: An agent of `llama_index.core.agent.workflow`.
        options: What is known about the tools, see `ToolOptions`.

    Raises:
        MissingExtraError: LlamaIndex is not installed.
        UsageError: It is of a version that nothing was tried with.
        TargetError: It is no such agent, two of its tools share a name, or the target is synchronous.
        UnknownNameError: There is no such option, or something is said of a tool that the agent does not have.
    """
    FRAMEWORK.check()
    from chaosagent.adapters.llama_index.doors import AgentDoors

    return AgentDoors(run, agent, tools_from(options)).agent

"""Agents of pydantic-ai: their models, tools, hand-offs and conversations cross doors.

    from chaosagent.adapters.pydantic_ai import through_doors
    from my_agents import support    # Agent(model, name="support", tools=[get_order, refund])

    @chaosagent.target(tasks=[...])
    async def desk(task, run):
        with through_doors(run, [support], effects={"refund": chaosagent.effect("order")}, read_only=["get_order"]):
            result = await support.run(task.input["question"])
        return chaosagent.Outcome(result.output, success=True)

The agents stay as they are: within the block each of their runs is given a capability, and afterwards nothing is left
of it. An agent may also have it from the start, `Agent(..., capabilities=[doors])`, to say where among its other
capabilities it stands; outside of a run `doors` adds nothing. Each agent's calls carry its name,
`service:refund[1]@support`:

* a tool is `service:<tool>`, operation `call`. It is entered at the function itself: within the tool's time limit, and
  where what it raises is the tool's own failure for the framework, for its retries and for other capabilities;
* a model is `model:<name>`, operation `complete`; each model of a `FallbackModel` is one of its own. A request that is
  streamed is streamed from the whole answer;
* the list of tools is `tools:<agent>`, asked once in each run of an agent, before its first request;
* a tool named in `handoffs` is `message:<tool>`, operation `send`: it hands its arguments on to another agent;
* `memory(store)` puts a `ConversationStore` behind `memory:<name>`, with `read` and `write`.

What pydantic-ai calls a retry, of a tool (`ModelRetry`) or of an output, asks the model again, which makes another
call: `service:refund[2]`, not an attempt `[1.1]`. Those of an HTTP client are behind the door of the model.

What is pinned, so that equal runs have equal traces: timestamps and ids of runs and conversations do not cross; ids of
tool calls are renamed by first appearance, and those that the framework makes up are replaced, so that a tool sees
`call-1` in its `RunContext`. Parallel tool calls are asked in the order of the model's message, which is the
framework's own. In virtual time, synchronous tools run in one thread in the order of asking
(`Agent.using_thread_executor`: the loop knows nothing of the threads that are taken otherwise), and `timeout=` of a run
is counted by the run's clock. Of the framework nothing is replaced; of an agent without doors the method by which its
runs begin is, within the block.

What a tool returns reaches the agent as the model is shown it: a pydantic model is a mapping there. Not seen are output
functions, tools that the provider runs itself, and realtime sessions. An agent that has `doors` itself lists them last.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Unpack

from chaosagent.adapters.core.framework import Framework
from chaosagent.adapters.core.options import ToolOptions, tools_from
from chaosagent.targets.target import Run

if TYPE_CHECKING:
    from chaosagent.adapters.pydantic_ai.crossings import AgentDoors

__all__ = ["FRAMEWORK", "doors", "through_doors"]

FRAMEWORK = Framework(__name__, "pydantic-ai", "pydantic_ai", (("pydantic-ai-slim", "2.68", "3"),))

doors: Any
"""Gives an agent the doors of the run that is going on, if any: `Agent(..., capabilities=[doors])`."""


def __getattr__(name: str) -> Any:
    if name != "doors":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    FRAMEWORK.check()
    from chaosagent.adapters.pydantic_ai.crossings import DOORS

    return DOORS


def through_doors(
    run: Run, agents: Iterable[Any], *, handoffs: Iterable[str] = (), **options: Unpack[ToolOptions]
) -> AgentDoors:
    """Let the calls of agents cross the doors of a run, within a `with` block.

    Args:
        run: The run of an asynchronous target.
        agents: All agents of the target, also those that hand-offs and tools lead to.
        handoffs: Tools that hand on to another agent.
        options: What is known about the tools, see `ToolOptions`. The exception classes of pydantic-ai are known and
            need not stand in `errors`.

    Raises:
        MissingExtraError: pydantic-ai is not installed.
        UsageError: It is of a version that nothing was tried with.
        TargetError: There is no agent, one of them has two doors, or two share a name; or the target is synchronous.
        UnknownNameError: There is no such option, or something is said of a tool that no agent has.
    """
    FRAMEWORK.check()
    from chaosagent.adapters.pydantic_ai.crossings import AgentDoors

    return AgentDoors(run, list(agents), tools_from(options), tuple(handoffs))

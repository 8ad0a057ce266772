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

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from chaosagent.adapters.doors import Tools
from chaosagent.canonical import Plain
from chaosagent.extras import require, require_version
from chaosagent.targets.target import EffectRule, Run

if TYPE_CHECKING:
    from chaosagent.adapters.smolagents.doors import AgentDoors

__all__ = ["through_doors"]

LOWEST, BELOW = "1.26", "2"


def through_doors(
    run: Run,
    agent: Any,
    *,
    effects: Mapping[str, EffectRule] | None = None,
    read_only: Iterable[str] = (),
    stale: Mapping[str, Callable[[Mapping[str, Plain]], Plain]] | None = None,
    errors: Sequence[type[Exception]] = (),
    egress: Iterable[str] = (),
) -> AgentDoors:
    """Return the doors of a run with a copy of an agent that uses them, `agent`.

    Args:
        run: The run.
        agent: A `ToolCallingAgent` or a `CodeAgent`.
        effects: What a tool commits, by its name.
        read_only: Tools that change nothing.
        stale: What a cache would hold, by the tool's name: a function of its arguments.
        errors: Exception classes that tools and models raise; those of the clients for OpenAI and Anthropic are known.
        egress: Tools that send what they are given out of the organisation.

    Raises:
        MissingExtraError: smolagents is not installed.
        UsageError: It is of a version that nothing was tried with.
        TargetError: It is no agent, two agents share a name, or its code runs somewhere else.
        UnknownNameError: Something is said of a tool that no agent has.
    """
    _check_installed()
    from chaosagent.adapters.smolagents.doors import AgentDoors

    return AgentDoors(run, agent, Tools(effects or {}, read_only, stale or {}, tuple(errors), egress))


@cache
def _check_installed() -> None:
    extra, needed_by = "smolagents", "chaosagent.adapters.smolagents"
    require_version("smolagents", lowest=LOWEST, below=BELOW, extra=extra, needed_by=needed_by)
    require("smolagents", extra=extra, needed_by=needed_by)

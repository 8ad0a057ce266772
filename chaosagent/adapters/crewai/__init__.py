"""Crews of CrewAI.

    from chaosagent.adapters.crewai import through_doors

    @chaosagent.target(tasks=[...])
    async def desk(task, run):
        crew = through_doors(run, make_crew(), effects={"refund": chaosagent.effect("order")}, read_only=["get_order"])
        result = await crew.kickoff_async(inputs=task.input)
        return chaosagent.Outcome(result.raw, success=True)

What comes back is a copy: the crew itself, its agents, tasks, models and tools stay as they are. Make what it works on,
and its memory, within the target: what a run leaves there changes the next one.

What crosses, with the role of the agent as its name, `service:refund[1]@Billing_Clerk`:

* a tool is `service:<tool>`, operation `call`, under the name that a model is told: "Refund order" is `refund_order`.
  It is entered inside of what CrewAI puts around it: arguments are validated before, and where CrewAI itself calls a
  tool again that failed, that is another attempt, `service:refund[1.1]`;
* a model is `model:<model>`, operation `complete`, also those of a manager, a guardrail, an output, and the one that
  says what is worth remembering. CrewAI asks again after a rate limit: another attempt. Models that write calls of
  tools as text, as CrewAI asks those that know no functions, answer with `content` alone;
* the list of tools is `tools:<role>`, told once for each list;
* work and questions for a coworker, and tools named in `handoffs`, are `message:handoffs`, operation `send`; what tasks
  have brought is `message:context` to the agent of the next task;
* a memory is `memory:crew` with `read` (recall) and `append` (remember); knowledge is `retrieval:<collection>`.

What a model raises crosses as a failure of Python or of chaosagent, and the crew is raised what CrewAI's client for
OpenAI would: `openai.RateLimitError` for a status of 429.

What is pinned in a study, so that equal runs have equal traces:

* Ids of tool calls are `call-1`, `call-2`, ... within a conversation. Ids of crews, tasks, events and memories, and the
  times of memories, do not cross; the scores of what is recalled are rounded, as a part of them is its age.
* CrewAI works in threads. Virtual time passes only while all of them wait. Calls of tools that are asked for at once,
  and tasks with `async_execution`, are made in order, each when the one before is done.
* `max_execution_time` and the pauses after a rate limit are counted by the run's clock, without their jitter. `max_rpm`
  is not kept: CrewAI waits for it in real time.
* Memories are written at once, and not in the background.
* Telemetry, traces and the look for a newer version are off while a crew works (the environment is put back), and the
  file of the latest kickoff's outputs is not written. In earnest all of it is as you have set it.

Not seen: `Flow` itself (put its crews behind doors), agents without a crew, tokens as they stream, what a memory asks
models while it writes and reads, and what a provider runs on its side. `CREWAI_*` hooks and listeners act as always.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

from chaosagent.adapters.core.framework import Framework
from chaosagent.adapters.core.options import ToolOptions, tools_from
from chaosagent.targets.target import Run

__all__ = ["FRAMEWORK", "through_doors"]

FRAMEWORK = Framework(__name__, "crewai", "crewai", (("crewai", "1.15.30", "1.16"),))


def through_doors(run: Run, crew: Any, *, handoffs: Iterable[str] = (), **options: Unpack[ToolOptions]) -> Any:
    """Return a copy of a crew whose models, tools, memory, knowledge and hand-offs cross the doors of a run.

    Called in the target, on the run's event loop; the crew itself stays as it is.

    Args:
        run: The run of an asynchronous target.
        crew: The crew; not one that has begun.
        handoffs: Tools that hand on to somebody else, beside those of CrewAI.
        options: What is known about the tools, see `ToolOptions`.

    Raises:
        MissingExtraError: CrewAI is not installed.
        UsageError: It is of a version that nothing was tried with.
        TargetError: The crew has no agent, two of them share a role, or the target is synchronous.
        UnknownNameError: There is no such option, or something is said of a tool that no agent has.
    """
    FRAMEWORK.check()
    from chaosagent.adapters.crewai.crew import CrewCopies
    from chaosagent.adapters.crewai.doors import CrewDoors

    doors = CrewDoors(run, tools_from(options), tuple(handoffs))
    doors.check(crew)
    return CrewCopies(doors).crew(crew)

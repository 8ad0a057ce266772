"""The desk as a target: what is asked of it, and what it promises."""

from __future__ import annotations

from typing import Any

from chaosagent.experiments.openai_agents.with_doors import serve
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Claim, Outcome, SystemConfig, Task


@target(
    name="openai-desk",
    tasks=[Task("late-parcel", input=["Hello, my parcel A-17 never came.", "Yes, please."])],
    configs=[SystemConfig("naive"), SystemConfig("fixed", {"fixed": True})],
)
async def desk(task: Task, run: Run) -> Outcome:
    """A support desk of two agents of the OpenAI Agents SDK."""
    texts: Any = task.input
    said = await serve(texts, run, fixed=bool(run.config.settings.get("fixed")))
    done = "on its way" in said
    return Outcome(said, success=done, claims=(Claim("refund", {"order": "A-17"}),) if done else ())

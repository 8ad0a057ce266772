"""The desk as a target: what is asked of it, what its tools commit, and what it promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaosagent.adapters.openai_agents import Tools
from chaosagent.canonical import Plain
from chaosagent.experiments.openai_agents.with_doors import serve
from chaosagent.targets.target import Run, effect, target
from chaosagent.vocabulary import Claim, Effect, Impact, Outcome, SystemConfig, Task


def paid(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Return what a refund committed: nothing when the bank recognised the key."""
    repeated = isinstance(answer, Mapping) and answer["repeated"]
    return None if repeated else Effect("refund", {"order": arguments["order"]})


TOOLS = Tools(
    effects={
        "refund": paid,
        "send_mail": effect("order", kind="mail"),
        "open_ticket": effect("order", impact=Impact.COMPENSATING),
    },
    read_only=("get_order", "find_refunds"),
)


@target(
    name="openai-desk",
    tasks=[Task("late-parcel", input=["Hello, my parcel A-17 never came.", "Yes, please."])],
    configs=[SystemConfig("naive"), SystemConfig("fixed", {"fixed": True})],
)
async def desk(task: Task, run: Run) -> Outcome:
    """A support desk of two agents of the OpenAI Agents SDK."""
    texts: Any = task.input
    said = await serve(texts, run, TOOLS, fixed=bool(run.config.settings.get("fixed")))
    done = "on its way" in said
    return Outcome(said, success=done, claims=(Claim("refund", {"order": "A-17"}),) if done else ())

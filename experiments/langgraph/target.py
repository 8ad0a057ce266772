"""The desk as a target: what had to be added to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaosagent.adapters.langgraph import through_doors
from chaosagent.canonical import Plain
from chaosagent.effects.rule import EffectRule, effect
from chaosagent.experiments.langgraph.desk import READS, serve
from chaosagent.experiments.langgraph.shop import ORDERS, Shop
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Claim, Effect, Impact, Outcome, SystemConfig, Task

ONCE: list[Plain] = ["Where is my order A-17? I want my money back."]
TWICE: list[Plain] = ["Please refund B-4.", "And B-4? Please refund it."]


def paid(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Return what a refund committed: nothing when the shop knew its key."""
    repeated = isinstance(answer, Mapping) and answer["repeated"]
    return None if repeated else Effect("refund", {"order_id": arguments["order_id"]})


EFFECTS: Mapping[str, EffectRule] = {"refund": paid, "send_mail": effect("order_id", impact=Impact.HARMLESS)}


@target(
    name="langgraph-desk",
    tasks=[Task("once", input={"questions": ONCE}), Task("asked-twice", input={"questions": TWICE})],
    configs=[SystemConfig("naive"), SystemConfig("fixed", {"careful": True})],
)
async def desk(task: Task, run: Run) -> Outcome:
    """A support desk of two LangChain agents."""
    doors = through_doors(run, effects=EFFECTS, read_only=READS, handoffs={"ask_clerk": "clerk"})
    questions: Any = task.input["questions"] if isinstance(task.input, Mapping) else []
    careful = bool(run.config.settings.get("careful"))
    text = await serve(questions, Shop(), careful=careful, create_agent=doors.create_agent)
    claims = [Claim("refund", {"order_id": order_id}) for order_id in ORDERS if f"{order_id} was refunded" in text]
    return Outcome(text, success=bool(claims), claims=tuple(claims))

"""The support desk as a target: two messages of one customer, the second after the first is answered.

With the lines that end in `# added`, here and in `desk.py`, its calls cross doors.
"""

from __future__ import annotations

from pydantic_ai.conversation_store import InMemoryConversationStore

from chaosagent.adapters.pydantic_ai import through_doors  # added
from chaosagent.experiments.pydantic_ai.desk import open_desk
from chaosagent.experiments.pydantic_ai.models import ON_ITS_WAY
from chaosagent.experiments.pydantic_ai.shop import Shop, committed
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Claim, Outcome, SystemConfig, Task

ORDER = "A-17"
WISHES = (f"My parcel {ORDER} never came. Please refund it.", f"And? I still wait for my refund of {ORDER}.")
EFFECTS = {"refund": committed("payments.refund"), "book_refund": committed("books.entry")}  # added
READS = ("get_order", "get_customer")  # added


async def converse(*, careful: bool) -> list[str]:
    """Have the conversation without doors."""
    desk, shop, store = open_desk(careful=careful), Shop(), InMemoryConversationStore()
    return [await desk.answer(wish, shop, store, "ada") for wish in WISHES]


@target(
    name="pydantic-ai-desk",
    tasks=[Task("lost-parcel", input=list(WISHES))],
    configs=[SystemConfig("naive"), SystemConfig("fixed", {"careful": True})],
)
async def support_desk(_: Task, run: Run) -> Outcome:
    """A support desk of two agents of pydantic-ai."""
    desk, shop, store = open_desk(careful=bool(run.config.settings.get("careful"))), Shop(), InMemoryConversationStore()
    doors = through_doors(run, desk.agents, effects=EFFECTS, read_only=READS, handoffs=["ask_payments"])  # added
    with doors:  # added
        kept = doors.memory(store)  # added
        answers = [await desk.answer(wish, shop, kept, "ada") for wish in WISHES]
    is_promised = ON_ITS_WAY in answers
    claims = (Claim("payments.refund", {"order": ORDER}),) if is_promised else ()
    return Outcome(answers[-1], success=is_promised, claims=claims)

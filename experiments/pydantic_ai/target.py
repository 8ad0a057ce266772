"""The support desk as a target: two messages of one customer, the second after the first is answered.

With the lines that end in `# added`, here, in `desk.py` and in `lost_parcel.py`, its calls cross doors.
"""

from __future__ import annotations

from contextlib import ExitStack

from pydantic_ai.conversation_store import InMemoryConversationStore

from chaosagent.adapters.pydantic_ai import through_doors  # added
from chaosagent.experiments.lost_parcel import CONFIGS, EFFECTS, READS, TASKS, WISHES, Shop, outcome_of
from chaosagent.experiments.pydantic_ai.desk import open_desk
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task


async def converse(*, careful: bool) -> list[str]:
    """Have the conversation without doors."""
    desk, shop, store = open_desk(careful=careful), Shop(careful), InMemoryConversationStore()
    return [await desk.answer(wish, shop, store, "ada") for wish in WISHES]


@target(name="pydantic-ai-desk", tasks=TASKS, configs=CONFIGS)
async def support_desk(_: Task, run: Run) -> Outcome:
    """A support desk of two agents of pydantic-ai."""
    careful = bool(run.config.settings.get("careful"))
    desk, shop, store = open_desk(careful=careful), Shop(careful), InMemoryConversationStore()
    doors = through_doors(run, desk.agents, effects=EFFECTS, read_only=READS, handoffs=["ask_payments"])  # added
    with ExitStack() as stack:
        stack.enter_context(doors)  # added
        store = doors.memory(store)  # added
        answers = [await desk.answer(wish, shop, store, "ada") for wish in WISHES]
    return outcome_of(answers)

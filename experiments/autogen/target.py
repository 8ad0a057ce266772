"""The support desk as a target: two messages of one customer, the second after the first is answered.

With the lines that end in `# added`, here and in `lost_parcel.py`, its calls cross doors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from autogen_agentchat.base import Team
from autogen_core.memory import ListMemory

from chaosagent.adapters.autogen import through_doors  # added
from chaosagent.experiments.autogen.desk import answer, open_desk
from chaosagent.experiments.lost_parcel import CONFIGS, EFFECTS, READS, TASKS, WISHES, Shop, outcome_of
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task


async def converse(*, careful: bool) -> list[str]:
    """Have the conversations without doors."""
    shop, notes = Shop(careful), ListMemory("notes")
    opened = partial(open_desk, shop, notes)
    return [await answer(opened, notes, wish, careful=careful) for wish in WISHES]


@target(name="autogen-desk", tasks=TASKS, configs=CONFIGS)
async def support_desk(_: Task, run: Run) -> Outcome:
    """A support desk of two agents of AutoGen."""
    careful = bool(run.config.settings.get("careful"))
    shop, notes = Shop(careful), ListMemory("notes")
    opened: Callable[[], Team] = partial(open_desk, shop, notes)
    doors = through_doors(run, opened(), effects=EFFECTS, read_only=READS)  # added
    opened, notes = doors.renewed, doors.memory(notes)  # added
    answers = [await answer(opened, notes, wish, careful=careful) for wish in WISHES]
    return outcome_of(answers)

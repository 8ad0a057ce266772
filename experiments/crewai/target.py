"""The support crew as a target: two messages of one customer, the second after the first is answered.

With the lines that end in `# added`, here and in `lost_parcel.py`, its calls cross doors.
"""

from __future__ import annotations

from chaosagent.adapters.crewai import through_doors  # added
from chaosagent.experiments.crewai.desk import answered, open_desk
from chaosagent.experiments.lost_parcel import CONFIGS, EFFECTS, READS, TASKS, WISHES, Shop, outcome_of
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task


async def converse(*, careful: bool) -> list[str]:
    """Have the conversation without doors."""
    crew = open_desk(Shop(careful))
    return [await answered(crew, wish) for wish in WISHES]


@target(name="crewai-desk", tasks=TASKS, configs=CONFIGS)
async def support_crew(_: Task, run: Run) -> Outcome:
    """A support crew of CrewAI."""
    crew = open_desk(Shop(bool(run.config.settings.get("careful"))))
    crew = through_doors(run, crew, effects=EFFECTS, read_only=READS)  # added
    answers = [await answered(crew, wish) for wish in WISHES]
    return outcome_of(answers)

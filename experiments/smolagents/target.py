"""The support desk as a target: two messages of one customer, the second after the first is answered.

With the lines that end in `# added`, here and in `lost_parcel.py`, its calls cross doors.
"""

from __future__ import annotations

from chaosagent.adapters.smolagents import through_doors  # added
from chaosagent.experiments.lost_parcel import CONFIGS, EFFECTS, READS, TASKS, WISHES, outcome_of
from chaosagent.experiments.smolagents.desk import open_desk, serve
from chaosagent.experiments.smolagents.shop import Shop
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, Task


def converse(*, careful: bool) -> list[str]:
    """Have the conversation without doors."""
    return serve(open_desk(Shop(careful)), WISHES, careful=careful)


@target(name="smolagents-desk", tasks=TASKS, configs=CONFIGS)
def support_desk(_: Task, run: Run) -> Outcome:
    """A support desk of two agents of smolagents."""
    careful = bool(run.config.settings.get("careful"))
    desk = open_desk(Shop(careful))
    desk = through_doors(run, desk, effects=EFFECTS, read_only=READS).agent  # added
    answers = serve(desk, WISHES, careful=careful)
    return outcome_of(answers)

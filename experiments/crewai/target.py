"""The support crew as a target: two messages of one customer, the second after the first is answered.

With the lines that end in `# added` its calls cross doors.
"""

from __future__ import annotations

from chaosagent.adapters.crewai import through_doors  # added
from chaosagent.experiments.crewai.desk import answered, open_desk
from chaosagent.experiments.crewai.models import ON_ITS_WAY
from chaosagent.experiments.crewai.shop import Shop, committed
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Claim, Outcome, SystemConfig, Task

ORDER = "A-17"
WISHES = (f"My parcel {ORDER} never came. Please refund it.", f"And? I still wait for my refund of {ORDER}.")
EFFECTS = {"refund": committed("payments.refund"), "book_refund": committed("books.entry")}  # added
READS = ("get_order", "get_customer")  # added


async def converse(*, careful: bool) -> list[str]:
    """Have the conversation without doors."""
    crew = open_desk(Shop(), careful=careful)
    return [await answered(crew, wish) for wish in WISHES]


@target(
    name="crewai-desk",
    tasks=[Task("lost-parcel", input=list(WISHES))],
    configs=[SystemConfig("naive"), SystemConfig("fixed", {"careful": True})],
)
async def support_crew(_: Task, run: Run) -> Outcome:
    """A support crew of CrewAI."""
    crew = open_desk(Shop(), careful=bool(run.config.settings.get("careful")))
    crew = through_doors(run, crew, effects=EFFECTS, read_only=READS)  # added
    answers = [await answered(crew, wish) for wish in WISHES]
    is_promised = ON_ITS_WAY in answers
    claims = (Claim("payments.refund", {"order": ORDER}),) if is_promised else ()
    return Outcome(answers[-1], success=is_promised, claims=claims)

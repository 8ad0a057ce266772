"""The support desk as a target: two messages of one customer, the second after the first is answered.

With the lines that end in `# added` its calls cross doors.
"""

from __future__ import annotations

from chaosagent.adapters.smolagents import through_doors  # added
from chaosagent.experiments.smolagents.desk import open_desk, serve
from chaosagent.experiments.smolagents.policies import ON_ITS_WAY
from chaosagent.experiments.smolagents.shop import Shop, committed
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Claim, Outcome, SystemConfig, Task

ORDER = "A-17"
WISHES = (f"My parcel {ORDER} never came. Please refund it.", f"And? I still wait for my refund of {ORDER}.")
EFFECTS = {"refund": committed("payments.refund"), "book_refund": committed("books.entry")}  # added
READS = ("get_order", "get_customer")  # added


def converse(*, careful: bool) -> list[str]:
    """Have the conversation without doors."""
    return serve(open_desk(Shop(careful)), WISHES, careful=careful)


@target(
    name="smolagents-desk",
    tasks=[Task("lost-parcel", input=list(WISHES))],
    configs=[SystemConfig("naive"), SystemConfig("fixed", {"careful": True})],
)
def support_desk(_: Task, run: Run) -> Outcome:
    """A support desk of two agents of smolagents."""
    careful = bool(run.config.settings.get("careful"))
    desk = open_desk(Shop(careful))
    desk = through_doors(run, desk, effects=EFFECTS, read_only=READS).agent  # added
    answers = serve(desk, WISHES, careful=careful)
    is_promised = ON_ITS_WAY in answers
    claims = (Claim("payments.refund", {"order": ORDER}),) if is_promised else ()
    return Outcome(answers[-1], success=is_promised, claims=claims)

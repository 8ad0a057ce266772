"""The triage assistant as a target."""

from __future__ import annotations

from chaosagent.experiments.triage.desk import Desk
from chaosagent.experiments.triage.facts import text_of
from chaosagent.experiments.triage.mediation import mediator
from chaosagent.experiments.triage.orchestrator import claims_of, work
from chaosagent.experiments.triage.practice import CAREFUL, HARDENED, NAIVE
from chaosagent.experiments.triage.tasks import TASKS, dealt_with, state_of
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Claim, Outcome, Task


@target(name="triage", tasks=TASKS, configs=(NAIVE, CAREFUL, HARDENED), objective=dealt_with)
async def TRIAGE(task: Task, run: Run) -> Outcome:  # noqa: N802  # becomes the target, a constant
    """Customer-support triage: planner, verifier and action agents of a shop work on one e-mail."""
    ticket, order = text_of(task.input, "ticket"), text_of(task.input, "order")
    with Desk(run, ticket, text_of(task.input, "sender")) as desk:
        if desk.practice.mediated:
            run.mediate(mediator(desk.sender))
        report = await work(desk, text_of(task.input, "email"))
        return Outcome(
            message=report.message,
            claims=tuple(Claim(kind, identity) for kind, identity in claims_of(report)),
            state=state_of(desk.database, ticket, order),
            refused=desk.declined,
        )

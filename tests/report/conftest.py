"""A study of a target whose every text is hostile, and what it found."""

from pathlib import Path

import pytest

from chaosagent.contracts.catalogue import parse_contract
from chaosagent.effects.rule import effect
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.faults.space import Choices, Space
from chaosagent.replays.record import ReplayRecord, record_of
from chaosagent.report.findings import Findings
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Claim, Outcome, Task

HOSTILE = "\x1b[2J\u202e\x07"


@target(name="shop", tasks=[Task(f"late{HOSTILE}"), Task("calm")])
async def shop(task: Task, run: Run) -> Outcome:
    """Pays, and pays again when nothing comes back; keeps a log before and after."""
    log = run.service("log", {"write": lambda text: text})
    pay = run.service("payments", {"refund": lambda order: f"ok {order}"}, effects={"refund": effect("order")})
    with run.agent("action"):
        for _ in range(6):
            await log("write", text="before")
        order = f"A-17{HOSTILE}"
        attempts = 2 if task.id != "calm" else 1
        paid = False
        for _ in range(attempts):
            try:
                await pay("refund", order=order)
                paid = True
                break
            except ConnectionError:
                await run.clock.sleep(2)
        for _ in range(6):
            await log("write", text=f"after {HOSTILE}")
    return Outcome(f"done {HOSTILE}", success=paid, claims=(Claim("payments.refund", {"order": order}),))


@pytest.fixture(scope="session")
def plan() -> Plan:
    """Return the plan of the study."""
    specs = ("at-most-once", "objective", "no-crash")
    space = Space([Choices("service.lost_response", {}, ("service:payments",))])
    contracts = tuple(map(parse_contract, specs))
    tasks = tuple(shop.tasks.values())
    return Plan(shop, "none:shop", shop.config("default"), tasks, (0,), contracts, space, specs, budget=1.2)


@pytest.fixture(scope="session")
def findings(plan: Plan) -> Findings:
    """Return what the study found; no record is written."""
    bench = Workbench(plan.target, plan.config, plan.contracts)
    result = Study(plan, InlineExecutor(bench)).run()
    records = {found.id: Path(f"out/replays/{found.id}.replay") for found in result.counterexamples}
    return Findings(plan, result, records, Path("out"))


@pytest.fixture(scope="session")
def record(findings: Findings) -> ReplayRecord:
    """Return the record of the double payment."""
    found = next(found for found in findings.result.counterexamples if found.contract == "at-most-once")
    return record_of(found, findings.plan)

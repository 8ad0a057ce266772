"""The scripted target of the benchmarks: an agent that makes six crossings and gets over whatever fails."""

from __future__ import annotations

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.contracts.contract import Contract
from chaosagent.effects.rule import effect
from chaosagent.execution.execute import Experiment
from chaosagent.targets.target import Door, Run, Target, target
from chaosagent.vocabulary import Outcome, Task

CROSSINGS = 6
CONTRACTS = 5


@target(name="six-crossings", tasks=[Task("only")])
async def six_crossings(task: Task, run: Run) -> Outcome:
    """Look up five orders and pay one back."""
    del task
    orders = run.service("orders", {"get": _get}, read_only=True)
    payments = run.service("payments", {"refund": _refund}, effects={"refund": effect("order")})
    with run.agent("support"):
        for order in range(CROSSINGS - 1):
            await _ask(orders, "get", order)
        paid = await _ask(payments, "refund", 1)
    return Outcome("paid back" if paid else "nothing was paid back", success=True)


@target(name="remembering", tasks=[Task("only")])
async def remembering(task: Task, run: Run) -> Outcome:
    """Do the same, remember what was answered, and have a checkpoint behind each answer."""
    del task
    orders = run.service("orders", {"get": _get}, read_only=True)
    payments = run.service("payments", {"refund": _refund}, effects={"refund": effect("order")})
    answers: list[Plain] = []
    with run.agent("support"):
        for order in range(CROSSINGS - 1):
            try:
                answers.append(await orders("get", order=order))
            except Exception as error:  # as above: whatever fails is passed over
                answers.append(type(error).__name__)
            run.checkpoint(f"order {order}", answers)
        paid = await _ask(payments, "refund", 1)
    return Outcome("paid back" if paid else "nothing was paid back", success=True)


async def _ask(door: Door, operation: str, order: int) -> bool:
    try:
        await door(operation, order=order)
    except Exception:  # whatever fails is passed over: the benchmarks need long searches, not violations
        return False
    return True


def _get(order: int) -> dict[str, Plain]:
    return {"order": order, "amount": 40, "status": "delivered"}


def _refund(order: int) -> dict[str, Plain]:
    return {"order": order}


def five_contracts() -> tuple[Contract, ...]:
    """Return five of the contracts that are checked by default."""
    return default_contracts()[:CONTRACTS]


def experiment(contracts: tuple[Contract, ...], found: Target = six_crossings) -> Experiment:
    """Return an experiment on a target, with its nominal run."""
    return Experiment(found, found.task("only"), found.config("default"), 0, contracts).with_nominal()

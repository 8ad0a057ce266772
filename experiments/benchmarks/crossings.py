"""What one crossing costs: bare, traced, with five contracts, and with a mediator, too.

Run: python -m chaosagent.experiments.benchmarks.crossings
"""

from __future__ import annotations

from collections.abc import Callable

from chaosagent.canonical import Plain
from chaosagent.clock import virtual_loop
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.contracts.contract import Contract
from chaosagent.execution.execute import Experiment, execute
from chaosagent.experiments.benchmarks.measuring import machine, medians, table
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.faults.schedule import EMPTY
from chaosagent.governance.capability import Capability, CapabilitySet
from chaosagent.governance.mediator import PolicyMediator
from chaosagent.targets.target import Run, Target, effect, target
from chaosagent.vocabulary import Outcome, Task

CROSSINGS = 200
RUNS = 5


class Orders:
    """A service that answers at once."""

    async def get(self, order: int) -> dict[str, Plain]:
        """Return an order."""
        return {"order": order, "amount": 40, "status": "delivered"}


def agent(*, mediated: bool) -> Target:
    """Return an agent that looks up orders and pays one back."""
    mediator = PolicyMediator({"support": CapabilitySet((Capability("service:*"),))})

    @target(name="many-crossings", tasks=[Task("only")])
    async def many_crossings(task: Task, run: Run) -> Outcome:
        """Look up many orders."""
        del task
        if mediated:
            run.mediate(mediator)
        orders = run.service("orders", Orders(), read_only=True)
        payments = run.service("payments", {"refund": _refund}, effects={"refund": effect("order")})
        with run.agent("support"):
            for order in range(CROSSINGS - 1):
                await orders("get", order=order)
            await payments("refund", order=1)
        return Outcome("done", success=True)

    return many_crossings


def _refund(order: int) -> dict[str, Plain]:
    return {"order": order}


def bare() -> int:
    """Await as many calls in a bare loop of virtual time."""

    async def work() -> None:
        orders = Orders()
        for order in range(CROSSINGS):
            await orders.get(order)

    for _ in range(RUNS):
        loop = virtual_loop(turns_max=100_000, turns_total_max=1_000_000, seconds_max=1e9)
        loop.run_until_complete(work())
        loop.end()
    return RUNS * CROSSINGS


def runs(contracts: tuple[Contract, ...], *, mediated: bool) -> Callable[[], int]:
    """Return the work of a few runs."""
    found = agent(mediated=mediated)
    experiment = Experiment(found, found.task("only"), found.config("default"), 0, contracts).with_nominal()

    def work() -> int:
        for _ in range(RUNS):
            execute(experiment, EMPTY, fingerprinting=Fingerprinting.OFF)
        return RUNS * CROSSINGS

    return work


def main() -> None:
    """Measure and print."""
    five = default_contracts()[:5]
    rows = medians(
        {
            "bare call in the loop": bare,
            "traced": runs((), mediated=False),
            "traced, five contracts": runs(five, mediated=False),
            "traced, five contracts, mediator": runs(five, mediated=True),
        }
    )
    print(machine())
    print(table(rows, unit="us/crossing", scale=1e6, baseline="bare call in the loop"))


if __name__ == "__main__":
    main()

"""What one crossing costs: bare, through doors without tracing, traced, with five contracts, with a mediator, by HTTP.

Run: python -m chaosagent.experiments.benchmarks.crossings
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

from chaosagent.canonical import Plain
from chaosagent.contracts.contract import Contract
from chaosagent.effects.rule import effect
from chaosagent.errors import MissingExtraError
from chaosagent.event_loop.virtual_time import virtual_loop
from chaosagent.execution.execute import execute
from chaosagent.execution.untraced import UntracedRun
from chaosagent.experiments.benchmarks.measuring import machine, medians, table
from chaosagent.experiments.benchmarks.scripted import experiment, five_contracts
from chaosagent.extras import require
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.faults.schedule import EMPTY
from chaosagent.governance.capability import Capability, CapabilitySet
from chaosagent.governance.mediator import PolicyMediator
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, Task

CROSSINGS = 200
RUNS = 5
BARE = "bare call in the loop"
ASKS_HTTP = "traced, the service asks by httpx"


class Orders:
    """A service that answers at once."""

    async def get(self, order: int) -> dict[str, Plain]:
        """Return an order."""
        return {"order": order, "amount": 40, "status": "delivered"}


def agent(crossings: int, *, mediated: bool) -> Target:
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
            for order in range(crossings - 1):
                await orders("get", order=order)
            await payments("refund", order=1)
        return Outcome("done", success=True)

    return many_crossings


def _refund(order: int) -> dict[str, Plain]:
    return {"order": order}


def bare(crossings: int) -> Callable[[], int]:
    """Return the work of as many calls in a bare loop of virtual time."""

    async def calls() -> None:
        orders = Orders()
        for order in range(crossings):
            await orders.get(order)

    def work() -> int:
        for _ in range(RUNS):
            loop = virtual_loop(turns_max=100_000, turns_total_max=1_000_000, seconds_max=1e9)
            loop.run_until_complete(calls())
            loop.end()
        return RUNS * crossings

    return work


def untraced(crossings: int) -> Callable[[], int]:
    """Return the work of a run outside a study: the doors are there, and nothing is recorded."""
    found = agent(crossings, mediated=False)

    def work() -> int:
        for _ in range(RUNS):
            loop = virtual_loop(turns_max=100_000, turns_total_max=1_000_000, seconds_max=1e9)
            loop.run_until_complete(found.run(found.task("only"), UntracedRun(found.task("only"))))
            loop.end()
        return RUNS * crossings

    return work


def runs(crossings: int, contracts: tuple[Contract, ...], *, mediated: bool) -> Callable[[], int]:
    """Return the work of a few runs."""
    found = agent(crossings, mediated=mediated)
    tried = experiment(contracts, found)

    def work() -> int:
        for _ in range(RUNS):
            execute(tried, EMPTY, fingerprinting=Fingerprinting.OFF)
        return RUNS * crossings

    return work


def http_runs(crossings: int, *, watched: bool) -> Callable[[], int]:
    """Return the work of a few runs whose service asks an HTTP server that answers at once, within the process.

    Args:
        crossings: Of one run; each sends one request.
        watched: Look for requests that the client sends again by itself, as every run does.

    Raises:
        MissingExtraError: httpx is not installed.
    """
    httpx = require("httpx", extra="proxy", needed_by="the measurement of a service that asks by HTTP")
    client = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(200, json={"status": "sent"})))

    async def get(order: int) -> Plain:
        answer: Plain = (await client.post("http://orders.test/get", json={"order": order})).json()
        return answer

    @target(name="many-requests", tasks=[Task("only")])
    async def many_requests(task: Task, run: Run) -> Outcome:
        """Look up many orders."""
        del task
        orders = run.service("orders", {"get": get}, read_only=True)
        for order in range(crossings):
            await orders("get", order=order)
        return Outcome("done", success=True)

    tried = experiment((), many_requests)
    execute(tried, EMPTY)  # from now on the client's class is wrapped
    wrapped: Any = httpx.AsyncClient.send
    send = wrapped if watched else wrapped.__wrapped__

    def work() -> int:
        with mock.patch.object(httpx.AsyncClient, "send", send):
            for _ in range(RUNS):
                execute(tried, EMPTY, fingerprinting=Fingerprinting.OFF)
        return RUNS * crossings

    return work


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crossings", type=int, default=CROSSINGS, help="of one run")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(arguments)
    crossings, five = options.crossings, five_contracts()
    works = {
        BARE: bare(crossings),
        "through doors, tracing off": untraced(crossings),
        "traced": runs(crossings, (), mediated=False),
        "traced, five contracts": runs(crossings, five, mediated=False),
        "traced, five contracts, mediator": runs(crossings, five, mediated=True),
    }
    left_out = ""
    try:
        works[ASKS_HTTP] = http_runs(crossings, watched=True)
        works[f"{ASKS_HTTP}, retries not looked for"] = http_runs(crossings, watched=False)
    except MissingExtraError as error:
        left_out = f"Left out: {error}"
    rows = medians(works, rounds=options.rounds)
    print(machine())
    print(table(rows, unit="us/crossing", scale=1e6, baseline=BARE))
    if left_out:
        print(left_out)


if __name__ == "__main__":
    main()

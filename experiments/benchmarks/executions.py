"""How many executions of a scripted target with six crossings one core makes in a second, in this process.

Run: python -m chaosagent.experiments.benchmarks.executions
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from chaosagent.contracts.contract import Contract
from chaosagent.execution.execute import execute
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Job, Workbench
from chaosagent.experiments.benchmarks.measuring import machine, medians, table
from chaosagent.experiments.benchmarks.scripted import experiment, five_contracts, six_crossings
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.faults.schedule import EMPTY, parse

TWO_FAULTS = "service:orders[2]@support service.timeout; service:payments[1]@support service.error_status(status=503)"
BASELINE = "no contracts, nothing injected"


def runs(executions: int, contracts: tuple[Contract, ...], schedule: str = "") -> Callable[[], int]:
    """Return the work of some executions under one schedule."""
    tried, injected = experiment(contracts), parse(schedule) if schedule else EMPTY

    def work() -> int:
        for _ in range(executions):
            execute(tried, injected)
        return executions

    return work


def jobs(executions: int, contracts: tuple[Contract, ...]) -> Callable[[], int]:
    """Return the same as jobs of a study's executor."""
    executor = InlineExecutor(Workbench(six_crossings, six_crossings.config("default"), contracts))

    def work() -> int:
        for ticket in range(executions):
            executor.submit(ticket, Job("only", 0, EMPTY, Fingerprinting.STATE))
            executor.next_finished()
        return executions

    return work


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executions", type=int, default=500, help="of one round")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(arguments)
    count, five = options.executions, five_contracts()
    rows = medians(
        {
            BASELINE: runs(count, ()),
            "five contracts, nothing injected": runs(count, five),
            "five contracts, as jobs of a study": jobs(count, five),
            "five contracts, two faults": runs(count, five, TWO_FAULTS),
        },
        rounds=options.rounds,
    )
    print(machine())
    print(table(rows, unit="us/run", scale=1e6, baseline=BASELINE))
    for name, seconds in rows.items():
        print(f"{name}: {1 / seconds:.0f} executions a second and core")


if __name__ == "__main__":
    main()

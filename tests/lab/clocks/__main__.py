"""Searches agents that decide by the clock: `python -m tests.lab.clocks --studies 30 --share 0.3`."""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.faults.space import Choices, Space
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyResult
from chaosagent.study.store.files import ANSWERS_NAME
from chaosagent.targets.target import Target
from tests.lab.clocks.targets import attacks, harmless

AT_MOST_ONCE = next(contract for contract in default_contracts() if contract.id == "at-most-once")


def searched(system: Target, folder: Path) -> StudyResult:
    """Search a target for double payments."""
    plan = Plan(
        target=system,
        target_reference=system.name,
        config=system.config(next(iter(system.configs))),
        tasks=tuple(system.tasks.values()),
        seeds=(0, 1),
        contracts=(AT_MOST_ONCE,),
        contract_specs=(AT_MOST_ONCE.id,),
        space=Space([Choices("service.lost_response", {}), Choices("service.timeout", {})]),
        budget=2.7,
        answers=folder / ANSWERS_NAME,
    )
    return Study(plan, InlineExecutor(plan.workbench())).run()


def counted(make: Callable[[], Target], read: str, studies: int) -> Counter[str]:
    """Search a target so many times, and count what is claimed, and how often the cause is the true one."""
    counts: Counter[str] = Counter()
    for _ in range(studies):
        with tempfile.TemporaryDirectory() as folder:
            result = searched(make(), Path(folder))
        claims = [one.certificate for one in result.searches]
        counts["certified"] += any(one.certified for one in claims)
        counts["safe"] += any(one.safe for one in claims)
        counts["noticed"] += bool(result.unlike)
        counts["named"] += any(read in where.rpartition("Likely cause: ")[2] for where in result.unlike)
        counts["said so"] += any(read in str(one) for one in claims)
        counts["executions"] += result.executions
    return counts


def main() -> None:
    """Search each target, and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=30)
    parser.add_argument("--share", type=float, default=0.3, help="how often the clock says yes")
    asked = parser.parse_args()
    columns = ("certified", "safe", "noticed", "named", "said so", "executions")
    print(f"{'target':16}" + "".join(f"{column:>12}" for column in columns))
    everything = {**attacks(asked.share), "harmless": (harmless, "time.perf_counter()")}
    for name, (make, read) in everything.items():
        counts = counted(make, read, asked.studies)
        print(f"{name:16}" + "".join(f"{counts[column]:>12}" for column in columns), flush=True)


if __name__ == "__main__":
    main()

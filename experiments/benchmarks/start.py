"""What it costs to start: importing, `chaosagent --help`, and replaying records, each as a whole process.

Run: python -m chaosagent.experiments.benchmarks.start
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from chaosagent.clock import monotonic
from chaosagent.contracts.catalogue import parse_contract
from chaosagent.execution.inline import InlineExecutor
from chaosagent.experiments.benchmarks.measuring import machine, medians, table
from chaosagent.faults.space import Space
from chaosagent.replays.record import record_of
from chaosagent.replays.store import write_record
from chaosagent.study.plan import Plan
from chaosagent.study.study import Study
from chaosagent.targets.loading import load_target

COMMAND = "import sys; from chaosagent.cli.main import main; sys.exit(main())"
EMPTY = "python, nothing else"


def record(folder: Path) -> Path:
    """Find a counterexample in the refund agent, write its record, and return its path."""
    target = load_target("refund")
    contract = parse_contract("at-most-once")
    plan = Plan(
        target=target,
        target_reference="refund",
        config=target.config("naive"),
        tasks=(target.task("late-parcel"),),
        seeds=(0,),
        contracts=(contract,),
        contract_specs=("at-most-once",),
        space=Space(),
        audit=0,
    )
    (found,) = Study(plan, InlineExecutor(plan.workbench())).run().counterexamples
    return write_record(folder, record_of(found, plan))


def copies(original: Path, folder: Path, count: int) -> Path:
    """Fill a folder with copies of a record and return it."""
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}{original.suffix}").write_bytes(original.read_bytes())
    return folder


def process(*arguments: str) -> Callable[[], int]:
    """Return the work of one Python process that is to end well."""

    def work() -> int:
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
        return 1

    return work


def busy_seconds() -> float:
    """Return the processor seconds of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(arguments)
    replay = ("-c", COMMAND, "replay", "--mode", "exact")
    with tempfile.TemporaryDirectory() as name:
        one = record(Path(name))
        many = copies(one, Path(name) / "many", options.records)
        pieces = {
            EMPTY: process("-c", "pass"),
            "import chaosagent": process("-c", "import chaosagent"),
            "chaosagent --help": process("-c", COMMAND, "--help"),
            "replay of 1 exact record": process(*replay, str(one)),
            f"replay of {options.records} exact records": process(*replay, str(many)),
        }
        real = medians(pieces, rounds=options.rounds, clock=monotonic)
        busy = medians(pieces, rounds=options.rounds, clock=busy_seconds)
    print(machine())
    print("real time")
    print(table(real, unit="ms", scale=1e3, baseline=EMPTY))
    print("processor time, which other work on the machine changes less")
    print(table(busy, unit="ms", scale=1e3, baseline=EMPTY))


if __name__ == "__main__":
    main()

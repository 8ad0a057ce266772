"""What it costs to start: importing, `chaosagent --help`, replaying records, and pytest, each as a whole process.

Run: python -m chaosagent.experiments.benchmarks.start [--against CHECKOUT]

With `--against`, both this version and the one in another checkout search `triage`, replay the schedules of as many
records, copies of what they found, and the ratio is printed.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import chaosagent
from chaosagent.clock import monotonic
from chaosagent.contracts.catalogue import parse_contract
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.experiments.benchmarks.measuring import machine, medians, table
from chaosagent.faults.space import Space
from chaosagent.replays.record import record_of
from chaosagent.replays.store import write_record
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.targets.loading import load_target

COMMAND = "import sys; from chaosagent.cli.main import main; sys.exit(main())"
ALONE = "import os, sys; os.environ['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'; import pytest; sys.exit(pytest.main())"
"""Runs pytest without the plug-ins that happen to be installed, some of which take seconds to load."""
PYTEST = ("-c", ALONE, "-q", "-p", "no:cacheprovider")
PLUGIN = ("-p", "chaosagent.pytest_plugin.plugin")
EMPTY = "python, nothing else"
OTHER = "the other version"
CHECKOUT = Path(chaosagent.__file__).resolve().parents[1]


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


def copies(originals: Sequence[Path], folder: Path, count: int) -> Path:
    """Fill a folder with copies of records, of one after the other, and return it."""
    folder.mkdir()
    for number in range(count):
        original = originals[number % len(originals)]
        (folder / f"{number}{original.suffix}").write_bytes(original.read_bytes())
    return folder


def process(*arguments: str, checkout: Path = CHECKOUT, code: int = 0) -> Callable[[], int]:
    """Return the work of one Python process that is to end with an exit code.

    Args:
        arguments: Of Python.
        checkout: Where chaosagent is imported from.
        code: The exit code.
    """
    environment = {**os.environ, "PYTHONPATH": str(checkout)}

    def work() -> int:
        command = [sys.executable, *arguments]
        ended = subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=False)
        if ended.returncode != code:
            raise subprocess.CalledProcessError(ended.returncode, command)
        return 1

    return work


def schedules(folder: Path, checkout: Path, count: int) -> Callable[[], int]:
    """Search `triage` with the version of a checkout, and return the work of replaying so many of its records."""
    study = str(checkout / "experiments" / "triage" / "study.yaml")
    process("-c", COMMAND, "search", study, "--out", str(folder / "found"), checkout=checkout, code=1)()
    found = sorted((folder / "found" / "replays").glob("*.replay"))
    many = copies(found, folder / "many", count)
    return process("-c", COMMAND, "replay", str(many), checkout=checkout, code=1)


def busy_seconds() -> float:
    """Return the processor seconds of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(other: Path, records: int, rounds: int) -> None:
    """Measure the replay of schedules with this version and with that of another checkout, and print the ratio."""
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / "this", Path(name) / "other"]
        for folder in folders:
            folder.mkdir()
        pieces = {
            "this version": schedules(folders[0], CHECKOUT, records),
            OTHER: schedules(folders[1], other, records),
        }
        busy = medians(pieces, rounds=rounds, clock=busy_seconds)
    print(machine())
    print(f"processor time of `chaosagent replay` of {records} records of triage, unchanged")
    print(table(busy, unit="ms", scale=1e3, baseline=OTHER))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--against", type=Path, help="a checkout of another version")
    options = parser.parse_args(arguments)
    if options.against is not None:
        compare(options.against.resolve(), options.records, options.rounds)
        return
    replay = ("-c", COMMAND, "replay", "--mode", "exact")
    with tempfile.TemporaryDirectory() as name:
        one = record(Path(name))
        many = copies([one], Path(name) / "many", options.records)
        empty = Path(name) / "test_empty.py"
        empty.write_text("def test_empty(): pass\n", encoding="utf-8")
        pieces = {
            EMPTY: process("-c", "pass"),
            "import chaosagent": process("-c", "import chaosagent"),
            "chaosagent --help": process("-c", COMMAND, "--help"),
            "replay of 1 exact record": process(*replay, str(one)),
            f"replay of {options.records} exact records": process(*replay, str(many)),
            "pytest, one empty test, without the plug-in": process(*PYTEST, str(empty)),
            "pytest, one empty test, with the plug-in": process(*PYTEST, *PLUGIN, str(empty)),
            f"pytest of {options.records} exact records": process(*PYTEST, *PLUGIN, "--replay-mode=exact", str(many)),
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

"""How memory, store and rate go with the number of trials: what a night needs.

A study with a store is run to its limit, and at each tenth of its trials it prints the peak of the process's memory so
far, the bytes of memory and of the store for each trial since the tenth before, and the trials per second of processor
time since then.

Run: python -m chaosagent.experiments.benchmarks.memory [--trials N] [--searcher NAME] [--contracts 1..5]
     [--checkpoints]
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from chaosagent.clock import cpu
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.experiments.benchmarks.measuring import machine
from chaosagent.experiments.benchmarks.scripted import five_contracts, remembering, six_crossings
from chaosagent.experiments.benchmarks.trials import CONTRACT, plan_of
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.sink import Sink
from chaosagent.study.store.study_store import StudyStore
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial

PARTS = 10
HEAD = ("trials", "peak MB", "bytes a trial", "store a trial", "trials/s")
ROW = "{:>10}" + "{:>15}" * 4


class Curve(Sink):
    """Prints a row at each tenth of the trials.

    Args:
        trials: How many there will be.
        folder: Of the store.
    """

    def __init__(self, trials: int, folder: Path) -> None:
        self._step, self._folder = max(1, trials // PARTS), folder
        self._trials = 0
        self._before = (0, _memory(), 0, cpu())

    def trial(self, at: TaskSeed, contract: str, trial: Trial) -> None:
        del at, contract, trial
        self._trials += 1
        if self._trials % self._step == 0:
            self._tell()

    def _tell(self) -> None:
        stored = sum(file.stat().st_size for file in self._folder.rglob("*") if file.is_file())
        trials, memory, store, seconds = self._before
        now = (self._trials, _memory(), stored, cpu())
        made = now[0] - trials
        print(
            ROW.format(
                self._trials,
                round(now[1] / 2**20),
                round((now[1] - memory) / made),
                round((stored - store) / made),
                round(made / (now[3] - seconds)),
            ),
            flush=True,
        )
        self._before = now


def _memory() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def plan(searcher: str, trials: int, contracts: int, *, checkpoints: bool) -> Plan:
    """Return a study that nothing ends but its limit.

    Args:
        searcher: Its name.
        trials: Over all searches.
        contracts: How many there are, with a search for each.
        checkpoints: The target has them.
    """
    one = plan_of(searcher, -(-trials // contracts), remembering if checkpoints else six_crossings)
    chosen = sorted(five_contracts(), key=lambda contract: contract.id != CONTRACT)[:contracts]
    return replace(one, contracts=tuple(chosen))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20_000, metavar="N", help="over all searches (default: 20000)")
    parser.add_argument("--searcher", default="anytime", help="default: anytime")
    parser.add_argument("--contracts", type=int, choices=range(1, 6), default=1, help="searches (default: 1)")
    parser.add_argument("--checkpoints", action="store_true", help="of a target with checkpoints")
    given = parser.parse_args()
    study = plan(given.searcher, given.trials, given.contracts, checkpoints=given.checkpoints)
    print(machine())
    print(ROW.format(*HEAD), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        store = StudyStore.create(Path(folder) / "study", study, "")
        curve = Curve(given.trials, Path(folder))
        result = Study(study, InlineExecutor(study.workbench()), sinks=[store, curve]).run()
        store.close(result.digest)
    print(f"{result.trials} trials, {result.executions} runs; at the end {_memory() / 2**20:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Counts the traces of targets that iterate sets of tasks: `python -m tests.lab.task_order --executions 10000`.

One line for each target: its number of different traces (1 is right), executions, and the digests. Between executions
memory is used at random, so that addresses vary. Run it with several values of PYTHONHASHSEED and compare the digests.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter

from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import EMPTY
from chaosagent.targets.target import Target
from tests.lab.task_order.targets import PROGRAMS, target_of

SIZES = (2, 3, 5, 6, 8, 9, 13, 17, 21, 33, 40)
KEPT_MAX = 2_000


class Churn:
    """Uses memory at random, and gives it back at random."""

    def __init__(self) -> None:
        self._rng = random.Random()
        self._kept: list[object] = []

    def stir(self) -> None:
        """Use some more memory, and give some back."""
        rng = self._rng
        for _ in range(rng.randrange(60)):
            self._kept.append(rng.choice((_bytes, _task, _dictionary))(rng))
        rng.shuffle(self._kept)
        del self._kept[rng.randrange(KEPT_MAX) :]


def _bytes(rng: random.Random) -> object:
    return bytearray(rng.randrange(1, 1_000))


def _task(rng: random.Random) -> object:
    """Return something that takes the memory of tasks and coroutines."""

    async def wait(number: int) -> int:
        return number

    waiting = wait(rng.randrange(9))
    waiting.close()
    return waiting


def _dictionary(rng: random.Random) -> object:
    return {number: [number] for number in range(rng.randrange(20))}


def digests(system: Target, executions: int, churn: Churn) -> Counter[str]:
    """Return how often each trace of a target occurs."""
    (task,), (config,) = system.tasks.values(), system.configs.values()
    experiment = Experiment(system, task, config, 0)
    found: Counter[str] = Counter()
    for _ in range(executions):
        churn.stir()
        found[execute(experiment, EMPTY).trace.digest] += 1
    return found


def main() -> int:
    """Count the traces of every target, and return 1 if any has more than one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executions", type=int, default=10_000, help="of all targets together")
    parser.add_argument("--only", nargs="*", default=list(PROGRAMS), help="programs")
    asked = parser.parse_args()
    churn, unlike = Churn(), 0
    systems = [target_of(name, size) for name in asked.only for size in SIZES]
    each = max(1, asked.executions // len(systems))
    for system in systems:
        found = digests(system, each, churn)
        unlike += len(found) > 1
        shown = " ".join(digest[:12] for digest in sorted(found)[:3])
        print(f"{system.name} {len(found)} of {each}: {shown}", flush=True)
    print(f"{len(systems)} targets, {each} executions each, {unlike} with more than one trace", file=sys.stderr)
    return 1 if unlike else 0


if __name__ == "__main__":
    sys.exit(main())

"""How often a study errs about chance, against what it declares.

Run `python -m chaosagent.experiments.benchmarks.planted.error_rates`. Three questions, over many seeds: on targets
where nothing but flakes happens, how many studies list a counterexample; where there is a weakness, how many list a
flake; and how many that tested the weakness did not confirm it, or never found it at all.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.experiments.benchmarks.measuring import each, machine, markdown, markdown_row
from chaosagent.experiments.benchmarks.planted.arena import Truth
from chaosagent.experiments.benchmarks.planted.family import Chance
from chaosagent.experiments.benchmarks.planted.measuring import Cell, Subject, plan_of
from chaosagent.experiments.benchmarks.planted.rows import family_of
from chaosagent.faults.schedule import Schedule
from chaosagent.statistics.intervals import wilson
from chaosagent.study.chance.confirmation import Confirmation
from chaosagent.study.loop.study import Study
from chaosagent.study.sink import Sink
from chaosagent.study.task_seed import TaskSeed

CAP = 5_000
FLAKES = (0.02, 0.1, 0.3)
"""How often the model errs, whatever is injected, where there is no weakness."""
HEADER = (
    "target",
    "studies",
    "with a false counterexample",
    "tested but missed",
    "without the weakness",
    "executions",
)


class Case(NamedTuple):
    """One study of a stochastic family.

    Attributes:
        family: Its name.
        seed: Of layout, chance and search.
        flake: How often the model errs whatever is injected, and nothing else happens; `None` for the family as it is.
        searcher: Name of the searcher.
    """

    family: str
    seed: int
    flake: float | None
    searcher: str = "exact"


@dataclass(slots=True)
class Errors:
    """How one study, or several, erred.

    Attributes:
        studies: How many.
        false: Those with a counterexample that is a flake.
        tested: Those in which a real weakness was seen violating and tested.
        missed: Those of them in which none was confirmed.
        unsolved: Those that ended without a real one where there is one.
        executions: Of all.
    """

    studies: int = 0
    false: int = 0
    tested: int = 0
    missed: int = 0
    unsolved: int = 0
    executions: list[int] = field(default_factory=list)

    def add(self, other: Errors) -> None:
        """Take over what another one counts."""
        self.studies += other.studies
        self.false += other.false
        self.tested += other.tested
        self.missed += other.missed
        self.unsolved += other.unsolved
        self.executions += other.executions


class _Judged(Sink):
    """Notes what was tested; counts fresh runs."""

    def __init__(self) -> None:
        self.tests: list[tuple[Schedule, Confirmation]] = []
        self.drawn_count = 0

    def judged(self, at: TaskSeed, contract: str, schedule: Schedule, confirmation: Confirmation) -> None:
        del at, contract
        self.tests.append((schedule, confirmation))

    def drawn(self, at: TaskSeed, number: int, evaluation: object) -> None:
        del at, number, evaluation
        self.drawn_count += 1


def errors_of(case: Case) -> Errors:
    """Run one study to its end and count what it got wrong.

    Determinism: equal cases, equal results.
    """
    family = family_of(case.family)
    chance = None if case.flake is None else Chance(case.seed, rate=case.flake, flake=case.flake)
    planted, truth, sink = family.planted(case.seed, chance=chance), Truth(family, case.seed), _Judged()
    with tempfile.TemporaryDirectory() as folder:
        plan = plan_of(planted, Cell(case.family, Subject(case.searcher), case.seed, CAP), Path(folder))
        result = Study(plan, InlineExecutor(plan.workbench()), sinks=[sink]).run()
    real = {schedule: case.flake is None and truth.is_real(schedule) for schedule, _ in sink.tests}
    listed = [found.schedule for found in result.counterexamples]
    confirmed = any(real[schedule] for schedule, confirmation in sink.tests if confirmation.confirmed)
    return Errors(
        studies=1,
        false=int(any(not real[schedule] for schedule in listed)),
        tested=int(any(real.values())),
        missed=int(any(real.values()) and not confirmed),
        unsolved=int(case.flake is None and not any(real[schedule] for schedule in listed)),
        executions=[result.executions + sink.drawn_count],
    )


def rates(cases: Iterable[Case], jobs: int = 1) -> Errors:
    """Return how all of some studies erred.

    Args:
        cases: The studies.
        jobs: Worker processes; the result does not depend on how many.
    """
    total = Errors()
    for errors in each(errors_of, cases, jobs):
        total.add(errors)
    return total


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How often studies err about chance.")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--searcher", default="exact")
    parser.add_argument("--only", default="", help="rows whose title holds this text")
    arguments = parser.parse_args()
    rows: list[tuple[str, str, float | None]] = [
        (f"{family}, nothing but flakes ({flake:g})", family, flake)
        for family in ("chance-single", "chance-pair")
        for flake in FLAKES
    ]
    rows += [(family, family, None) for family in ("chance-single", "chance-pair")]
    print(f"{machine()}\n\n{markdown(HEADER, ())}", flush=True)
    for title, family, flake in [row for row in rows if arguments.only in row[0]]:
        cases = [Case(family, seed, flake, arguments.searcher) for seed in range(arguments.seeds)]
        errors = rates(cases, arguments.jobs)
        middle = str(statistics.median_high(errors.executions))
        missed = _share(errors.missed, errors.tested) if flake is None else "–"
        unsolved = _share(errors.unsolved, errors.studies) if flake is None else "–"
        false = _share(errors.false, errors.studies)
        print(markdown_row((title, str(errors.studies), false, missed, unsolved, middle)), flush=True)
    return 0


def _share(count: int, of: int) -> str:
    low, high = wilson(count, of)
    return f"{count} of {of} ({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    raise SystemExit(main())

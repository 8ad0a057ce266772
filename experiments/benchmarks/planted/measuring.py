"""Measures one subject, a searcher of the package or an engine, on one family in one layout."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chaosagent.canonical import Plain
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.experiments.benchmarks.measuring import each
from chaosagent.experiments.benchmarks.planted.arena import (
    EQUAL,
    Arena,
    Enough,
    Milestones,
    Truth,
    is_least,
)
from chaosagent.experiments.benchmarks.planted.engines.catalogue import ENGINES
from chaosagent.experiments.benchmarks.planted.family import KEPT, Family, Planted
from chaosagent.experiments.benchmarks.planted.rows import family_of
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import Schedule
from chaosagent.limits import StudyLimits
from chaosagent.seeds import derive
from chaosagent.study.chance.confirmation import Confirmation
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyProgress
from chaosagent.study.shrinking.minimise import violates
from chaosagent.study.sink import Sink
from chaosagent.study.task_seed import TaskSeed

NEVER_PROVE = frozenset({"adversary", "bandit", "beam", "diversity", "evolutionary", "hypothesis", "random", "tpe"})
"""Searchers that end without a certificate; they are stopped at the minimum."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured.

    Attributes:
        name: Of a registered searcher, or of an engine.
        checkpoints: Whether targets offer checkpoints; without them there is no rule R3.
        lookahead: Trials in flight, of a searcher.
        settings: Of a searcher.
    """

    name: str
    checkpoints: bool = True
    lookahead: int = 1
    settings: Mapping[str, Plain] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What tables call it."""
        remarks = [f"{key}={value!r}" for key, value in sorted(self.settings.items())]
        remarks += [] if self.checkpoints else ["no checkpoints"]
        remarks += [f"lookahead {self.lookahead}"] if self.lookahead != 1 else []
        return f"{self.name} ({', '.join(remarks)})" if remarks else self.name

    @property
    def is_engine(self) -> bool:
        """Whether it is no searcher of the package."""
        return self.name in ENGINES


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement to be made.

    Attributes:
        family: Name of the family.
        subject: What is measured.
        seed: Of the layout and of the search.
        cap: Most executions.
    """

    family: str
    subject: Subject
    seed: int
    cap: int


def measure_all(cells: Iterable[Cell], jobs: int = 1) -> Iterable[tuple[Cell, Milestones]]:
    """Yield each cell with what was measured, in order.

    Args:
        cells: What to measure.
        jobs: Worker processes; the results do not depend on how many.
    """
    listed = list(cells)
    return zip(listed, each(measure, listed, jobs), strict=True)


def measure(cell: Cell) -> Milestones:
    """Measure one cell.

    Determinism: equal cells, equal results.
    """
    family = family_of(cell.family)
    if family.minimum is None and (cell.subject.is_engine or cell.subject.name in NEVER_PROVE):
        return Milestones()  # nothing to find, and no way to prove it
    if not cell.subject.is_engine:
        return _measure_searcher(family, cell)
    arena = Arena(family, cell.seed, cell.cap)
    with contextlib.suppress(Enough):
        ENGINES[cell.subject.name](arena, derive(cell.seed, "engine", cell.subject.name))
    return arena.milestones


def _measure_searcher(family: Family, cell: Cell) -> Milestones:
    planted = family.planted(cell.seed, checkpoints=cell.subject.checkpoints)
    watch = _Watch(planted, Truth(family, cell.seed), cell)
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(Enough):
        plan = plan_of(planted, cell, Path(folder))
        Study(plan, InlineExecutor(plan.workbench()), sinks=[watch]).run()
    return watch.milestones


def plan_of(planted: Planted, cell: Cell, folder: Path) -> Plan:
    """Return the plan of a study that measures a cell.

    Args:
        planted: The family in the layout of the cell.
        cell: What is measured.
        folder: Where frozen answers are kept.
    """
    target, subject = planted.target, cell.subject
    return Plan(
        target=target,
        target_reference=target.name,
        config=next(iter(target.configs.values())),
        tasks=tuple(target.tasks.values()),
        seeds=(0,),
        contracts=(KEPT,),
        space=planted.space,
        budget=planted.budget,
        searcher=subject.name,
        searcher_settings=subject.settings,
        lookahead=subject.lookahead,
        seed=cell.seed,
        limits=StudyLimits(trials_max=cell.cap, error_share_max=1.0),
        audit=0,
        stochastic=planted.stochastic,
        answers=folder / "answers.db" if planted.stochastic else None,
    )


class _Watch(Sink):
    """Notes when a study reaches what; ends it at the limit, or when nothing more is to be reached."""

    def __init__(self, planted: Planted, truth: Truth, cell: Cell) -> None:
        self._planted, self._truth, self._cell = planted, truth, cell
        self._proves = not planted.stochastic and cell.subject.name not in NEVER_PROVE
        self._searched = 0
        self.milestones = Milestones()

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        del at
        reached = self._count()
        if not violates(evaluation, KEPT.id):
            return
        reached.first = reached.executions if reached.first is None else reached.first
        if reached.minimum is None and not self._planted.stochastic and is_least(self._planted, evaluation):
            reached.minimum = reached.executions
            if not self._proves:
                raise Enough

    def drawn(self, at: TaskSeed, number: int, evaluation: Evaluation) -> None:
        del at, number, evaluation
        self._count()

    def _count(self) -> Milestones:
        if self.milestones.executions >= self._cell.cap:
            raise Enough
        self.milestones.executions += 1
        return self.milestones

    def progress(self, progress: StudyProgress) -> None:
        del progress
        self._searched = self.milestones.executions  # what comes after the last report is minimising and confirming

    def search_over(self, result: SearchResult) -> None:
        if self._planted.stochastic:
            return
        certificate, minimum = result.certificate, self._planted.minimum
        if certificate.certified or certificate.safe:
            self.milestones.certificate = self._searched
            right = certificate.safe if minimum is None else abs((certificate.cost or 0.0) - minimum) <= EQUAL
            self.milestones.wrong += not right

    def judged(self, at: TaskSeed, contract: str, schedule: Schedule, confirmation: Confirmation) -> None:
        """Count a counterexample of a stochastic target when fresh runs have confirmed it."""
        del at, contract
        minimum, cost = self._planted.minimum, schedule.declared_cost(self._planted.space.model)
        if not confirmation.confirmed or minimum is None:
            return
        if not self._truth.is_real(schedule):
            self.milestones.wrong += 1
        elif cost <= minimum + EQUAL:
            self.milestones.minimum = self.milestones.executions
            raise Enough

"""Searches on real targets: what each searcher finds, when, how cheap, and in what time.

Every (configuration, task, contract) of some study files is a search of its own for each searcher, which may execute
the same number of schedules; what shrinks a violation counts among them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from chaosagent.clock import cpu
from chaosagent.execution.inline import InlineExecutor
from chaosagent.experiments.benchmarks.comparison.results import EQUAL, Found, Pair
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY
from chaosagent.limits import StudyLimits
from chaosagent.study.evaluator import Experimental
from chaosagent.study.minimise import violates
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult
from chaosagent.study.sink import Sink
from chaosagent.study.study import Study
from chaosagent.studyfile import Overrides, load_study, plan_of
from chaosagent.vocabulary import Severity


class Enough(Exception):
    """A search has executed as much as it may."""


@dataclass(frozen=True, slots=True)
class Searches:
    """The searches on one task in one configuration.

    Attributes:
        path: Of the study file.
        config: Name of the configuration.
        task: Id of the task.
        searchers: Who searches.
        limit: Most executions of one search.
        budget: Instead of that of the file; `None` leaves it.
        seed: Of the random choices of the searchers.
    """

    path: Path
    config: str
    task: str
    searchers: tuple[str, ...]
    limit: int
    budget: float | None = None
    seed: int = 0


def searches_of(
    path: Path, searchers: Sequence[str], limit: int, *, budget: float | None = None, seed: int = 0
) -> Iterator[Searches]:
    """Yield the searches of a study file: all tasks in all configurations that it does not restrict.

    Raises:
        ChaosAgentError: The study cannot be read.
    """
    plan = plan_of(load_study(path, Overrides(budget=budget)))
    for config in plan.target.configs:
        for task in plan.tasks:
            yield Searches(path, config, task.id, tuple(searchers), limit, budget, seed)


def search_all(searches: Searches) -> list[Found]:
    """Search every hard contract of one task in one configuration with every searcher.

    Contracts that break without faults are left out, as there is nothing to search.

    Determinism: equal searches find the same; only the seconds differ.
    """
    asked = Overrides(config=searches.config, tasks=(searches.task,), budget=searches.budget)
    plan = plan_of(load_study(searches.path, asked))
    found = [
        _search(replace(plan, contracts=(contract,), seed=searches.seed), searcher, searches.limit)
        for contract in plan.contracts
        if contract.severity is Severity.HARD
        for searcher in searches.searchers
    ]
    return [one for one in found if one is not None]


def _search(plan: Plan, searcher: str, limit: int) -> Found | None:
    limits = StudyLimits(limit, None, plan.limits.error_share_max)
    planned = replace(plan, searcher=searcher, searcher_settings={}, limits=limits, audit=0)
    watch = _Watch(planned, limit)
    begun = cpu()
    with contextlib.suppress(Enough):
        Study(planned, InlineExecutor(planned.workbench()), sinks=[watch]).run()
    if watch.violated_nominally:
        return None
    pair = Pair(plan.target.name, plan.config.name, plan.tasks[0].id, plan.contracts[0].id)
    return Found(pair, searcher, watch.searched, round(cpu() - begun, 3), tuple(watch.improved), watch.proved)


class _Watch(Sink):
    """Notes each cheaper violation with the execution at which it came, and ends a search at its limit."""

    def __init__(self, plan: Plan, limit: int) -> None:
        self._contract, self._model, self._budget = plan.contracts[0].id, plan.space.model, plan.budget
        self._limit = limit
        self._executed = 0
        self.searched = 0
        self.improved: list[tuple[int, float]] = []
        self.proved = self.violated_nominally = False

    def executed(self, at: Experimental, evaluation: Evaluation) -> None:
        del at
        if self._executed >= self._limit:
            raise Enough
        self._executed += 1
        self.searched = self._executed
        if not violates(evaluation, self._contract):
            return
        if evaluation.schedule == EMPTY:
            self.violated_nominally = True
            raise Enough
        cost = evaluation.effective.declared_cost(self._model)
        if cost <= self._budget + EQUAL and (not self.improved or cost < self.improved[-1][1] - EQUAL):
            self.improved.append((self._executed, cost))

    def search_over(self, result: SearchResult) -> None:
        self.proved = result.certificate.certified or (result.certificate.safe and result.injectable)

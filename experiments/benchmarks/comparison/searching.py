"""Searches on real targets: what each searcher finds, when, how cheap, and in what time.

Every (configuration, task, contract) of some study files is searched by each searcher, either for itself or together
with the other contracts of the task, as `chaosagent search` does. Each study may execute the same number of schedules;
what shrinks a violation counts among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from chaosagent.clock import cpu
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.experiments.benchmarks.comparison.results import EQUAL, Found, Pair
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY
from chaosagent.limits import StudyLimits
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult
from chaosagent.study.shrinking.minimise import violates
from chaosagent.study.sink import Sink
from chaosagent.study.task_seed import TaskSeed
from chaosagent.studyfile import Overrides, load_study, plan_of
from chaosagent.vocabulary import Severity


class Enough(KeyboardInterrupt):
    """A study has executed as much as it may: it ends as after Ctrl-C, with what is proved by then."""


@dataclass(frozen=True, slots=True)
class Searches:
    """The searches on one task in one configuration.

    Attributes:
        path: Of the study file.
        config: Name of the configuration.
        task: Id of the task.
        searchers: Who searches.
        limit: Most executions of one study.
        budget: Instead of that of the file; `None` leaves it.
        seed: Of the random choices of the searchers.
        together: Search all contracts in one study, and not each in one of its own.
    """

    path: Path
    config: str
    task: str
    searchers: tuple[str, ...]
    limit: int
    budget: float | None = None
    seed: int = 0
    together: bool = False


def searches_of(
    path: Path,
    searchers: Sequence[str],
    limit: int,
    *,
    budget: float | None = None,
    seed: int = 0,
    together: bool = False,
) -> Iterator[Searches]:
    """Yield the searches of a study file: all tasks in all configurations that it does not restrict.

    Raises:
        ChaosAgentError: The study cannot be read.
    """
    plan = plan_of(load_study(path, Overrides(budget=budget)))
    for config in plan.target.configs:
        for task in plan.tasks:
            yield Searches(path, config, task.id, tuple(searchers), limit, budget, seed, together)


def search_all(searches: Searches) -> list[Found]:
    """Search every hard contract of one task in one configuration with every searcher.

    Contracts that break without faults are left out, as there is nothing to search.

    Determinism: equal searches find the same; only the seconds differ.
    """
    asked = Overrides(config=searches.config, tasks=(searches.task,), budget=searches.budget)
    plan = plan_of(load_study(searches.path, asked))
    hard = tuple(contract for contract in plan.contracts if contract.severity is Severity.HARD)
    return [
        found
        for contracts in ([hard] if searches.together else [(contract,) for contract in hard])
        for searcher in searches.searchers
        for found in _search(replace(plan, contracts=contracts, seed=searches.seed), searcher, searches.limit)
    ]


def _search(plan: Plan, searcher: str, limit: int) -> list[Found]:
    limits = StudyLimits(limit, None, plan.limits.error_share_max)
    planned = replace(plan, searcher=searcher, searcher_settings={}, limits=limits, audit=0)
    watch = _Watch(planned, limit)
    begun = cpu()
    Study(planned, InlineExecutor(planned.workbench()), sinks=[watch]).run()
    seconds = round(cpu() - begun, 3)
    pair = Pair(plan.target.name, plan.config.name, plan.tasks[0].id, "")
    sought = [contract.id for contract in plan.contracts if contract.id not in watch.violated_nominally]
    return [
        Found(
            pair._replace(contract=contract),
            searcher,
            watch.searched,
            seconds,
            tuple(watch.improved[contract]),
            contract in watch.proved,
            len(sought),
        )
        for contract in sought
    ]


class _Watch(Sink):
    """Notes each cheaper violation with the execution at which it came, and ends a study at its limit."""

    def __init__(self, plan: Plan, limit: int) -> None:
        self._model, self._budget = plan.space.model, plan.budget
        self._limit = limit
        self._is_over = False
        self.searched = 0
        self.improved: dict[str, list[tuple[int, float]]] = {contract.id: [] for contract in plan.contracts}
        self.proved: set[str] = set()
        self.violated_nominally: set[str] = set()

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        del at
        if self._is_over:
            return  # what the end of a study runs again
        if self.searched >= self._limit or len(self.violated_nominally) == len(self.improved):
            self._is_over = True
            raise Enough
        self.searched += 1
        cost = evaluation.effective.declared_cost(self._model)
        for contract, improved in self.improved.items():
            if not violates(evaluation, contract):
                continue
            if evaluation.schedule == EMPTY:
                self.violated_nominally.add(contract)
            elif cost <= self._budget + EQUAL and (not improved or cost < improved[-1][1] - EQUAL):
                improved.append((self.searched, cost))

    def search_over(self, result: SearchResult) -> None:
        if result.certificate.certified or (result.certificate.safe and result.injectable):
            self.proved.add(result.contract)

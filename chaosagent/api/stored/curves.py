"""R(B) and the survival of contracts, from stored studies: what their searches found and proved, without a run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chaosagent.api.load_study import load
from chaosagent.api.stored.categories import categories_of
from chaosagent.api.stored.comparing import outcomes_of
from chaosagent.api.stored.further_study import OBJECTIVE_FOLDER, belongs_to
from chaosagent.api.stored.random_runs import random_runs_of
from chaosagent.errors import RecordError, StoredDataError, UsageError
from chaosagent.metrics.comparison import SearchKey, SearchOutcome
from chaosagent.metrics.random_curve import RandomRuns, random_curve, with_failures, without_estimates
from chaosagent.metrics.robustness import Curve, Survival, curve_of
from chaosagent.study.plan import OBJECTIVE
from chaosagent.study.store.facts import Facts
from chaosagent.study.store.files import FILE_NAME
from chaosagent.study.store.reading import facts_of_closed_store


@dataclass(frozen=True, slots=True)
class StudyCurves:
    """The curves of one study.

    Attributes:
        name: For a legend: the folder, and the configuration.
        folder: Of the study.
        robustness: R(B), the share of tasks and seeds that meet their objective under every schedule of cost up to B.
        survival: The share of searches whose contract no schedule of cost up to B breaks; the objective is not among
            the contracts. `None` where there is no other.
        contracts: The same for each contract alone.
        breaks: By budget, the tasks that stop meeting their objective there; with a seed where other seeds do not.
        categories: R(B) of the tasks of each category, by name; empty where that was not asked for.
        random: R(B) under random schedules; `None` where none were run.
        random_categories: The same of each category.
        remarks: What was left out and why, a clause each.
        contradictions: Random schedules that break what a search has called proved, a clause each.
        stochastic: Answers come by chance, so nothing is proved.
        begun: When the study was begun, in UTC.
        budget: Up to which cost it was searched.
        outcomes: Of each of its searches.
    """

    name: str
    folder: Path
    robustness: Curve | None
    survival: Curve | None
    contracts: dict[str, Curve]
    breaks: dict[float, tuple[str, ...]]
    categories: dict[str, Curve]
    random: Curve | None
    random_categories: dict[str, Curve]
    remarks: tuple[str, ...]
    contradictions: tuple[str, ...]
    stochastic: bool
    begun: str
    budget: float
    outcomes: Mapping[SearchKey, SearchOutcome]


def curves_of(folder: Path, *, by_category: bool = False) -> StudyCurves:
    """Return the curves of a stored study.

    Args:
        folder: Of the study.
        by_category: Also R(B) of each category of tasks. The store does not hold categories, so this loads the target.

    Raises:
        UsageError: The folder holds no study that can be read, or one without a search; or its target is code outside
            the working directory, or no longer has one of the tasks.
        TargetError: The target cannot be loaded.
    """
    result = load(folder)
    facts = facts_of_closed_store(folder / FILE_NAME)
    stochastic = facts.get("stochastic") == "yes"
    outcomes, budget = outcomes_of(result, stochastic=stochastic), result.budget
    if not outcomes:
        raise UsageError(f"{folder}: no search of this study has ended, so there is no curve. Continue with --resume.")
    against = {key: one for key, one in outcomes.items() if key.contract == OBJECTIVE}
    others = {key: one for key, one in outcomes.items() if key.contract != OBJECTIVE}
    remarks = []
    if not against:
        against, remark = _searched_afterwards(folder, facts)
        remarks.append(remark)
    runs, remark = random_runs_of(folder, facts)
    remarks.append(remark)
    against, contradictions = with_failures(against, () if stochastic else runs)
    tasks = {key.task for key in against} | {one.task for one in runs}
    categories = categories_of(result.target, folder, tasks) if by_category else {}
    by_name = {
        category: frozenset(task for task in tasks if categories[task] == category)
        for category in sorted(set(categories.values()))
    }
    robustness = curve_of(survivals_of(against), budget) if against else None
    curves = {
        category: curve_of(survivals_of({key: one for key, one in against.items() if key.task in named}), budget)
        for category, named in by_name.items()
        if against
    }
    return StudyCurves(
        name=f"{folder.name} ({result.config})",
        folder=folder,
        robustness=robustness,
        survival=curve_of(survivals_of(others), budget) if others else None,
        contracts={
            contract: curve_of(
                survivals_of({key: one for key, one in others.items() if key.contract == contract}), budget
            )
            for contract in dict.fromkeys(key.contract for key in others)
        },
        breaks=_breaks(against, budget),
        categories=curves,
        random=_random_curve(runs, budget, robustness, stochastic=stochastic),
        random_categories={
            category: random
            for category, named in by_name.items()
            for random in [
                _random_curve(
                    [one for one in runs if one.task in named], budget, curves.get(category), stochastic=stochastic
                )
            ]
            if random is not None
        },
        remarks=tuple(filter(None, remarks)),
        contradictions=contradictions,
        stochastic=stochastic,
        begun=facts.get("begun", ""),
        budget=budget,
        outcomes={**others, **against},
    )


def _random_curve(
    runs: Sequence[RandomRuns], budget: float, adversarial: Curve | None, *, stochastic: bool
) -> Curve | None:
    if not runs:
        return None
    random = random_curve(runs, budget, stochastic=stochastic)
    return random if adversarial is None else without_estimates(random, adversarial)


def _searched_afterwards(folder: Path, facts: Facts) -> tuple[dict[SearchKey, SearchOutcome], str]:
    """Return what searches against the objective found that were added to a study, and what is wrong with them."""
    further = folder / OBJECTIVE_FOLDER
    if not (further / FILE_NAME).is_file():
        return {}, ""
    try:
        if not belongs_to(folder, facts, further):
            return {}, f"{further} holds searches of another version of this study, which are left out"
        result = load(further)
    except (StoredDataError, RecordError) as error:
        return {}, f"the searches in {further} are left out: {error}"
    outcomes = outcomes_of(result, stochastic=facts.get("stochastic") == "yes")
    return {key: one for key, one in outcomes.items() if key.contract == OBJECTIVE}, (
        f"the searches in {further} were interrupted" if result.interrupted else ""
    )


def _breaks(against: dict[SearchKey, SearchOutcome], budget: float) -> dict[float, tuple[str, ...]]:
    """Return what breaks at which cost: a task, with its seed where another seed of it does not break there."""
    seeds: Counter[str] = Counter(key.task for key in against)
    broken: dict[float, dict[str, list[int]]] = {}
    for key, one in against.items():
        if one.cost is not None and one.cost <= budget:
            broken.setdefault(one.cost, {}).setdefault(key.task, []).append(key.seed)
    return {
        cost: tuple(
            name
            for task, theirs in sorted(tasks.items())
            for name in ([task] if len(theirs) == seeds[task] else [f"{task}, seed {seed}" for seed in sorted(theirs)])
        )
        for cost, tasks in sorted(broken.items())
    }


def survivals_of(outcomes: Mapping[SearchKey, SearchOutcome]) -> list[Survival]:
    """Return what searches tell of their tasks and seeds."""
    return [
        Survival(key.task, key.seed, math.inf if one.proved_up_to is not None else one.proved_below, one.cost)
        for key, one in outcomes.items()
    ]

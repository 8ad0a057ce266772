"""Prepares the searches of a stochastic target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chaosagent.study.confirmation import FreshRuns
from chaosagent.study.evaluator import Evaluator
from chaosagent.study.plan import Plan
from chaosagent.study.racing import Racer
from chaosagent.study.search import Search
from chaosagent.study.worlds import usual_world


def expect_chance(groups: Iterable[Sequence[Search]], plan: Plan, evaluator: Evaluator, fresh: FreshRuns) -> None:
    """Have the violations of a stochastic target judged before they are believed."""
    for group in groups:
        world = usual_world(evaluator, group[0].at)
        for search in group:
            at = search.at._replace(world=world)
            search.expect_chance(Racer(plan, at, search.contract, fresh), world)

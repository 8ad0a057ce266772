"""The numbers of the report page as plain data, for machines."""

from __future__ import annotations

import math
from collections.abc import Sequence

from chaosagent.canonical import Plain
from chaosagent.report.causes.cause import Cause, cause_json
from chaosagent.report.html.overview import overview_of
from chaosagent.report.html.study_facts import SearchFact, StoredCounterexample, StudyFacts
from chaosagent.report.html.view import Card, View, proof_in, view_of


def numbers_of(facts: StudyFacts) -> dict[str, Plain]:
    """Return the numbers of the page as plain data; what the page cuts is whole here.

    Infinite bounds are `None` and explained by `safe`.
    """
    return _numbers(view_of(facts))


def numbers_of_several(studies: Sequence[StudyFacts]) -> dict[str, Plain]:
    """Return the same of several studies, and what their page says of all of them together."""
    views = [view_of(facts) for facts in studies]
    overview = overview_of(views)
    return {
        "studies": [_numbers(view) for view in views],
        "overview": [
            {"folder": one.name, "verdict": one.verdict, "left_at_budget": one.at_end, "proved": one.proved}
            for one in overview.studies
        ],
        "shared_causes": [{"headline": headline, "costs": list[Plain](cells)} for headline, cells in overview.causes],
    }


def _numbers(view: View) -> dict[str, Plain]:
    facts = view.facts
    standings: dict[str, Plain] = dict(view.standings)
    return {
        "folder": str(facts.folder),
        "state": facts.state,
        "begun": facts.begun or None,
        "ended": facts.ended or None,
        "budget": facts.budget,
        "tasks": list[Plain](facts.tasks),
        "verdict": view.conclusion.verdict,
        "proved_below": min(facts.proved_below(), facts.budget),
        "trials": facts.trials,
        "executions": facts.executions,
        "errors": facts.errors,
        "taken_over": facts.taken_over,
        "failed": [one._asdict() for one in facts.failed],
        "seconds": facts.seconds,
        "searches": facts.search_count,
        "standings": standings,
        "certificates": [_certificate(one, facts) for one in facts.searches],
        "not_tried": None if facts.not_tried is None else list[Plain](facts.not_tried),
        "not_landed": list[Plain](facts.not_landed),
        "counterexamples": [_counterexample(one, facts) for one in facts.counterexamples],
        "causes": [_cause(cause, card) for cause, card in zip(view.causes, _cards(view), strict=True)],
        "random": None if facts.random is None else facts.random.to_json(),
        "contradictions": list(facts.contradictions),
        "curve": None
        if view.curve is None
        else [
            {"budget": one.budget, "upper": one.upper, "lower": one.lower, "breaks": list[Plain](one.breaks)}
            for one in view.curve.points
        ],
        "task_contract": None if view.by_task is None else view.by_task.to_json(),
        "agent_contract": None if view.by_agent is None else view.by_agent.to_json(),
        "interface_operator": None if view.by_operator is None else view.by_operator.to_json(),
        "violation_profile": [one.to_json() for one in view.profile],
        "by_task": [dict[str, Plain](one._asdict()) for one in view.searches],
        "violation_runs": list[Plain](facts.violation_runs),
        "best_costs": [{"runs": run, "cost": cost} for run, cost in facts.best_costs],
        "bounds": [{"runs": run, "below": _finite(bound)} for run, bound in facts.bounds],
    }


def _certificate(one: SearchFact, facts: StudyFacts) -> dict[str, Plain]:
    standing = one.standing(facts.budget, stochastic=facts.stochastic)
    return {**one._asdict(), "lower_bound": _finite(one.lower_bound), "standing": standing}


def _counterexample(one: StoredCounterexample, facts: StudyFacts) -> dict[str, Plain]:
    record = one.record
    return {
        "id": record.id,
        "contract": record.contract,
        "task": record.task.id,
        "seed": record.seed,
        "cost": record.cost,
        "faults": len(record.schedule),
        "schedule": str(record.schedule),
        "proof": proof_in(one, facts),
    }


def _cards(view: View) -> list[Card | None]:
    return [*view.cards, *[None] * view.cards_left]


def _cause(cause: Cause, card: Card | None) -> dict[str, Plain]:
    """Return a cause with what its card tells beside it, as far as there is a card."""
    effects = () if card is None or card.story is None else card.story.effects
    return {
        **cause_json(cause),
        "failing_runs": None if card is None else card.failing,
        "effects": [{"effect": effect, "here": here, "without_faults": there} for effect, here, there in effects],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None

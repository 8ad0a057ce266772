"""The report page as plain values for its template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from chaosagent.report.causes.cause import Cause, causes_of, finding_in
from chaosagent.report.causes.headline import differences_of
from chaosagent.report.causes.pattern import PATTERNS, Pattern
from chaosagent.report.html.conclusion import Conclusion, conclusion_of
from chaosagent.report.html.curve import CostsView, CurveView, costs_of, curve_of, progress_path
from chaosagent.report.html.heat import Heat, ProfileRow, agent_heat, operator_heat, task_heat, violation_profile
from chaosagent.report.html.lanes import Lanes, lanes_of
from chaosagent.report.html.meanings import contract_meaning, proof_meaning
from chaosagent.report.html.side_by_side import Row, rows_of
from chaosagent.report.html.study_facts import SearchFact, Standing, StoredCounterexample, StudyFacts, bound_text
from chaosagent.report.proofs.chance import MAY_BE_CHANCE
from chaosagent.report.proofs.proof_status import proof_of_record
from chaosagent.report.story import describe_effect, in_order, replay_command, violation_of
from chaosagent.trace.trace import Trace

STORIES_MAX = 20
CAUSES_MAX = 2_000
OTHERS_MAX = 5
MATCHED_CAUSES_MAX = 50
CERTIFICATES_MAX = 200


@dataclass(frozen=True, slots=True)
class Member:
    """One counterexample in a list."""

    id: str
    contract: str
    task: str
    seed: int
    cost: str
    proof: str
    command: str
    schedule: str


@dataclass(frozen=True, slots=True)
class Story:
    """How the lead of a cause came about."""

    rows: Sequence[Row]
    lanes: Lanes | None
    has_nominal: bool
    ending: str
    message: str
    claims: Sequence[str]
    broken_at_end: str
    effects: Sequence[tuple[str, int, int]]
    necessity: Sequence[tuple[str, str]]
    proof: str
    is_shown: bool
    confirmation: str
    command: str


@dataclass(frozen=True, slots=True)
class Card:
    """A cause as the page shows it."""

    number: int
    headline: str
    others: Sequence[tuple[str, int]]
    others_left: int
    cost: str
    injections: Sequence[tuple[str, str]]
    contracts: Sequence[tuple[str, str]]
    tasks: Sequence[str]
    proof: str
    proof_means: str
    pattern: Pattern | None
    members: Sequence[Member]
    failing: int | None
    command: str
    exact: str
    differs_at: str
    story: Story | None


class TaskRow(NamedTuple):
    """The searches of a task: how many, how many are broken, their trials, and how far the weakest proof reaches."""

    task: str
    searches: int
    broken: int
    trials: int
    proved_below: str


@dataclass(frozen=True, slots=True)
class View:
    """All that the template needs; every text may come from a target."""

    facts: StudyFacts
    title: str
    causes: Sequence[Cause]
    conclusion: Conclusion
    curve: CurveView | None
    standings: Sequence[tuple[Standing, int]]
    not_tried: Sequence[tuple[str, Sequence[str]]]
    not_landed: Sequence[tuple[str, Sequence[str]]]
    cards: Sequence[Card]
    cards_left: int
    patterns: Sequence[Pattern]
    by_task: Heat | None
    by_operator: Heat | None
    by_agent: Heat | None
    profile: Sequence[ProfileRow]
    finds: str
    costs: CostsView | None
    searches: Sequence[TaskRow]
    certificates: Sequence[SearchFact]
    certificates_left: int


def view_of(facts: StudyFacts, earlier: StudyFacts | None = None) -> View:
    """Return the page of a study as plain values, with the curve of an earlier one."""
    stored = {one.record.id: one for one in facts.counterexamples}
    causes = causes_of(finding_in(one.record, one.calls) for one in facts.counterexamples)
    failing = _failing_by_cause(facts, causes)
    cards = [_card(number, cause, stored, failing, facts) for number, cause in enumerate(causes[:CAUSES_MAX], 1)]
    conclusion = conclusion_of(facts, causes)
    return View(
        facts=facts,
        title=f"{facts.target}, {facts.config}: {conclusion.verdict}",
        causes=causes,
        conclusion=conclusion,
        curve=curve_of(facts, earlier),
        standings=sorted(facts.standings().items()),
        not_tried=_families(facts.not_tried or ()),
        not_landed=_families(facts.not_landed),
        cards=cards,
        cards_left=max(0, len(causes) - CAUSES_MAX),
        patterns=[one for one in PATTERNS if any(card.pattern is one for card in cards)],
        by_task=task_heat(facts),
        by_operator=operator_heat(facts),
        by_agent=agent_heat(facts),
        profile=violation_profile(facts),
        finds=progress_path(facts.violation_runs, facts.executions),
        costs=costs_of(facts),
        searches=_search_rows(facts),
        certificates=facts.searches[:CERTIFICATES_MAX],
        certificates_left=max(0, len(facts.searches) - CERTIFICATES_MAX),
    )


def _families(operators: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    families: dict[str, list[str]] = {}
    for operator in operators:
        family, _, name = operator.partition(".")
        families.setdefault(family, []).append(name)
    return list(families.items())


def _failing_by_cause(facts: StudyFacts, causes: Sequence[Cause]) -> Mapping[int, int]:
    """Count the failing runs of a cause: of its tasks and contracts, and with faults at its hooks at least.

    Each counts once, for the first cause that it fits; of the first causes only, as more would take too long.
    """
    by_task: dict[str, list[tuple[int, Cause]]] = {}
    for number, cause in enumerate(causes[:MATCHED_CAUSES_MAX], 1):
        for task in cause.tasks:
            by_task.setdefault(task, []).append((number, cause))
    counts = dict.fromkeys(range(1, min(len(causes), MATCHED_CAUSES_MAX) + 1), 0) if facts.failing else {}
    for run in facts.failing:
        for number, cause in by_task.get(run.task, ()):
            if cause.hooks <= run.hooks and not run.contracts.isdisjoint(cause.contracts):
                counts[number] += 1
                break
    return counts


def _card(
    number: int,
    cause: Cause,
    stored: Mapping[str, StoredCounterexample],
    failing: Mapping[int, int],
    facts: StudyFacts,
) -> Card:
    lead = stored[cause.lead.id]
    record = lead.record
    command = replay_command(record.target_reference, lead.path)
    proof, is_told = proof_in(lead, facts), number <= STORIES_MAX
    means = {one.contract: contract_meaning(stored[one.id].record) for one in cause.findings} if is_told else {}
    return Card(
        number=number,
        headline=cause.headline,
        others=cause.others[:OTHERS_MAX],
        others_left=sum(count for _, count in cause.others[OTHERS_MAX:]),
        cost=f"{record.cost:g}",
        injections=[(str(one), one.operator.describe()) for one in in_order(record)],
        contracts=[(one, means.get(one, "")) for one in cause.contracts],
        tasks=cause.tasks,
        proof=proof,
        proof_means=proof_meaning(proof) if is_told else "",
        pattern=cause.pattern,
        members=[_member(stored[found.id], facts) for found in cause.findings],
        failing=failing.get(number) or None,
        command=command,
        exact="" if record.has_no_trace else replay_command(record.target_reference, lead.path, "--mode exact"),
        differs_at=cause.differs_at,
        story=_story(lead) if is_told else None,
    )


def proof_in(stored: StoredCounterexample, facts: StudyFacts) -> str:
    """Return how much is proved; nothing is final in a study that has not ended, nor where a search disproves it."""
    if facts.state in ("running", "killed"):
        return "not final"
    record = stored.record
    text = proof_of_record(record, several=facts.wants_several).text
    if text != "certified":
        return text
    certified = any(
        one.certified and (one.task, one.seed, one.contract) == (record.task.id, record.seed, record.contract)
        for one in facts.searches
    )
    return text if certified and not facts.stochastic else "minimal"


def _member(stored: StoredCounterexample, facts: StudyFacts) -> Member:
    record = stored.record
    return Member(
        record.id,
        record.contract,
        record.task.id,
        record.seed,
        f"{record.cost:g}",
        proof_in(stored, facts),
        replay_command(record.target_reference, stored.path),
        str(record.schedule),
    )


def _story(stored: StoredCounterexample) -> Story:
    record = stored.record
    trace = record.trace
    rows = rows_of(trace, stored.calls, record.contract)
    violation = violation_of(record)
    at_end = violation is not None and violation.step >= len(trace.steps)
    return Story(
        rows=rows,
        lanes=lanes_of(rows, broken_at_end=at_end),
        has_nominal=stored.calls is not None,
        ending=_ending(trace),
        message=trace.outcome.message,
        claims=[
            f"{claim.kind}({', '.join(f'{key}={claim.identity[key]!r}' for key in sorted(claim.identity))})"
            for claim in trace.outcome.claims
        ],
        broken_at_end=violation.reason if violation is not None and at_end else "",
        effects=_effects(stored),
        necessity=record.proof.necessity,
        proof=record.proof.text,
        is_shown=record.stochastic,
        confirmation=""
        if record.confirmation is None
        else f"{record.confirmation}{'' if record.confirmation.confirmed else f' ({MAY_BE_CHANCE})'}",
        command=f"chaosagent show {replay_command(record.target_reference, stored.path).rpartition(' replay ')[2]}",
    )


def _ending(trace: Trace) -> str:
    return f"{trace.ending.value}{f': {trace.own_detail}' if trace.own_detail else ''}"


def _effects(stored: StoredCounterexample) -> list[tuple[str, int, int]]:
    trace, nominal = stored.record.trace, stored.record.nominal
    extra, missing = differences_of(trace, nominal)
    different = {effect for effect, _, _ in (*extra, *missing)}
    here = [describe_effect(effect) for effect in trace.effects]
    same = [
        (effect, here.count(effect), here.count(effect)) for effect in dict.fromkeys(here) if effect not in different
    ]
    return [*extra, *missing, *same]


def _search_rows(facts: StudyFacts) -> list[TaskRow]:
    rows = []
    for task in facts.tasks:
        mine = [one for one in facts.searches if one.task == task]
        if not mine:
            continue
        broken = sum(one.cost is not None or one.violated_nominally for one in mine)
        bound = min(one.proved_below(stochastic=facts.stochastic) for one in mine)
        standings = {one.standing(facts.budget, stochastic=facts.stochastic) for one in mine}
        told = bound_text(bound, facts.budget) if bound else "nothing proved"
        if standings == {"nothing to inject"}:
            told = "nothing to inject"
        rows.append(TaskRow(task, len(mine), broken, sum(one.trials for one in mine), told))
    return rows

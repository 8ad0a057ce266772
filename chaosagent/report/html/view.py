"""The report page as plain values for its template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaosagent.report.causes.cause import Cause, causes_of, finding_in
from chaosagent.report.causes.headline import differences_of
from chaosagent.report.causes.pattern import PATTERNS, Pattern
from chaosagent.report.html.conclusion import Conclusion, conclusion_of
from chaosagent.report.html.curve import CostsView, CurveView, costs_of, curve_of, progress_path
from chaosagent.report.html.lanes import Lanes, lanes_of
from chaosagent.report.html.side_by_side import Row, rows_of
from chaosagent.report.html.study_facts import SearchFact, Standing, StoredCounterexample, StudyFacts, bound_text
from chaosagent.report.proofs.chance import MAY_BE_CHANCE
from chaosagent.report.proofs.proof_status import proof_of_record
from chaosagent.report.story import agent_of, describe_effect, in_order, replay_command, violation_of
from chaosagent.report.weaknesses import rank_of
from chaosagent.trace.trace import Trace

STORIES_MAX = 20
CAUSES_MAX = 2_000
MAP_ROWS_MAX = 40
OTHERS_MAX = 5
MATCHED_CAUSES_MAX = 50
CERTIFICATES_MAX = 200
BY_ITS_END = "nobody: how the run ended"


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
    contracts: Sequence[str]
    tasks: Sequence[str]
    proof: str
    pattern: Pattern | None
    members: Sequence[Member]
    failing: int | None
    command: str
    exact: str
    differs_at: str
    story: Story | None


@dataclass(frozen=True, slots=True)
class Heat:
    """A table of costs: a header, and rows with a label and cells of text and tone."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    left: int


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
    finds: str
    costs: CostsView | None
    searches: Sequence[tuple[str, int, int, int, str]]
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
        by_task=_task_map(facts),
        by_operator=_operator_map(facts),
        by_agent=_agent_map(facts),
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
    return Card(
        number=number,
        headline=cause.headline,
        others=cause.others[:OTHERS_MAX],
        others_left=sum(count for _, count in cause.others[OTHERS_MAX:]),
        cost=f"{record.cost:g}",
        injections=[(str(one), one.operator.describe()) for one in in_order(record)],
        contracts=cause.contracts,
        tasks=cause.tasks,
        proof=_proof(lead, facts),
        pattern=cause.pattern,
        members=[_member(stored[found.id], facts) for found in cause.findings],
        failing=failing.get(number) or None,
        command=command,
        exact="" if record.has_no_trace else replay_command(record.target_reference, lead.path, "--mode exact"),
        differs_at=cause.differs_at,
        story=_story(lead) if number <= STORIES_MAX else None,
    )


def _proof(stored: StoredCounterexample, facts: StudyFacts) -> str:
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
        _proof(stored, facts),
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


def _task_map(facts: StudyFacts) -> Heat | None:
    """Return the cost at which each task breaks each contract: the least over the seeds."""
    if not facts.searches:
        return None
    contracts = sorted({one.contract for one in facts.searches}, key=lambda one: (rank_of(one), one))
    groups: dict[tuple[str, str], list[SearchFact]] = {}
    for one in facts.searches:
        groups.setdefault((one.task, one.contract), []).append(one)
    rows = []
    for task in facts.tasks:
        cells = [_cell(groups.get((task, contract), []), facts) for contract in contracts]
        weakest = min((float(text.split()[0]) for text, tone in cells if tone.startswith("f")), default=float("inf"))
        rows.append((weakest, task, cells))
    rows.sort(key=lambda row: (row[0], row[1]))
    return Heat(contracts, [(task, cells) for _, task, cells in rows[:MAP_ROWS_MAX]], max(0, len(rows) - MAP_ROWS_MAX))


def _cell(listed: Sequence[SearchFact], facts: StudyFacts) -> tuple[str, str]:
    if not listed:
        return "", ""
    if any(one.violated_nominally for one in listed):
        return "0 no fault needed", "f0"
    costs = [one.cost for one in listed if one.cost is not None]
    if costs:
        return f"{min(costs):g}", f"f{min(3, max(1, int(min(costs))))}"
    standings = {one.standing(facts.budget, stochastic=facts.stochastic) for one in listed}
    if standings == {"proved"}:
        return f"> {facts.budget:g} proved", "ok"
    if "open" in standings:
        bound = min(one.proved_below(stochastic=facts.stochastic) for one in listed)
        return (f"open from {bound_text(bound, facts.budget)}" if bound else "open"), "open"
    return sorted(standings)[0], "none"


def _operator_map(facts: StudyFacts) -> Heat | None:
    """Return the cost of the cheapest counterexample that has an operator at an interface, where any landed."""
    best: dict[tuple[str, str], float] = {}
    for one in facts.counterexamples:
        for injection in one.record.schedule:
            key = (injection.operator_name, injection.hook.interface)
            best[key] = min(one.record.cost, best.get(key, float("inf")))
    pairs = {*best, *facts.tried}
    if not pairs:
        return None
    operators = sorted({operator for operator, _ in pairs})
    interfaces = sorted({interface for _, interface in pairs})
    rows = []
    for interface in interfaces:
        cells = []
        for operator in operators:
            cost, tried = best.get((operator, interface)), facts.tried.get((operator, interface), 0)
            if cost is not None:
                cells.append((f"{cost:g}", f"f{min(3, max(1, int(cost)))}"))
            else:
                cells.append((f"{tried:,} runs" if tried else "", "none" if tried else ""))
        weakest = min((cost for (_, at), cost in best.items() if at == interface), default=float("inf"))
        rows.append((weakest, interface, cells))
    rows.sort(key=lambda row: (row[0], row[1]))
    shown = [(interface, cells) for _, interface, cells in rows[:MAP_ROWS_MAX]]
    return Heat(operators, shown, max(0, len(rows) - MAP_ROWS_MAX))


def _agent_map(facts: StudyFacts) -> Heat | None:
    """Return the cost of the cheapest counterexample in which an agent breaks a contract; `None` for one agent."""
    best: dict[tuple[str, str], float] = {}
    for one in facts.counterexamples:
        violation = violation_of(one.record)
        agent = "" if violation is None else agent_of(one.record.trace, violation)
        key = (agent or BY_ITS_END, one.record.contract)
        best[key] = min(one.record.cost, best.get(key, float("inf")))
    agents = sorted({agent for agent, _ in best}, key=lambda agent: (agent == BY_ITS_END, agent))
    if len(agents) < 2:
        return None
    contracts = sorted({contract for _, contract in best}, key=lambda one: (rank_of(one), one))
    rows = []
    for agent in agents[:MAP_ROWS_MAX]:
        costs = [best.get((agent, contract)) for contract in contracts]
        cells = [("", "") if cost is None else (f"{cost:g}", f"f{min(3, max(1, int(cost)))}") for cost in costs]
        rows.append((agent, cells))
    return Heat(contracts, rows, max(0, len(agents) - MAP_ROWS_MAX))


def _search_rows(facts: StudyFacts) -> list[tuple[str, int, int, int, str]]:
    """Return for each task: searches, broken, trials, and how far the weakest proof reaches."""
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
        rows.append((task, len(mine), broken, sum(one.trials for one in mine), told))
    return rows

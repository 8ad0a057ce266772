"""The weaknesses that a study found: each kind of failure with the minimal schedules that lead to it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.report.page import Cell, Page, bad, faint, good, notice, strong
from chaosagent.report.proofs.proof_status import proof_of
from chaosagent.report.story import quantity
from chaosagent.study.certificate import Certificate
from chaosagent.study.counterexample import Counterexample, Signature
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyResult
from chaosagent.vocabulary import Verdict

KINDS_MAX = 50
SCHEDULES_MAX = 5
SCHEDULES_MAX_ALL = 1_000
WORST_FIRST = ("at-most-once", "no-extra-effects", "no-leak", "all-or-nothing", "promises-kept", "no-ghosts")
HARMLESS_LAST = ("objective", "termination", "no-crash")
"""Where a default contract stands in tables: what does harm first, what merely fails last, others between."""


@dataclass(frozen=True, slots=True)
class Weakness:
    """A kind of failure.

    Attributes:
        signature: What kind it is.
        counterexamples: All that share it, of any task and seed, cheapest first.
    """

    signature: Signature
    counterexamples: tuple[Counterexample, ...]

    @property
    def cheapest(self) -> Counterexample:
        """One of its cheapest counterexamples."""
        return self.counterexamples[0]

    @property
    def schedules(self) -> dict[str, list[Counterexample]]:
        """The counterexamples by their schedule, which may break several tasks and seeds."""
        groups: dict[str, list[Counterexample]] = {}
        for found in self.counterexamples:
            groups.setdefault(found.schedule.text, []).append(found)
        return groups

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks in which it shows, sorted."""
        return tuple(sorted({found.task_id for found in self.counterexamples}))


def rank_of(contract: str) -> int:
    """Return the place of a contract among others, by the harm that breaking it does."""
    if contract in WORST_FIRST:
        return WORST_FIRST.index(contract)
    between = len(WORST_FIRST)
    return between + 1 + HARMLESS_LAST.index(contract) if contract in HARMLESS_LAST else between


def weaknesses_of(counterexamples: Iterable[Counterexample]) -> list[Weakness]:
    """Return the kinds of failure among counterexamples, the most harmful contracts first, then the cheapest."""
    groups: dict[Signature, list[Counterexample]] = {}
    for found in sorted(counterexamples, key=_by_cost):
        groups.setdefault(found.signature, []).append(found)
    weaknesses = [Weakness(signature, tuple(group)) for signature, group in groups.items()]
    return sorted(weaknesses, key=lambda one: (rank_of(one.signature.contract), *_by_cost(one.cheapest)))


def _by_cost(found: Counterexample) -> tuple[float, int, str, str, int, str]:
    return found.cost, len(found.schedule), found.contract, found.task_id, found.seed, found.schedule.text


# ---------------------------------------------------------------------- for people


def report_weaknesses(page: Page, plan: Plan, result: StudyResult, *, every: bool) -> None:
    """List the kinds of failure, then the schedules of those that have several, then say whether that is all.

    Args:
        page: Where to say it.
        plan: Of the study; it wants several counterexamples of each search.
        result: Of the study, with at least one counterexample.
        every: List each schedule; by default the cheapest of each kind.
    """
    weaknesses = weaknesses_of(result.counterexamples)
    is_repeated = all(found.certificate.reproduced for found in result.counterexamples)
    kind = "minimal counterexample" if is_repeated else "counterexample"
    total = quantity(len(result.counterexamples), kind).capitalize()
    page.gap().line(bad(f"{total}, {quantity(len(weaknesses), 'kind')} of failure"))
    rows = [
        row for number, weakness in enumerate(weaknesses[:KINDS_MAX], 1) for row in _kind_rows(number, weakness, plan)
    ]
    page.table(("", "contract", "broken at", "schedules", "task", "cost", "proof", "cheapest schedule"), rows)
    if len(weaknesses) > KINDS_MAX:
        page.line(faint(f"... {len(weaknesses) - KINDS_MAX} more (--json lists them)"), indent=2)
    _tell_reach(page, plan, result)
    _tell_schedules(page, plan, weaknesses[:KINDS_MAX], every=every)


def _kind_rows(number: int, weakness: Weakness, plan: Plan) -> list[Sequence[Cell]]:
    """Return the rows of a kind of failure: one for each injection of its cheapest schedule."""
    found = weakness.cheapest
    others = len({(one.task_id, one.seed) for one in weakness.counterexamples}) - 1
    task = (_where(found, plan), faint(f" and {others} more" if others else ""))
    lines: list[Cell] = [str(injection) for injection in found.schedule]
    too = [verdict.contract for verdict in found.trace.verdicts if verdict.verdict is Verdict.VIOLATED]
    too = [contract for contract in too if contract != found.contract]
    if too:
        lines.append(faint(f"breaks {', '.join(too)}, too"))
    first: Sequence[Cell] = (
        faint(str(number)),
        strong(weakness.signature.contract),
        broken_at(weakness.signature),
        str(len(weakness.schedules)),
        task,
        f"{found.cost:g}",
        proof_of(found, several=True),
        lines[0],
    )
    return [first, *(("", "", "", "", "", "", "", line) for line in lines[1:])]


def broken_at(signature: Signature) -> str:
    """Return what was being done where a kind of failure shows, with the impact of what was committed there."""
    if (signature.operation, signature.interface) == ("end", "run"):
        return "the end"
    impact = "" if signature.risk == "none" else f", {signature.risk} impact"
    return f"{signature.interface} {signature.operation}{impact}"


def _where(found: Counterexample, plan: Plan) -> str:
    return f"{found.task_id}, seed {found.seed}" if len(plan.seeds) > 1 else found.task_id


def _tell_reach(page: Page, plan: Plan, result: StudyResult) -> None:
    """Say up to where the list is known to be all there is."""
    searched = [search for search in result.searches if not search.violated_nominally]
    complete = [search for search in searched if search.certificate.complete]
    up_to = f"up to cost {plan.budget:g} in the declared space"
    all_there_is = "That is all that was confirmed" if result.nature.stochastic else "That is all there is"
    if len(complete) == len(searched):
        page.line(
            good(f"{all_there_is} {up_to}"),
            ", one per set of hooks, as far as the rules tell schedules apart.",
            indent=2,
        )
    elif complete:
        page.line(
            good(f"In {len(complete)} of {len(searched)} searches {all_there_is[0].lower()}{all_there_is[1:]} {up_to}"),
            ", one per set of hooks; the others are open, see below.",
            indent=2,
        )


def _tell_schedules(page: Page, plan: Plan, weaknesses: Sequence[Weakness], *, every: bool) -> None:
    """List the schedules of each kind of failure that has more than the one that is shown already."""
    rows: list[Sequence[Cell]] = []
    left = SCHEDULES_MAX_ALL
    for number, weakness in enumerate(weaknesses, 1):
        several = list(weakness.schedules.values())
        if len(several) == 1:
            continue
        shown = several[: min(left, len(several) if every else SCHEDULES_MAX)]
        left -= len(shown)
        for place, group in enumerate(shown):
            found, others = group[0], len(group) - 1
            where = (_where(found, plan), faint(f" and {others} more" if others else ""))
            injections = "; ".join(map(str, found.schedule))
            rows.append(
                (faint(str(number)) if not place else "", f"{found.cost:g}", where, faint(found.id), injections)
            )
        if len(shown) < len(several):
            why = "--json lists them" if every else "--all shows them"
            rows.append(("", "", "", "", faint(f"... {len(several) - len(shown)} more ({why})")))
    if rows:
        page.heading("Kinds of failure with several minimal schedules")
        page.table(("", "cost", "task", "record", "schedule"), rows)


# ---------------------------------------------------------------------- by contract


def contracts_table(page: Page, plan: Plan, result: StudyResult) -> None:
    """Count the searches of each contract by whether all their minimal counterexamples are known."""
    elsewhere = broken_elsewhere(result)
    contracts = list(dict.fromkeys(search.contract for search in result.searches))
    confirmed = "confirmed " if result.nature.stochastic else ""
    page.table(
        ("contract", "broken", "counterexamples", f"all {confirmed}known up to {plan.budget:g}", "open"),
        [_contract_row(contract, plan, result, elsewhere.get(contract, 0)) for contract in contracts],
    )


def _contract_row(contract: str, plan: Plan, result: StudyResult, elsewhere: int) -> Sequence[Cell]:
    searches = [search for search in result.searches if search.contract == contract]
    broken = sum(bool(search.counterexamples) or search.violated_nominally for search in searches)
    schedules = sum(len(search.counterexamples) for search in searches)
    complete = sum(search.certificate.complete and search.injectable for search in searches)
    empty = sum(search.certificate.complete and not search.injectable for search in searches)
    left = [search for search in searches if is_unfinished(search, plan)]
    enough = sum(has_enough(search, plan) for search in searches)
    cells = [notice(f"{empty} nothing to inject")] if empty else []
    if enough:
        cells.append(faint(f"{enough} ended at {quantity(plan.signatures or 0, 'kind')}"))
    if left:
        cells.append(notice(f"{len(left)}{_known_below([search.certificate for search in left])}"))
    parts = [part for cell in cells for part in (faint(", "), cell)][1:]
    return (
        contract,
        broken_cell(broken, elsewhere),
        str(schedules) if schedules else faint("-"),
        good(str(complete)) if complete else faint("-"),
        parts or faint("-"),
    )


def _known_below(certificates: Sequence[Certificate]) -> str:
    bound = min(certificate.known_below if certificate.is_repeated else 0.0 for certificate in certificates)
    told = 0 < bound < math.inf and all(certificate.level != "C0" for certificate in certificates)
    return f", all known below {bound:g}" if told else ""


def has_enough(search: SearchResult, plan: Plan) -> bool:
    """Whether a search has ended because it knew as many kinds of failure as were wanted."""
    if plan.signatures is None or search.certificate.complete:
        return False
    return len({found.signature for found in search.counterexamples}) >= plan.signatures


def is_unfinished(search: SearchResult, plan: Plan) -> bool:
    """Whether a search has ended before it knew as much as was wanted, so that it may not have found everything."""
    return not (search.certificate.complete or search.violated_nominally or has_enough(search, plan))


# ---------------------------------------------------------------------- for machines


def weakness_json(weakness: Weakness) -> Plain:
    """Return a kind of failure as plain data."""
    signature, found = weakness.signature, weakness.cheapest
    return {
        "signature": str(signature),
        "contract": signature.contract,
        "operation": signature.operation,
        "interface": signature.interface,
        "risk": signature.risk,
        "operators": list[Plain](signature.operators),
        "schedules": len(weakness.schedules),
        "tasks": list[Plain](weakness.tasks),
        "cheapest": found.id,
        "cost": found.cost,
        "schedule": found.schedule.text,
        "counterexamples": [one.id for one in weakness.counterexamples],
    }


ROWS_MAX = 20


def broken_by(found: Counterexample) -> tuple[str, ...]:
    """Return the contracts that the run of a counterexample breaks, in the order of its verdicts."""
    verdicts = found.trace.verdicts
    return tuple(one.contract for one in verdicts if one.verdict is Verdict.VIOLATED and not one.unfair)


def broken_elsewhere(result: StudyResult) -> dict[str, int]:
    """Return for each contract in how many (task, seed) only what was found for other contracts breaks it.

    Empty for stochastic targets: what breaks another contract there was not confirmed by fresh runs.
    """
    if result.nature.stochastic:
        return {}
    own = {(one.contract, one.task_id, one.seed) for one in result.searches if _is_broken(one)}
    seen = {(contract, one.task_id, one.seed) for one in result.counterexamples for contract in broken_by(one)}
    counts: dict[str, int] = {}
    for contract, _, _ in sorted(seen - own):
        counts[contract] = counts.get(contract, 0) + 1
    return counts


def _is_broken(search: SearchResult) -> bool:
    return search.counterexample is not None or search.violated_nominally


def broken_cell(own: int, elsewhere: int) -> Cell:
    """Return in how many searches a contract is broken, and in how many more by what was found for other contracts."""
    if not elsewhere:
        return bad(str(own)) if own else faint("-")
    more = bad(f"{elsewhere} elsewhere")
    return [bad(str(own)), ", ", more] if own else more


def report_overlaps(page: Page, result: StudyResult) -> None:
    """Say how many different schedules there are, and list those that break several contracts."""
    groups = contracts_by_schedule(result.counterexamples if not result.nature.stochastic else ())
    several = {text: contracts for text, contracts in groups.items() if len(contracts) > 1}
    if not several:
        return
    broken = dict.fromkeys(contract for contracts in groups.values() for contract in contracts)
    page.line(
        strong(f"{quantity(len(groups), 'different schedule').capitalize()}, {quantity(len(broken), 'contract')}: "),
        "one schedule may break several",
        indent=2,
    )
    rows = []
    for text, contracts in list(several.items())[:ROWS_MAX]:
        lines = text.split("\n")
        rows.append((", ".join(contracts), lines[0]))
        rows.extend(("", line) for line in lines[1:])
    page.table(("together", "schedule"), rows)
    if len(several) > ROWS_MAX:
        page.line(faint(f"... {len(several) - ROWS_MAX} more (--json lists them)"), indent=2)


def contracts_by_schedule(found: Iterable[Counterexample]) -> dict[str, tuple[str, ...]]:
    """Return the contracts that each schedule breaks, in whatever task and seed, by its text."""
    groups: dict[str, dict[str, None]] = {}
    for one in found:
        groups.setdefault(one.schedule.text, {}).update(dict.fromkeys(broken_by(one)))
    return {text: tuple(contracts) for text, contracts in groups.items()}

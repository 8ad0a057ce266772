"""What a study found, as a page for people and as plain data for machines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chaosagent.canonical import Plain
from chaosagent.report.page import Cell, Page, Part, Span, bad, faint, good, name, notice, strong
from chaosagent.report.story import counted
from chaosagent.study.counterexample import Counterexample
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyResult

ROWS_MAX = 50


@dataclass(frozen=True, slots=True)
class Findings:
    """A finished study with the places of its records.

    Attributes:
        plan: What was to be done.
        result: How it ended.
        records: Path of the record of each counterexample, by its id.
        out: The folder of the study.
    """

    plan: Plan
    result: StudyResult
    records: Mapping[str, Path]
    out: Path

    @property
    def by_cost(self) -> list[Counterexample]:
        """The counterexamples, cheapest first."""
        return sorted(
            self.result.counterexamples, key=lambda found: (found.cost, found.contract, found.task_id, found.seed)
        )

    @property
    def signatures(self) -> int:
        """How many different kinds of failure there are."""
        return len({found.signature for found in self.result.counterexamples})

    @property
    def nominal_violations(self) -> list[SearchResult]:
        """Searches whose contract breaks without any injection."""
        return [search for search in self.result.searches if search.violated_nominally]

    @property
    def open_searches(self) -> list[SearchResult]:
        """Searches that neither found a counterexample nor proved that there is none within the budget."""
        return [
            search
            for search in self.result.searches
            if search.counterexample is None and not search.violated_nominally and not search.certificate.safe
        ]


def findings_page(findings: Findings, *, every: bool = False) -> Page:
    """Tell what a study found, what it proved, and what was left open.

    Args:
        findings: The finished study.
        every: List each counterexample; by default one of each kind, the cheapest.
    """
    plan, result = findings.plan, findings.result
    page = Page()
    page.line(
        strong(f"{plan.target.name}, configuration {plan.config.name}: "),
        f"{counted(len(plan.tasks), 'task')}, {counted(len(plan.seeds), 'seed')}, "
        f"{counted(len(result.searches), 'search', 'searches')}, budget {plan.budget:g}",
    )
    _tell_counterexamples(page, findings, every=every)
    _tell_nominal(page, findings)
    _tell_contracts(page, findings)
    _tell_warnings(page, findings)
    page.gap().line(faint(work_of(result)))
    return page


def _tell_counterexamples(page: Page, findings: Findings, *, every: bool) -> None:
    found = findings.by_cost
    if not found:
        page.gap().line("No counterexample was found." if findings.open_searches else good("No counterexample exists."))
        return
    kinds = "" if len(found) == 1 else f", {counted(findings.signatures, 'kind')} of failure"
    page.gap().line(bad(f"{counted(len(found), 'counterexample').capitalize()}{kinds}"))
    page.add_below(counterexamples_table(findings, every=every))
    if not every and findings.signatures < len(found):
        page.line(faint("one of each kind; --all shows each"), indent=2)


def counterexamples_table(findings: Findings, *, every: bool = False) -> Page:
    """Return the table of counterexamples, cheapest first: one of each kind with the number of its others, or each."""
    groups: dict[object, list[Counterexample]] = {}
    for found in findings.by_cost:
        groups.setdefault(found.id if every else found.signature, []).append(found)
    rows: list[Sequence[Cell]] = []
    for group in list(groups.values())[:ROWS_MAX]:
        rows.extend(_rows(group[0], len(group) - 1, seeds=len(findings.plan.seeds)))
    page = Page().table(("contract", "task", "cost", "faults", "proof", "broken at", "schedule"), rows)
    if len(groups) > ROWS_MAX:
        page.line(faint(f"... {len(groups) - ROWS_MAX} more, see {findings.out / 'replays'}"), indent=2)
    return page


def _rows(found: Counterexample, others: int, *, seeds: int) -> list[Sequence[Cell]]:
    """Return the rows of one counterexample: one for each injection."""
    proof = _proof(found)
    step, agent = place_of(found)
    lines = [str(injection) for injection in found.schedule] or ["nothing injected"]
    seed = f", seed {found.seed}" if seeds > 1 else ""
    task: Sequence[Part] = (f"{found.task_id}{seed}", faint(f" and {others} more" if others else ""))
    where = f"{step}{f' by {agent}' if agent else ''}"
    cost, count = f"{found.cost:g}", str(len(found.schedule))
    first: Sequence[Cell] = (strong(found.contract), task, cost, count, proof, where, lines[0])
    return [first, *(("", "", "", "", "", "", line) for line in lines[1:])]


def _proof(found: Counterexample) -> Span:
    """Return in a word or two how much is proved of a counterexample."""
    if found.certificate.certified:
        return good("certified")
    if found.certificate.lower_bound > 0:
        return notice(f"nothing below {found.certificate.lower_bound:g}")
    return notice("minimal" if found.minimal else "none")


def place_of(found: Counterexample) -> tuple[str, str]:
    """Return the step at which a counterexample breaks its contract, `"the end"` behind the last one, and the agent."""
    violation = found.trace.verdict(found.contract).violation
    if violation is None or violation.step >= len(found.trace.steps):
        return "the end", ""
    return f"step {violation.step}", violation.agent


def _tell_nominal(page: Page, findings: Findings) -> None:
    broken = findings.nominal_violations
    if not broken:
        return
    page.gap().line(bad(f"Broken without any fault: {counted(len(broken), 'search', 'searches')}"))
    page.table(
        ("contract", "task", "seed"),
        [(search.contract, search.task_id, str(search.seed)) for search in broken[:ROWS_MAX]],
    )


def _tell_contracts(page: Page, findings: Findings) -> None:
    """Count the searches of each contract by how they ended."""
    page.heading("By contract")
    contracts = list(dict.fromkeys(search.contract for search in findings.result.searches))
    page.table(
        ("contract", "broken", f"proved up to {findings.plan.budget:g}", "open"),
        [_contract_row(findings, contract) for contract in contracts],
    )


def _contract_row(findings: Findings, contract: str) -> Sequence[Cell]:
    searches = [search for search in findings.result.searches if search.contract == contract]
    found = sum(search.counterexample is not None or search.violated_nominally for search in searches)
    safe = sum(search.certificate.safe for search in searches)
    still_open = [search for search in findings.open_searches if search.contract == contract]
    left: Cell = faint("-")
    if still_open:
        bound = min(search.certificate.lower_bound for search in still_open)
        left = notice(f"{len(still_open)}, nothing cheaper than {bound:g}" if bound > 0 else f"{len(still_open)}")
    return (
        contract,
        bad(str(found)) if found else faint("-"),
        good(str(safe)) if safe else faint("-"),
        left,
    )


def _tell_warnings(page: Page, findings: Findings) -> None:
    result = findings.result
    certificates = [search.certificate for search in result.searches]
    contradictions = sum(certificate.contradictions for certificate in certificates)
    if contradictions:
        page.gap().line(
            bad(f"The audit contradicted a rule {counted(contradictions, 'time')}: "),
            "the rule was switched off and what it had pruned was searched. A label of the target, such as read_only "
            "or an effect, does not say what the target does.",
        )
    unsteady = [found for found in result.counterexamples if not found.confirmed]
    if unsteady:
        page.gap().line(
            bad(f"{counted(len(unsteady), 'counterexample').capitalize()} went another way when run afresh: "),
            "the target is not deterministic. Find what it draws outside run.rng and run.clock.",
        )
    if result.errors:
        page.gap().line(
            notice(f"{counted(result.errors, 'run').capitalize()} ended as errors; "),
            "no certificate reaches above them.",
        )
    limited = [search for search in findings.open_searches if search.certificate.limit_reached]
    if limited and result.interrupted:
        page.gap().line(notice(f"{counted(len(limited), 'search', 'searches').capitalize()} had not finished."))
    elif limited:
        page.gap().line(
            notice(f"{counted(len(limited), 'search', 'searches').capitalize()} ended at a limit. "),
            "Give more with --trials, or ask for less with --budget.",
        )


def work_of(result: StudyResult) -> str:
    """Return what a study took, in one line."""
    certificates = [search.certificate for search in result.searches]
    audited = sum(certificate.audited for certificate in certificates)
    rate = f" ({result.trials / result.seconds:,.0f} trials/s)" if result.seconds > 0 else ""
    return (
        f"{result.trials:,} trials in {result.executions:,} runs, {result.errors:,} errors, "
        f"{result.seconds:.1f} s{rate}; "
        f"{audited:,} pruned schedules audited at random; digest {result.digest[:16]}"
    )


def next_page(findings: Findings) -> Page:
    """Say what to type next."""
    page = Page()
    found = findings.by_cost
    rows: list[Sequence[Cell]] = []
    if found:
        dearest = max(found, key=lambda one: (len(one.schedule), one.cost, one.id))
        record = findings.records.get(dearest.id)
        if record is not None:
            rows.append((name(f"chaosagent show {record}"), "tells the story of one"))
        replays = findings.out / "replays"
        rows.append((name(f"chaosagent replay {replays}"), "injects all of them into today's target"))
        rows.append((name(f"chaosagent replay --mode exact {replays}"), "reproduces all of them offline, bit for bit"))
    page.heading("What to type next") if rows else page
    return page.table((), rows)


def findings_json(findings: Findings) -> dict[str, Plain]:
    """Return what a study found as plain data; infinite bounds are `None` and explained by `safe`."""
    plan, result = findings.plan, findings.result
    return {
        "target": plan.target.name,
        "config": plan.config.name,
        "tasks": [task.id for task in plan.tasks],
        "seeds": list(plan.seeds),
        "budget": plan.budget,
        "searcher": plan.searcher,
        "study": plan.digest,
        "trials": result.trials,
        "executions": result.executions,
        "errors": result.errors,
        "seconds": round(result.seconds, 3),
        "interrupted": result.interrupted,
        "signatures": findings.signatures,
        "counterexamples": [counterexample_json(found, findings) for found in findings.by_cost],
        "searches": [_search_json(search) for search in result.searches],
        "digest": result.digest,
        "out": str(findings.out),
    }


def counterexample_json(found: Counterexample, findings: Findings) -> dict[str, Plain]:
    """Return one counterexample as plain data."""
    violation = found.trace.verdict(found.contract).violation
    record = findings.records.get(found.id)
    return {
        "id": found.id,
        "signature": str(found.signature),
        "task": found.task_id,
        "seed": found.seed,
        "contract": found.contract,
        "schedule": found.schedule.text,
        "injections": len(found.schedule),
        "cost": found.cost,
        "certified": found.certificate.certified,
        "level": found.certificate.level,
        "lower_bound": _finite(found.certificate.lower_bound),
        "minimal": found.minimal,
        "confirmed": found.confirmed,
        "step": None if violation is None else violation.step,
        "agent": None if violation is None else violation.agent,
        "reason": None if violation is None else violation.reason,
        "digest": found.trace.digest,
        "record": None if record is None else str(record),
    }


def _search_json(search: SearchResult) -> Plain:
    certificate = search.certificate
    return {
        "task": search.task_id,
        "seed": search.seed,
        "contract": search.contract,
        "trials": search.trials,
        "violated_nominally": search.violated_nominally,
        "counterexample": None if search.counterexample is None else search.counterexample.id,
        "certified": certificate.certified,
        "safe": certificate.safe,
        "lower_bound": _finite(certificate.lower_bound),
        "level": certificate.level,
        "certificate": str(certificate),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None

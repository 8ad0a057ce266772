"""What a study found, as a page for people."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chaosagent.report.causes.cause import Cause
from chaosagent.report.causes.report_causes import causes_in, report_causes
from chaosagent.report.nominal_violations import report_nominal_violations
from chaosagent.report.notes import FailedRuns, Notes
from chaosagent.report.page import Cell, Page, Part, bad, faint, good, name, notice, strong
from chaosagent.report.printable import printable
from chaosagent.report.proofs.chance import proof_by_chance, report_chance
from chaosagent.report.proofs.proof_limits import report_proof_limits, report_unfinished
from chaosagent.report.proofs.proof_status import has_lower_bound, proof_of
from chaosagent.report.proofs.proof_warnings import (
    gaps_of,
    report_changed_variables,
    report_contradictions,
    report_disproved,
    report_empty_proofs,
    report_outside_accesses,
    report_retries,
    report_undeclared,
    report_unrepeated,
    report_written_files,
    reservation_of,
)
from chaosagent.report.stale_records import StaleRecords, report_stale_records
from chaosagent.report.story import agent_of, quantity, replay_command, taken_over_text
from chaosagent.report.weaknesses import (
    broken_cell,
    broken_elsewhere,
    contracts_table,
    is_unfinished,
    rank_of,
    report_overlaps,
    report_weaknesses,
)
from chaosagent.study.counterexample import Counterexample
from chaosagent.study.divergence import OF_A_COMMAND
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyResult
from chaosagent.vocabulary import Ending

ROWS_MAX = 50
ERRORS_MAX = 3
ERROR_CHARACTERS_MAX = 400


@dataclass(frozen=True, slots=True)
class Findings:
    """A finished study with the places of its records.

    Attributes:
        plan: What was to be done.
        result: How it ended.
        records: Path of the record of each counterexample, by its id.
        out: The folder of the study.
        notes: Why runs failed, and how the contracts break that break without faults.
        leftovers: What became of records that this run has not written, or could not write.
    """

    plan: Plan
    result: StudyResult
    records: Mapping[str, Path]
    out: Path
    notes: Notes = field(default_factory=Notes)
    leftovers: StaleRecords = field(default_factory=StaleRecords)

    @property
    def by_cost(self) -> list[Counterexample]:
        """The counterexamples, cheapest first."""
        return sorted(
            self.result.counterexamples, key=lambda found: (found.cost, found.contract, found.task_id, found.seed)
        )

    @property
    def by_harm(self) -> list[Counterexample]:
        """The counterexamples, the most harmful contracts first; of one contract, those with the fewest faults."""
        return sorted(self.by_cost, key=lambda found: (rank_of(found.contract), len(found.schedule), found.cost))

    @property
    def errors(self) -> int:
        """How many runs ended as errors, those of an earlier session of the study among them."""
        return max(self.result.errors, self.notes.failed_count)

    @property
    def signatures(self) -> int:
        """How many different kinds of failure there are."""
        return len({found.signature for found in self.result.counterexamples})

    @property
    def nominal_violations(self) -> list[SearchResult]:
        """Searches whose contract breaks without any injection."""
        return [search for search in self.result.searches if search.violated_nominally]

    @property
    def broken_by_chance(self) -> list[SearchResult]:
        """Searches whose contract breaks without any injection, now and then."""
        return [
            search
            for search in self.result.searches
            if search.certificate.broken_anyway is not None and not search.violated_nominally
        ]

    @property
    def unfinished(self) -> list[SearchResult]:
        """Searches that have ended before they knew what was wanted of them."""
        if self.plan.wants_several:
            return [search for search in self.result.searches if is_unfinished(search, self.plan)]
        return self.open_searches

    @property
    def open_searches(self) -> list[SearchResult]:
        """Searches that neither found a counterexample nor proved that there is none within the budget."""
        return [search for search in self.result.searches if is_open(search)]


def causes_of_findings(findings: Findings) -> list[Cause]:
    """Return the causes of what a study found, cheapest first."""
    return causes_in(findings.result.counterexamples, has_secrets=bool(findings.plan.target.secrets))


def is_proved(search: SearchResult) -> bool:
    """Whether something could be injected in a search, and nothing of it within the budget breaks the contract.

    Where answers come by chance that is shown by clean runs and not proved; see `Certificate.proved`.
    """
    return search.certificate.safe and search.injectable


def is_open(search: SearchResult) -> bool:
    """Whether a search has neither found something nor proved that nothing within the budget breaks its contract."""
    return search.counterexample is None and not search.violated_nominally and not search.certificate.safe


def findings_page(findings: Findings, *, every: bool = False) -> Page:
    """Tell what a study found, what it proved, and what was left open.

    Args:
        findings: The finished study.
        every: List each counterexample; by default one of each kind, that with the fewest faults.
    """
    plan, result = findings.plan, findings.result
    page = Page()
    page.line(
        strong(f"{plan.target.name}, configuration {plan.config.name}: "),
        f"{quantity(len(plan.tasks), 'task')}, {quantity(len(plan.seeds), 'seed')}, "
        f"{quantity(len(result.searches), 'search', 'searches')}, budget {plan.budget:g}",
    )
    report_nominal_violations(page, result, findings.notes)
    _tell_counterexamples(page, findings, every=every)
    report_causes(page, causes_of_findings(findings))
    _tell_contracts(page, findings)
    report_chance(page, result, declared=plan.stochastic is True)
    _tell_warnings(page, findings)
    page.gap().line(faint(work_of(result)))
    return page


def _tell_counterexamples(page: Page, findings: Findings, *, every: bool) -> None:
    found = findings.by_cost
    if not found:
        _tell_proof(page, findings)
        return
    if findings.plan.wants_several:
        report_weaknesses(page, findings.plan, findings.result, every=every)
        report_overlaps(page, findings.result)
        return
    kinds = "" if len(found) == 1 else f", {quantity(findings.signatures, 'kind')} of failure"
    page.gap().line(bad(f"{quantity(len(found), 'counterexample').capitalize()}{kinds}"))
    page.add_below(counterexamples_table(findings, every=every))
    if not every and findings.signatures < len(found):
        page.line(faint("one of each kind; --all shows each"), indent=2)
    report_overlaps(page, findings.result)


def _tell_proof(page: Page, findings: Findings) -> None:
    """Say what is proved where nothing was found, and no more than that."""
    searches = findings.result.searches
    safe = [search for search in searches if is_proved(search)]
    if findings.open_searches or not any(search.injectable for search in searches):
        page.gap().line("No counterexample was found.")
    elif safe:
        what = "any contract" if len(safe) == len(searches) else "the other contracts"
        space = f"of cost up to {findings.plan.budget:g} in the declared space"
        gaps = notice(gaps_of(findings.plan.space))
        if findings.result.nature.stochastic:
            number, told = _share_of(safe, searches, "in"), proof_by_chance(safe)
            page.gap().line(good(f"Nothing {space} was confirmed to break {what}"), f"{number}: {told}.", gaps)
            return
        number = _share_of(safe, searches, "for")
        page.gap().line(
            good(f"Nothing {space} breaks {what}"),
            f": proved{number}{reservation_of(safe)}.",
            gaps,
        )


def _share_of(safe: Sequence[SearchResult], searches: Sequence[SearchResult], word: str) -> str:
    """Say how many of several searches something holds for, of those whose contract holds without faults."""
    if len(searches) == 1:
        return ""
    others = sum(not search.violated_nominally for search in searches)
    if others < len(searches):
        kind = "other search" if others == 1 else "other searches"
        return f" {word} the {others} {kind}" if len(safe) == others else f" {word} {len(safe)} of the {others} {kind}"
    number = f"all {len(safe)}" if len(safe) == len(searches) else f"{len(safe)} of {len(searches)}"
    return f" {word} {number} searches"


def counterexamples_table(findings: Findings, *, every: bool = False) -> Page:
    """Return the table of counterexamples, harm first: one of each kind with the number of its others, or each."""
    groups: dict[object, list[Counterexample]] = {}
    for found in findings.by_harm:
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
    proof = proof_of(found, several=False)
    step, agent = place_of(found)
    lines = [str(injection) for injection in found.schedule] or ["nothing injected"]
    seed = f", seed {found.seed}" if seeds > 1 else ""
    task: Sequence[Part] = (f"{found.task_id}{seed}", faint(f" and {others} more" if others else ""))
    where = f"{step}{f' by {agent}' if agent else ''}"
    cost, count = f"{found.cost:g}", str(len(found.schedule))
    first: Sequence[Cell] = (strong(found.contract), task, cost, count, proof, where, lines[0])
    return [first, *(("", "", "", "", "", "", line) for line in lines[1:])]


def place_of(found: Counterexample) -> tuple[str, str]:
    """Return the step at which a counterexample breaks its contract, `"the end"` behind the last one, and the agent."""
    violation = found.trace.verdict(found.contract).violation
    if violation is None or violation.step >= len(found.trace.steps):
        return "the end", ""
    return f"step {violation.step}", agent_of(found.trace, violation)


def _tell_contracts(page: Page, findings: Findings) -> None:
    """Count the searches of each contract by how they ended."""
    page.heading("By contract")
    if findings.plan.wants_several:
        contracts_table(page, findings.plan, findings.result)
        return
    elsewhere = broken_elsewhere(findings.result)
    contracts = list(dict.fromkeys((*(search.contract for search in findings.result.searches), *elsewhere)))
    proved = "not confirmed" if findings.result.nature.stochastic else "proved"
    page.table(
        ("contract", "broken", f"{proved} up to {findings.plan.budget:g}", "open"),
        [_contract_row(findings, contract, elsewhere.get(contract, 0)) for contract in contracts],
    )


def _contract_row(findings: Findings, contract: str, elsewhere: int) -> Sequence[Cell]:
    searches = [search for search in findings.result.searches if search.contract == contract]
    found = sum(search.counterexample is not None or search.violated_nominally for search in searches)
    safe = sum(is_proved(search) for search in searches)
    empty = sum(search.certificate.safe and not search.injectable for search in searches)
    still_open = [search for search in findings.open_searches if search.contract == contract]
    left: Cell = faint("-")
    if still_open:
        certificates = [search.certificate for search in still_open]
        bound = min(certificate.lower_bound for certificate in certificates)
        told = f", nothing cheaper than {bound:g}" if all(map(has_lower_bound, certificates)) else ""
        left = notice(f"{len(still_open)}{told}")
    elif not searches:
        left = faint("soft, so not searched")
    return (
        contract,
        broken_cell(found, elsewhere),
        _proved_cell(safe, empty),
        left,
    )


def _proved_cell(safe: int, empty: int) -> Cell:
    """Return how many searches proved something; one in which nothing could be injected has proved nothing."""
    if not empty:
        return good(str(safe)) if safe else faint("-")
    return (good(str(safe)), notice(f", {empty} nothing to inject")) if safe else notice("nothing to inject")


def _tell_warnings(page: Page, findings: Findings) -> None:
    result = findings.result
    if any(search.certificate.contradictions for search in result.searches) and not result.unlike:
        report_contradictions(page, result.searches)
    report_unrepeated(page, findings.plan, result)
    report_disproved(page, result)
    report_undeclared(page, result)
    report_changed_variables(page, result)
    report_written_files(page, result)
    report_outside_accesses(page, findings.plan, findings.notes)
    report_retries(page, findings.notes)
    unsteady = [found for found in result.counterexamples if not found.confirmed]
    if unsteady:
        which = ", ".join(f"{found.contract} in {found.task_id}" for found in unsteady[:ROWS_MAX])
        page.gap().line(
            bad(f"{quantity(len(unsteady), 'counterexample').capitalize()} did not repeat in a fresh run ({which}): "),
            "the target is not deterministic. Find what it keeps between runs, or draws outside run.rng and run.clock; "
            f"{OF_A_COMMAND}.",
        )
    _tell_errors(page, findings)
    report_proof_limits(page, findings.plan, findings.result, findings.notes)
    report_empty_proofs(page, findings.plan, result, findings.notes, has_errors=findings.errors > 0)
    report_unfinished(page, findings.plan, result, findings.unfinished)
    report_stale_records(page, findings.out / "replays", findings.leftovers)


def _tell_errors(page: Page, findings: Findings) -> None:
    """Say how many runs failed, and why."""
    if not findings.errors:
        return
    one = findings.errors == 1
    page.gap().line(
        notice(f"{quantity(findings.errors, 'run').capitalize()} ended with {'an error' if one else 'errors'}; "),
        f"nothing is proved beyond {'its cost' if one else 'the cost of the cheapest'}.",
    )
    failed = findings.notes.failed
    for runs in failed[:ERRORS_MAX]:
        page.line(bad(printable(runs.error, characters_max=ERROR_CHARACTERS_MAX)), indent=2)
        first = "" if runs.count == 1 else f"{quantity(runs.count, 'run')}, the first "
        page.line(f"{first}in task {runs.task_id}, seed {runs.seed}, under: {_shown(runs)}", indent=4)
    if len(failed) > ERRORS_MAX:
        left = len(failed) - ERRORS_MAX
        more = "one more error of another kind (--json lists it)" if left == 1 else f"{left} more (--json lists them)"
        page.line(faint(f"... {more}"), indent=2)


def _shown(runs: FailedRuns) -> str:
    return runs.schedule.text or "no injection"


def work_of(result: StudyResult) -> str:
    """Return what a study took, in one line."""
    certificates = [search.certificate for search in result.searches]
    audited = sum(certificate.audited for certificate in certificates)
    seconds = result.seconds - result.cold_seconds  # of searching
    rate = f" ({result.trials / seconds:,.0f} trials/s)" if seconds > 0 else ""
    apart = f"repeated in processes of their own in {result.cold_seconds:.1f} s of it; "
    cold_repeats = f"{_many(result.cold_repeats, 'run')} {apart}" if result.cold_repeats else ""
    ahead = f" ({_many(result.unasked, 'more was', 'more were')} made ahead and not needed)" if result.unasked else ""
    runs = f"{_many(result.executions, 'run')}{taken_over_text(result.taken_over)}{ahead}"
    return (
        f"{_many(result.trials, 'trial')} in {runs}, "
        f"{_many(result.errors, 'error')}, {result.seconds:.1f} s{rate}; {cold_repeats}"
        f"{audited:,} pruned schedules re-run as an audit; digest {result.digest[:16]}"
    )


def _many(number: int, singular: str, plural: str = "") -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def next_page(findings: Findings) -> Page:
    """Say what to type next."""
    page = Page()
    found = findings.by_harm
    rows: list[Sequence[Cell]] = []
    if found:
        dearest = max(found, key=lambda one: len(one.schedule))  # the first of those: the most harmful
        record = findings.records.get(dearest.id)
        if record is not None:
            rows.append((name(f"chaosagent show {shlex.quote(str(record))}"), "tells the story of one"))
        replays, target = findings.out / "replays", findings.plan.target_reference
        exact = replay_command(target, replays, "--mode exact")
        rows.append((name(replay_command(target, replays)), "injects all of them into today's target"))
        if any(one.trace.steps or one.trace.ending is not Ending.HUNG for one in found):
            rows.append((name(exact), "reproduces all of them offline, bit for bit"))
    page.heading("What to type next") if rows else page
    return page.table((), rows)

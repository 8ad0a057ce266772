"""`chaosagent.load`: what a study found and proved, from its folder."""

from __future__ import annotations

import math
from pathlib import Path

from chaosagent.api.arguments import path_of
from chaosagent.api.counterexample import Counterexample
from chaosagent.api.result import StudyResult, TrialSource
from chaosagent.api.rows import Certificate, Rows, rows_in
from chaosagent.errors import RecordError
from chaosagent.replays.record import SUFFIX
from chaosagent.replays.store import read_record
from chaosagent.report.page import Page, Span, bad, faint, good, notice, strong
from chaosagent.report.proofs.proof_status import proof_of_record
from chaosagent.report.story import quantity

ROWS_MAX = 50


def load(folder: str | Path) -> StudyResult:
    """Return what a study found and proved, from the folder that it was stored in.

    Nothing is executed or imported, and nothing is written.

    Args:
        folder: Of the study, such as `chaosagent-out/refunds`.

    Raises:
        UsageError: There is no study in the folder, it is at work or was killed, something in it is damaged, or another
            version of chaosagent has written it; the message names the file and the remedy.
    """
    place = path_of("load", "folder", folder)
    rows = rows_in(place)
    budget = rows.budget
    counterexamples, missing = _counterexamples(place, rows)
    remarks = tuple(f"counterexample {one} has no record in {place / 'replays'}." for one in missing)
    target, config = rows.facts.get("target", ""), rows.facts.get("config", "")
    interrupted = "ended" not in rows.facts
    page = _page(f"{target}, configuration {config}", rows, counterexamples)
    if interrupted:
        page.gap().line(notice("The study was interrupted: "), "what it did not search is missing.")
    for remark in remarks:
        page.gap().line(notice("Remark: "), remark)
    return StudyResult(
        target=target,
        config=config,
        budget=budget,
        counterexamples=counterexamples,
        certificates=rows.certificates,
        digest=rows.facts.get("digest", ""),
        interrupted=interrupted,
        remarks=remarks,
        folder=place,
        _page=page,
        _trials=TrialSource(place, rows.facts["id"], rows.trials),
    )


def _counterexamples(folder: Path, rows: Rows) -> tuple[tuple[Counterexample, ...], list[str]]:
    """Return the counterexamples of a study, cheapest first, and the ids of those that have no record."""
    files = {
        path.name.removesuffix(SUFFIX).rpartition("-")[2]: path for path in (folder / "replays").glob(f"*{SUFFIX}")
    }
    found: list[Counterexample] = []
    missing: list[str] = []
    for known in rows.counterexamples:
        if known not in files:
            missing.append(known)
            continue
        path = files[known]
        record = read_record(path)
        if record.id != known:
            raise RecordError(f"{path} holds another record, {record.id}. Search again, or remove the file.")
        found.append(Counterexample(record, path))
    found.sort(key=lambda one: (one.cost, one.contract, one.task, one.seed))
    return tuple(found), missing


def _page(title: str, rows: Rows, counterexamples: tuple[Counterexample, ...]) -> Page:
    budget, certificates = rows.budget, rows.certificates
    page = Page().line(strong(f"{title}: "), f"{quantity(len(certificates), 'search', 'searches')}, budget {budget:g}")
    if counterexamples:
        page.gap().line(bad(quantity(len(counterexamples), "counterexample").capitalize()))
        shown = counterexamples[:ROWS_MAX]
        proofs = [proof_of_record(one.record, several=rows.wants_several) for one in shown]
        page.table(
            ("contract", "task", "cost", "proof", "schedule"),
            [
                (one.contract, one.task, f"{one.cost:g}", proof, str(one.schedule))
                for one, proof in zip(shown, proofs, strict=True)
            ],
        )
    else:
        page.gap().line("No counterexample was found.")
    page.heading("By search")
    page.table(
        ("contract", "task", "seed", "level", "proved"),
        [(one.contract, one.task, str(one.seed), one.level, _proved(one, budget)) for one in certificates[:ROWS_MAX]],
    )
    left = max(len(counterexamples), len(certificates)) - ROWS_MAX
    return page.line(faint(f"... {left} more rows")) if left > 0 else page


def _proved(certificate: Certificate, budget: float) -> Span:
    if certificate.violated_nominally:
        return bad("violated without any injection")
    if certificate.safe:
        return good(f"no violating schedule of cost up to {budget:g}")
    if certificate.level != "C0" and 0 < certificate.lower_bound < math.inf:
        return notice(f"no violating schedule cheaper than {certificate.lower_bound:g}")
    return faint("-")
